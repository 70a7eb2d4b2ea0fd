/** The routes to log in and out: with name and password, or at the OpenID Connect provider. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { LoginContent, LoginPages } from './access.ts';
import { cookieNames, cookieOptions, type NoteFailure, type SessionDeps, type Sessions } from './sessions.ts';
import type { Devices } from './devices.ts';
import { LINK_PATH, type OpenEntryLink } from './entry-link.ts';
import { OF_PROVIDER, type LimitedCheck } from './limits.ts';
import {
  createOidcLogin,
  LOGIN_PATH as LOGIN,
  NotLoggedIn,
  OIDC_RETURN_PATH,
  type Flow,
  type OidcLogin,
} from './oidc.ts';

const OIDC = '/login/oidc';
const LOGOUT = '/logout';
const LINK = `${LINK_PATH}:token`;

/** Paths that are open to who is not logged in. */
export const LOGIN_PATHS: readonly string[] = [LOGIN, OIDC, OIDC_RETURN_PATH, LINK];

/** A login at the provider has to come back within this time. */
const FLOW_S = 600;
const TO_CHARACTERS_MAX = 1_000;
const NAME_CHARACTERS_MAX = 100;
const PASSWORD_CHARACTERS_MAX = 1_000;

export interface LoginRoutes extends Pick<SessionDeps, 'settings' | 'now' | 'isSecure'>, LoginPages {
  readonly sessions: Sessions;
  readonly noteFailure: NoteFailure;
  readonly devices: Pick<Devices, 'remember'>;
  readonly check: LimitedCheck;
  readonly link?: OpenEntryLink;
  readonly formToken: (request: FastifyRequest, reply: FastifyReply) => string;
}

export function addLoginRoutes(server: FastifyInstance, routes: LoginRoutes): void {
  const { sessions, settings } = routes;
  server.get(LOGIN, (request, reply) =>
    sendLogin(routes, request, reply, { problem: null, to: pathOf(request.query) }),
  );
  if (settings.users.size > 0) addPassword(server, routes);
  if (routes.link !== undefined) addLink(server, routes, routes.link);
  const oidc = settings.oidc === null ? null : createOidcLogin(settings.oidc, settings.pagesUrl ?? '');
  if (oidc !== null) addOidc(server, routes, oidc);
  server.post(LOGOUT, async (request, reply) => {
    const { everywhere } = request.body as { readonly everywhere?: unknown };
    const way = await sessions.end(request, reply, everywhere !== undefined);
    const endAddress = way === 'oidc' ? await addressToEnd(routes, oidc) : null;
    if (endAddress === null) return reply.redirect(LOGIN, 303);
    // Not by a redirect: browsers follow none from a form to where the page may send no form.
    void reply.header('refresh', `0; url=${endAddress}`);
    return sendLogin(routes, request, reply, { problem: null, to: '/', endAddress });
  });
}

/** Where the provider logs people out. Null where it does not, or does not answer: the session here has ended all the same. */
async function addressToEnd({ onRefusal }: LoginRoutes, oidc: OidcLogin | null): Promise<string | null> {
  try {
    return (await oidc?.end()) ?? null;
  } catch (error) {
    onRefusal({ way: 'oidc', status: 502, reason: reasonOf(error) });
    return null;
  }
}

/** Only a click or a paste opens it: HEAD requests, by which some programs peep at links, use nothing up. */
function addLink(server: FastifyInstance, routes: LoginRoutes, link: OpenEntryLink): void {
  server.get<{ Params: { token: string } }>(LINK, { exposeHeadRoute: false }, async (request, reply) => {
    if (link.take(request.params.token)) {
      await routes.sessions.begin(request, reply, 'link', { name: 'local', groups: [] });
      return reply.header('cache-control', 'no-store').redirect('/', 303);
    }
    routes.onRefusal({ way: 'link', status: 401, reason: 'used already, or made up' });
    await routes.noteFailure(request, 'link', null);
    return sendLogin(routes, request, reply.code(401), { problem: 'link', to: '/' });
  });
}

function addPassword(server: FastifyInstance, routes: LoginRoutes): void {
  const { sessions, devices, check, onRefusal } = routes;
  server.post(LOGIN, async (request, reply) => {
    const fields = request.body as Readonly<Record<string, unknown>>;
    const to = pathOf(fields);
    const name = textOf(fields['name'], NAME_CHARACTERS_MAX);
    const password = textOf(fields['password'], PASSWORD_CHARACTERS_MAX);
    const tried = await check(request, { name, password });
    if (tried === 'right') {
      const person = await sessions.begin(request, reply, 'password', { name, groups: [] });
      if (person !== null) {
        devices.remember(request, reply, name);
        return reply.redirect(to, 303);
      }
    }
    const isTooMany = tried === 'tooMany';
    const status = isTooMany ? 429 : 401;
    onRefusal({ way: 'password', status, reason: isTooMany ? 'too many tries' : 'wrong' });
    const problem = isTooMany ? 'tooMany' : 'refused';
    return sendLogin(routes, request, reply.code(status), { problem, to });
  });
}

