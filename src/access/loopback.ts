/**
 * Access on this machine, where no login is set up: whoever reaches a loopback address is the operator `local`. Other
 * sites that this machine's browser has open are kept out: by the name they call, and by the token in each form.
 */
import { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../host/loopback.ts';
import type { Access, Person } from './access.ts';
import { isEmbedded } from './own-requests.ts';
import { AccessRefused } from './refused.ts';

const LOCAL: Person = { name: 'local', role: 'operator', merchants: null };

/** `token` is random and new for each process. */
export function createLoopbackAccess(token: string): Access {
  return {
    register: (server) => {
      server.addHook('onRequest', (request, _reply, done) => {
        if (!isLocalName(request.headers.host)) done(new AccessRefused('otherName'));
        else done(isEmbedded(request) ? new AccessRefused('otherSite') : undefined);
      });
      server.addHook('preHandler', (request, _reply, done) => {
        const isSafe = request.method === 'GET' || request.method === 'HEAD' || hasToken(request, token);
        done(isSafe ? undefined : new AccessRefused('noToken'));
      });
      return Promise.resolve();
    },
    personOf: () => LOCAL,
    formToken: () => token,
  };
}

/** A foreign page can have its own name point here; its requests then carry that name. */
function isLocalName(host: string | undefined): boolean {
  return (
    host !== undefined && URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname)
  );
}

function hasToken({ body, headers }: FastifyRequest, token: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  const given = (body as { readonly form_token?: unknown } | undefined)?.form_token;
  if (typeof given !== 'string') return false;
  const [was, is] = [Buffer.from(given), Buffer.from(token)];
  return was.length === is.length && timingSafeEqual(was, is);
}
