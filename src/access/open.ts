/** Access as the settings ask for it: with logins, or on this machine alone without any. */
import { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../host/loopback.ts';
import { isSameAddress } from '../host/same-address.ts';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { ListenAddress } from '../settings/values/addresses.ts';
import { type Access, type Person, AccessRefused } from './access.ts';
import { createAccess, hasLogin, hasSessions, type AccessDeps } from './create.ts';
import { isEmbedded } from './forms.ts';

const TOKEN_BYTES = 32;
/** Headers of proxies about the people behind them. */
const FORWARDED =
  /^(?:forwarded|via|x-real-ip|(?:x-)?remote-user|x-(?:forwarded|original|auth-request|envoy)-.*|.*client-ip|cf-connecting-ip.*)$/;

/** Others can reach the pages, and no login is set up. */
export class AccessMissing extends ExpectedError {
  override readonly name = 'AccessMissing';
  readonly exitCode = EXIT.usage;
}

interface OpenAccessDeps extends Omit<AccessDeps, 'settings' | 'isSecure' | 'secretKeys'> {
  readonly settings: Pick<SettingsWithoutPlatform, 'access' | 'secretKeys' | 'listen'>;
  readonly pagesListen: ListenAddress;
}

interface OpenedAccess {
  readonly access: Access;
  /** Whether `/logout` ends anything. */
  readonly canLogOut: boolean;
}

const SET_ONE =
  'and there is no way to log in: set DAYBOOK_ACCESS_USERS, DAYBOOK_ACCESS_PROXY_HEADER or DAYBOOK_OIDC_ISSUER, each with ' +
  'DAYBOOK_ACCESS_ROLES';

/** Throws `AccessMissing` for pages that others can reach while there is no way to log in. */
export function openAccess({ settings, pagesListen, ...deps }: OpenAccessDeps): OpenedAccess {
  const { access, secretKeys } = settings;
  if (hasLogin(access)) {
    const isSecure = !isLoopback(pagesListen.host) || access.pagesUrl?.startsWith('https:') === true;
    return {
      access: createAccess({ ...deps, settings: access, secretKeys, isSecure }),
      canLogOut: hasSessions(access),
    };
  }
  assertOnlyLocal(settings, pagesListen);
  const own = createLoopbackAccess(deps.random(TOKEN_BYTES).toString('base64url'));
  return { access: { ...own, register: withoutProxies(own.register) }, canLogOut: false };
}

/** Whoever reaches pages without a login is the operator of this machine. */
function assertOnlyLocal(
  { access: { pagesUrl }, listen }: OpenAccessDeps['settings'],
  pagesListen: ListenAddress,
): void {
  if (!isLoopback(pagesListen.host))
    throw new AccessMissing(
      `DAYBOOK_PAGES_LISTEN is ${pagesListen.host}, which others can reach, ${SET_ONE}; or listen on this machine alone, ` +
        'like 127.0.0.1:8090.',
    );
  if (isSameAddress(listen, pagesListen))
    throw new AccessMissing(
      `DAYBOOK_PAGES_LISTEN is the address of DAYBOOK_LISTEN, to which a proxy brings others, ${SET_ONE}; or give the pages ` +
        'an address of their own, like 127.0.0.1:8090.',
    );
  if (pagesUrl !== null && !isLoopback(new URL(pagesUrl).hostname))
    throw new AccessMissing(
      `DAYBOOK_PAGES_URL is ${pagesUrl}, to which a proxy brings others, ${SET_ONE}; or take DAYBOOK_PAGES_URL away.`,
    );
}

/** A proxy on this machine would make everybody behind it the operator. */
const withoutProxies =
  (register: Access['register']): Access['register'] =>
  async (server, pages) => {
    server.addHook('onRequest', (request, _reply, done) => {
      // No browser speaks HTTP/1.0. nginx does, by default, and sends no name.
      const isForwarded =
        request.raw.httpVersion === '1.0' ||
        Object.keys(request.headers).some((name) => FORWARDED.test(name));
      done(isForwarded ? new AccessRefused('behindProxy') : undefined);
    });
    await register(server, pages);
  };

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
