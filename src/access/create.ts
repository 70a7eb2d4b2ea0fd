/** Access with logins: who may come in, the routes to log in and out, and the check of every form. */
import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessSettings } from '../settings/settings.ts';
import type { SecretKey } from '../settings/values/credentials.ts';
import { type Access, type Person, AccessRefused } from './access.ts';
import { cookieKeys, createSessions, type Identified, type SessionDeps, type Sessions } from './sessions.ts';
import { createForms, isEmbedded, isForeignName } from './forms.ts';
import { createProxyPerson } from './roles.ts';
import { limitedCheck, type LimitedCheck, programPerson } from './limits.ts';
import { addLoginRoutes, LOGIN_PATHS } from './login-routes.ts';
import { createPasswordCheck } from './passwords.ts';

export interface AccessDeps extends SessionDeps {
  /** Sign the cookies; without any, logins end with the process. */
  readonly secretKeys: readonly SecretKey[];
  /** How often sessions that are over are deleted, in addition to the start. Default: an hour. */
  readonly tidyEveryMs?: number;
}

/** Whether there is any way to log in. Pages that others can reach need one. */
export const hasLogin = ({ users, proxy, oidc }: AccessSettings): boolean =>
  users.size > 0 || proxy !== null || oidc !== null;

/** Whether there is a session that `/logout` ends. */
export const hasSessions = ({ users, oidc }: AccessSettings): boolean => users.size > 0 || oidc !== null;

const KEY_BYTES = 32;
const HOUR_MS = 3_600_000;
const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

export function createAccess(deps: AccessDeps): Access {
  const { settings, random, isSecure } = deps;
  const keys = cookieKeys(deps.secretKeys, random);
  const forms = createForms({ keys, random, isSecure });
  const sessions = createSessions(deps);
  const proxyPerson = createProxyPerson(settings);
  const identified = new WeakMap<FastifyRequest, Identified>();

  const identify = async (
    request: FastifyRequest,
    reply: FastifyReply,
    check: LimitedCheck,
  ): Promise<Identified | null> => {
    const byProxy = proxyPerson(request);
    if (byProxy === 'refused') throw new AccessRefused('noRole');
    if (byProxy !== null) return { person: byProxy, session: null };
    const bySession = await sessions.find(request);
    if (bySession !== null) return bySession;
    if (request.headers.authorization === undefined) return null;
    return { person: await programPerson(request, reply, { settings, check }), session: null };
  };

  const sessionOf = (request: FastifyRequest): string | null => identified.get(request)?.session ?? null;
  const formToken = (request: FastifyRequest, reply: FastifyReply): string =>
    forms.token(request, reply, sessionOf(request));

  return {
    register: async (server: FastifyInstance, pages) => {
      await server.register(cookie, { secret: keys.map((key) => key.toString('base64url')) });
      if (!server.hasContentTypeParser('application/x-www-form-urlencoded')) await server.register(formbody);
      const users = new Set(settings.users.keys());
      const isRight = createPasswordCheck(settings.users);
      const check = await limitedCheck(server, { users, isRight, key: random(KEY_BYTES) });
      server.addHook('onRequest', async (request, reply) => {
        if (settings.pagesUrl !== null && isForeignName(request, settings.pagesUrl))
          throw new AccessRefused('foreignName');
        if (isEmbedded(request)) throw new AccessRefused('otherSite');
        if (LOGIN_PATHS.includes(request.routeOptions.url ?? '')) return undefined;
        const found = await identify(request, reply, check);
        if (found !== null) {
          identified.set(request, found);
          return undefined;
        }
        if (!SAFE_METHODS.includes(request.method)) throw new AccessRefused('notLoggedIn');
        // The same for every path, so that it reveals no addresses.
        return reply
          .header('cache-control', 'no-store')
          .redirect(`/login?to=${encodeURIComponent(request.url)}`, 303);
      });
      server.addHook('preHandler', (request, _reply, done) => {
        try {
          if (!SAFE_METHODS.includes(request.method)) forms.assertOwn(request, sessionOf(request));
          done();
        } catch (error) {
          done(error as Error);
        }
      });
      tidyAlongside(server, sessions, deps.tidyEveryMs ?? HOUR_MS);
      addLoginRoutes(server, { ...deps, ...pages, sessions, check, formToken });
    },
    personOf: (request): Person => {
      const found = identified.get(request);
      if (found === undefined) throw new AccessRefused('notLoggedIn');
      return found.person;
    },
    formToken,
  };
}

/** While the database is away nothing is deleted; the next time it is. */
function tidyAlongside(server: FastifyInstance, { tidy }: Sessions, everyMs: number): void {
  const tried = (): Promise<void> => tidy().catch(() => undefined);
  const timer = setInterval(() => void tried(), everyMs).unref();
  server.addHook('onReady', tried);
  server.addHook('onClose', () => clearInterval(timer));
}