function addOidc(server: FastifyInstance, routes: LoginRoutes, login: OidcLogin): void {
  const { sessions, isSecure, now, noteFailure, onRefusal } = routes;
  const { flow: cookie } = cookieNames(isSecure);
  const limited = { config: { rateLimit: OF_PROVIDER } };
  const failed = async (
    error: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const status = error instanceof NotLoggedIn ? 401 : 502;
    if (status === 401) await noteFailure(request, 'oidc', null);
    onRefusal({ way: 'oidc', status, reason: reasonOf(error) });
    return sendLogin(routes, request, reply.code(status), { problem: 'provider', to: '/' });
  };
  server.get(OIDC, limited, async (request, reply) => {
    try {
      const { address, flow } = await login.begin();
      const endsAtMs = now().getTime() + FLOW_S * 1_000;
      const kept = JSON.stringify({ ...flow, to: pathOf(request.query), endsAtMs });
      void reply.setCookie(cookie, Buffer.from(kept).toString('base64url'), {
        ...cookieOptions(isSecure, FLOW_S),
        signed: true,
      });
      return await reply.header('cache-control', 'no-store').redirect(address, 303);
    } catch (error) {
      return await failed(error, request, reply);
    }
  });
  server.get(OIDC_RETURN_PATH, limited, async (request, reply) => {
    const kept = keptIn(request, cookie);
    void reply.clearCookie(cookie, cookieOptions(isSecure));
    try {
      if (kept === null || kept.endsAtMs <= now().getTime()) throw new NotLoggedIn('no login was begun here');
      const query = request.url.slice(OIDC_RETURN_PATH.length);
      const identity = await login.finish(query, kept);
      const person = await sessions.begin(request, reply, 'oidc', identity);
      if (person === null) throw new NotLoggedIn('no role');
      return await reply.header('cache-control', 'no-store').redirect(kept.to, 303);
    } catch (error) {
      return await failed(error, request, reply);
    }
  });
}

interface Kept extends Flow {
  readonly to: string;
  readonly endsAtMs: number;
}

/** What this browser's login began with; null if there is nothing with our signature. */
function keptIn(request: FastifyRequest, cookie: string): Kept | null {
  const { valid, value } = request.unsignCookie(request.cookies[cookie] ?? '');
  if (!valid) return null;
  try {
    return JSON.parse(Buffer.from(value, 'base64url').toString('utf8')) as Kept;
  } catch {
    return null;
  }
}

/** The kind of an error, without anything that was sent. */
function reasonOf(error: unknown): string {
  if (error instanceof NotLoggedIn) return error.message;
  if (!(error instanceof Error)) return 'unknown';
  // Where the provider cannot be reached, the network's code is below.
  const codes = [error, error.cause].map((one) => (one as { readonly code?: unknown } | undefined)?.code);
  return codes.filter((code) => typeof code === 'string').join(' ') || error.name;
}

function sendLogin(
  { settings, loginPage, formToken, link }: LoginRoutes,
  request: FastifyRequest,
  reply: FastifyReply,
  {
    problem,
    to,
    endAddress = null,
  }: Pick<LoginContent, 'problem'> & Partial<Pick<LoginContent, 'endAddress'>> & { readonly to: string },
): FastifyReply {
  const content: LoginContent = {
    ...{ problem, endAddress },
    password:
      settings.users.size === 0 || endAddress !== null ? null : { formToken: formToken(request, reply), to },
    isByLink: link !== undefined,
    oidcAddress: settings.oidc === null ? null : `${OIDC}?to=${encodeURIComponent(to)}`,
  };
  return reply
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(loginPage(content, request));
}

/**
 * Where to go after the login: a path of this server in the characters that a header may have, and nothing that a browser
 * would take for another host.
 */
function pathOf(values: unknown): string {
  const to = textOf((values as { readonly to?: unknown } | null)?.to, TO_CHARACTERS_MAX);
  const isPath = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(to) && !to.startsWith('/log');
  return isPath ? to : '/';
}

const textOf = (value: unknown, charactersMax: number): string =>
  typeof value === 'string' && value.length <= charactersMax ? value : '';
