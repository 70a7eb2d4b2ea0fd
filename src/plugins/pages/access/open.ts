/**
 * Access as the settings ask for it: with logins (who may come in, the routes to log in and out, the check of every form),
 * or on this machine alone by the link that `serve` prints.
 */
import { isIP } from 'node:net';
import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isLoopback, isSameAddress } from '../../../host/addresses.ts';
import { EXIT, ExpectedError } from '../../../ledger/ending.ts';
import type { SettingsWithoutPlatform } from '../../../settings/settings.ts';
import type { AccessSettings } from '../settings.ts';
import type { ListenAddress } from '../../../settings/values/addresses.ts';
import type { SecretKey } from '../../../store/secrets/secrets.ts';
import type { EntryLink } from '../../../web/pages.ts';
import { type Access, type Person, AccessRefused } from './access.ts';
import { createDevices } from './devices.ts';
import { createEntryLink, type OpenEntryLink } from './entry-link.ts';
import { createPasswordCheck, createProxyPerson } from './identity.ts';
import { limitedCheck, type LimitedCheck, programPerson } from './limits.ts';
import { addLoginRoutes, LOGIN_PATHS } from './login-routes.ts';
import {
  cookieKeys,
  createFailureNotes,
  createForms,
  createSessions,
  type Identified,
  type SessionDeps,
  type Sessions,
} from './sessions.ts';

/** Others can reach the pages, and no login is set up. */
export class AccessMissing extends ExpectedError {
  override readonly name = 'AccessMissing';
  readonly exitCode = EXIT.usage;
}

interface OpenAccessDeps extends Omit<AccessDeps, 'settings' | 'isSecure' | 'secretKeys'> {
  readonly settings: Pick<SettingsWithoutPlatform, 'cookieKeys' | 'secretKeys' | 'listen'> & {
    readonly access: AccessSettings;
  };
  readonly pagesListen: ListenAddress;
}

interface OpenedAccess {
  readonly access: Access;
  /** Whether `/logout` ends anything. */
  readonly canLogOut: boolean;
  /** How the person at this machine comes in; null where people log in. */
  readonly link: EntryLink | null;
}

const SET_ONE =
  'and there is no way to log in: set DAYBOOK_ACCESS_USERS, DAYBOOK_ACCESS_PROXY_HEADER or DAYBOOK_OIDC_ISSUER, each with ' +
  'DAYBOOK_ACCESS_ROLES';

/** Throws `AccessMissing` for pages that others can reach while there is no way to log in. */
export function openAccess({ settings, pagesListen, ...deps }: OpenAccessDeps): OpenedAccess {
  const { access } = settings;
  const secretKeys = settings.cookieKeys.length > 0 ? settings.cookieKeys : settings.secretKeys;
  if (hasLogin(access)) {
    const isSecure = !isLoopback(pagesListen.host) || access.pagesUrl?.startsWith('https:') === true;
    return {
      access: createAccess({ ...deps, settings: access, secretKeys, isSecure }),
      canLogOut: hasSessions(access),
      link: null,
    };
  }
  assertOnlyLocal(settings, pagesListen);
  const link = createEntryLink(deps.random);
  const own = { ...access, roles: LOCAL };
  return {
    access: createAccess({ ...deps, settings: own, secretKeys, isSecure: false, link }),
    canLogOut: true,
    link,
  };
}

/** The link that `serve` prints is for who sits at this machine, and for no proxy's visitors. */
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

const LOCAL: AccessSettings['roles'] = new Map([['local', { role: 'operator', merchants: null }]]);

export interface AccessDeps extends SessionDeps {
  /** Sign the cookies; without any, logins end with the process. */
  readonly secretKeys: readonly SecretKey[];
  /** How often sessions that are over are deleted, in addition to the start. Default: an hour. */
  readonly tidyEveryMs?: number;
  /** The link that opens the pages; left out where people log in. */
  readonly link?: OpenEntryLink;
}

/** Whether there is any way to log in. Pages that others can reach need one. */
const hasLogin = ({ users, proxy, oidc }: AccessSettings): boolean =>
  users.size > 0 || proxy !== null || oidc !== null;

/** Whether there is a session that `/logout` ends. */
const hasSessions = ({ users, oidc }: AccessSettings): boolean => users.size > 0 || oidc !== null;

const KEY_BYTES = 32;
const HOUR_MS = 3_600_000;
const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

export function createAccess(deps: AccessDeps): Access {
  const { settings, random, isSecure } = deps;
  const keys = cookieKeys(deps.secretKeys, random);
  const forms = createForms({ keys, random, isSecure });
  const sessions = createSessions({ ...deps, isByLink: deps.link !== undefined });
  const devices = createDevices(deps);
  const noteFailure = createFailureNotes(deps);
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
      const check = await limitedCheck(server, {
        ...{ users, isRight, devices, key: random(KEY_BYTES) },
        onWrong: (request, name) => noteFailure(request, 'password', name),
      });
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
      addLoginRoutes(server, { ...deps, ...pages, sessions, devices, noteFailure, check, formToken });
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

/**
 * Whether another site embeds or fetches this: as an image, a frame, or by a script. Following a link of another site is no
 * such thing, as it shows a person where they are.
 */
function isEmbedded({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  return headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document';
}

/**
 * Whether the pages are called by a name that is not that of `pagesUrl`: a foreign site can have its own name point at
 * this server, and what its scripts then send carries that name. Numbers are no such names.
 */
function isForeignName({ headers }: FastifyRequest, pagesUrl: string): boolean {
  const { protocol, host } = new URL(pagesUrl);
  const called = `${protocol}//${headers.host ?? ''}`;
  if (!URL.canParse(called)) return true;
  const { host: own, hostname } = new URL(called);
  const isNumber = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
  return own !== host && hostname !== 'localhost' && !isNumber;
}
