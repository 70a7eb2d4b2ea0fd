/** Access with logins: who may come in, the routes to log in and out, and the check of every form. */
import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessSettings, SecretKey } from '../settings/settings.ts';
import type { Access, Person } from './access.ts';
import { cookieKeys } from './cookies.ts';
import { createForms } from './forms.ts';
import { createProxyPerson, credentialsIn } from './identify.ts';
import { limitedCheck, type LimitedCheck } from './limits.ts';
import { addLoginRoutes, LOGIN_PATHS } from './login-routes.ts';
import { createPasswordCheck } from './passwords.ts';
import { AccessRefused } from './refused.ts';
import { personWithRole } from './roles.ts';
import { createSessions, type Identified, type SessionDeps } from './sessions.ts';

export interface AccessDeps extends SessionDeps {
  /** Sign the cookies; without any, logins end with the process. */
  readonly secretKeys: readonly SecretKey[];
}

/** Whether there is any way to log in. Pages that others can reach need one. */
export const hasLogin = ({ users, proxy, oidc }: AccessSettings): boolean =>
  users.size > 0 || proxy !== null || oidc !== null;

/** Whether somebody has a session that `/logout` ends. */
export const hasSessions = ({ users, oidc }: AccessSettings): boolean => users.size > 0 || oidc !== null;

const KEY_BYTES = 32;
/** What tells a program that it needs a name and password. */
const CHALLENGE = 'Basic realm="daybook", charset="UTF-8"';
const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

export function createAccess(deps: AccessDeps): Access {
  const { settings, random, isSecure } = deps;
  const keys = cookieKeys(deps.secretKeys, random);
  const forms = createForms({ keys, random, isSecure });
  const sessions = createSessions(deps);
  const proxyPerson = createProxyPerson(settings);
  const identified = new WeakMap<FastifyRequest, Identified>();

  const identify = async (request: FastifyRequest, check: LimitedCheck): Promise<Identified | null> => {
    const byProxy = proxyPerson(request);
    if (byProxy === 'refused') throw new AccessRefused('noRole');
    if (byProxy !== null) return { person: byProxy, session: null };
    const bySession = await sessions.find(request);
    if (bySession !== null) return bySession;
    if (request.headers.authorization === undefined) return null;
    const person = await programOf(request, check);
    return { person, session: null };
  };

  /** Who a program is for. Throws `AccessRefused`: a program that was sent on would take the page to log in for its answer. */
  const programOf = async (request: FastifyRequest, check: LimitedCheck): Promise<Person> => {
    const credentials = settings.users.size === 0 ? null : credentialsIn(request);
    const tried = credentials === null ? 'wrong' : await check(request, credentials);
    const person =
      credentials === null || tried !== 'right'
        ? null
        : personWithRole({ name: credentials.name, groups: [] }, settings.roles);
    if (person === null) throw new AccessRefused(tried === 'tooMany' ? 'tooMany' : 'credentials');
    return person;
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
        if (LOGIN_PATHS.includes(request.routeOptions.url ?? '')) return undefined;
        const found = await identify(request, check).catch((error: unknown) => {
          if (error instanceof AccessRefused && error.why === 'credentials')
            void reply.header('www-authenticate', CHALLENGE);
          throw error;
        });
        if (found !== null) {
          identified.set(request, found);
          return undefined;
        }
        if (!SAFE_METHODS.includes(request.method)) throw new AccessRefused('notLoggedIn');
        // The same for whatever path, so that nobody learns what there is.
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
