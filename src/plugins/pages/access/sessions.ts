/**
 * Logins that last: a random number in a signed cookie, and a row that says whose it is until it is deleted or over; and
 * the hidden field that distinguishes their forms from those of another site.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import { sha256Of } from '../../../host/sha256.ts';
import type { AccessSettings } from '../settings.ts';
import type { SecretKey } from '../../../store/secrets/secrets.ts';
import { recordAuditEvent } from '../../../store/audit.ts';
import {
  beginSession,
  deleteOverSessions,
  endSession,
  endSessionsOf,
  extendSession,
  findSession,
  type PageSession,
} from './stored.ts';
import type { DB } from '../../../store/engine/schema.ts';
import { AccessRefused, type Person } from './access.ts';
import { groupsWithRole, personWithRole, type Identity } from './identity.ts';

const TOKEN_BYTES = 32;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** By how much the end of a session that is used has to move to be stored again. */
const EXTENDED_BY_MS = MINUTE_MS;
/** In the audit, for an unknown name: people type passwords there. */
const UNKNOWN_NAME = '(unknown name)';
/** Failed logins in the audit; unknown senders do not fill the disk. The log has all. */
const FAILURES_AN_HOUR_MAX = 1_000;

export interface SessionDeps {
  readonly settings: AccessSettings;
  readonly db: Kysely<DB>;
  readonly now: () => Date;
  readonly random: (bytes: number) => Buffer;
  /** Cookies go over TLS alone. */
  readonly isSecure: boolean;
  /** Whether people come in by the link that is printed. Default: no. */
  readonly isByLink?: boolean;
}

/** Who a request is from. */
export interface Identified {
  readonly person: Person;
  /** What names the session; null for who comes without one. */
  readonly session: string | null;
}

export type Sessions = ReturnType<typeof createSessions>;

export function createSessions({ settings, db, now, random, isSecure, isByLink = false }: SessionDeps) {
  const { users, oidc, roles, sessionHours, idleMinutes } = settings;
  const { session: cookie } = cookieNames(isSecure);
  const proofOf = createProof({ users, oidc }, isByLink);
  const isStillGood = ({ way, name, proofSha256 }: PageSession): boolean =>
    proofSha256 !== null && proofSha256 === proofOf(way, name);
  /** When a session ends that is used at this moment. */
  const endOf = (begunAt: Date): Date =>
    new Date(Math.min(begunAt.getTime() + sessionHours * HOUR_MS, now().getTime() + idleMinutes * MINUTE_MS));
  return {
    /** Null where there is no cookie, or one that counts for nothing: forged, over, logged out, or without a role by now. */
    find: async (request: FastifyRequest): Promise<Identified | null> => {
      const tokenSha256 = tokenIn(request, cookie);
      const session = tokenSha256 === null ? undefined : await findSession(db, tokenSha256, now());
      if (session === undefined || !isStillGood(session)) return null;
      const person = personWithRole(session, roles);
      const endsAt = endOf(session.begunAt);
      if (person !== null && endsAt.getTime() - session.endsAt.getTime() >= EXTENDED_BY_MS)
        await extendSession(db, session.tokenSha256, endsAt);
      return person && { person, session: session.tokenSha256 };
    },
    /**
     * Logs a person in, and leaves a row in the audit. Only groups that have a role now are kept. The session that the
     * browser had until then is over. Null for who has no role.
     */
    begin: async (
      request: FastifyRequest,
      reply: FastifyReply,
      way: PageSession['way'],
      identity: Identity,
    ): Promise<Person | null> => {
      const person = personWithRole(identity, roles);
      if (person === null) return null;
      const before = tokenIn(request, cookie);
      const token = random(TOKEN_BYTES).toString('base64url');
      const begunAt = now();
      const lastsMs = sessionHours * HOUR_MS;
      await db.transaction().execute(async (trx) => {
        if (before !== null) await endSession(trx, before);
        await beginSession(trx, {
          tokenSha256: sha256Of(token),
          ...{ way, name: identity.name, groups: groupsWithRole(identity.groups, roles) },
          proofSha256: proofOf(way, identity.name),
          begunAt,
          endsAt: endOf(begunAt),
        });
        await recordAuditEvent(trx, { by: person.name, command: 'login', subject: way }, begunAt);
      });
      void reply.setCookie(cookie, token, { ...cookieOptions(isSecure, lastsMs / 1_000), signed: true });
      return person;
    },
    /** Deletes those that are over: names and groups are kept no longer than they are needed. */
    tidy: (): Promise<void> => deleteOverSessions(db, now()),
    /**
     * Ends the browser's session, or all of its person, and leaves a row in the audit. Returns how that person had logged in; null
     * if there was none.
     */
    end: async (
      request: FastifyRequest,
      reply: FastifyReply,
      isEverywhere: boolean,
    ): Promise<PageSession['way'] | null> => {
      const tokenSha256 = tokenIn(request, cookie);
      const session = tokenSha256 === null ? undefined : await findSession(db, tokenSha256, now());
      if (session !== undefined)
        await db.transaction().execute(async (trx) => {
          const ended = isEverywhere ? await endSessionsOf(trx, session.name) : null;
          if (ended === null) await endSession(trx, session.tokenSha256);
          const note = ended === null ? undefined : `everywhere: ${ended} sessions`;
          const event = { by: session.name, command: 'logout', subject: session.way, note };
          await recordAuditEvent(trx, event, now());
        });
      void reply.clearCookie(cookie, cookieOptions(isSecure));
      return session?.way ?? null;
    },
  };
}

/** What a session stands on: the password, the provider, or the link. Changed or taken away, it ends the sessions on it. */
const createProof =
  ({ users, oidc }: Pick<AccessSettings, 'users' | 'oidc'>, isByLink: boolean) =>
  (way: PageSession['way'], name: string): string | null => {
    if (way === 'link') return isByLink ? sha256Of('link') : null;
    if (way === 'oidc')
      return oidc && sha256Of(JSON.stringify([oidc.issuer, oidc.clientId, oidc.nameClaim, oidc.groupsClaim]));
    const known = users.get(name);
    return known === undefined ? null : sha256Of(known.hash.toString('hex'));
  };

/** Records a login that failed. Never rejects. */
export type NoteFailure = (
  request: FastifyRequest,
  way: PageSession['way'],
  name: string | null,
) => Promise<void>;

/** A row in the audit for each login that failed, up to a limit: the name if it is known, and the address. */
export function createFailureNotes({ db, now }: Pick<SessionDeps, 'db' | 'now'>): NoteFailure {
  const failures = { hour: 0, count: 0 };
  return async ({ sender }, way, name) => {
    const hour = Math.floor(now().getTime() / HOUR_MS);
    if (failures.hour !== hour) Object.assign(failures, { hour, count: 0 });
    failures.count += 1;
    if (failures.count > FAILURES_AN_HOUR_MAX) return;
    const more =
      failures.count === FAILURES_AN_HOUR_MAX ? '; further ones of this hour are in the log alone' : '';
    const event = {
      by: name ?? UNKNOWN_NAME,
      command: 'login failed',
      subject: way,
      note: `from ${sender}${more}`,
    };
    await recordAuditEvent(db, event, now()).catch(() => undefined);
  };
}

/** The hash of the number in the cookie; null if there is none with our signature. */
function tokenIn(request: FastifyRequest, cookie: string): string | null {
  const { valid, value } = request.unsignCookie(request.cookies[cookie] ?? '');
  return valid && value !== '' ? sha256Of(value) : null;
}

const KEY_BYTES = 32;

/** The keys that sign cookies: the first signs, all are believed. Without secret keys a key of this process alone. */
export const cookieKeys = (secretKeys: readonly SecretKey[], random: (bytes: number) => Buffer): Buffer[] =>
  secretKeys.length === 0
    ? [random(KEY_BYTES)]
    : secretKeys.map(({ key }) =>
        Buffer.from(hkdfSync('sha256', key, '', 'daybook cookies of the pages', KEY_BYTES)),
      );

/** Names of cookies. Browsers take one with this beginning only from this very host, over TLS. */
export function cookieNames(isSecure: boolean) {
  const prefix = isSecure ? '__Host-' : '';
  return {
    session: `${prefix}daybook_session`,
    /** A random number of the browser, for forms of people without a session. */
    browser: `${prefix}daybook_browser`,
    /** What a login at the provider began with. */
    flow: `${prefix}daybook_flow`,
    /** For which names this browser is known. */
    device: `${prefix}daybook_device`,
  };
}

/** No script reads it, and no form of another site sends it. Lax, as people come by links and from the provider. */
export const cookieOptions = (isSecure: boolean, maxAgeS?: number): CookieSerializeOptions => ({
  path: '/',
  httpOnly: true,
  sameSite: 'lax',
  secure: isSecure,
  ...(maxAgeS !== undefined && { maxAge: maxAgeS }),
});

/** The value of a form's hidden field: bound to the session, or to the browser where there is none. */
const formTokenOf = (key: Buffer, boundTo: string): string =>
  createHmac('sha256', key).update(`form ${boundTo}`).digest('base64url');

const BROWSER_BYTES = 32;

/** The first of the keys makes the field's value, all are believed. */
export function createForms({
  keys,
  random,
  isSecure,
}: Pick<SessionDeps, 'random' | 'isSecure'> & { readonly keys: readonly Buffer[] }) {
  const { browser: cookie } = cookieNames(isSecure);
  const boundTo = (session: string | null, browser: string): string =>
    session === null ? `of browser ${browser}` : `of session ${session}`;
  return {
    /** The value for this session; for this browser where there is none, which gets a cookie for it. */
    token: (request: FastifyRequest, reply: FastifyReply, session: string | null): string => {
      if (session !== null) return formTokenOf(keys[0]!, boundTo(session, ''));
      const known = request.cookies[cookie] ?? '';
      const browser = known === '' ? random(BROWSER_BYTES).toString('base64url') : known;
      if (known === '') void reply.setCookie(cookie, browser, cookieOptions(isSecure));
      return formTokenOf(keys[0]!, boundTo(null, browser));
    },
    /** Throws `AccessRefused` unless the request has the value of its session or browser. */
    assertOwn: (request: FastifyRequest, session: string | null): void => {
      const browser = request.cookies[cookie] ?? '';
      if (isOfOtherSite(request)) throw new AccessRefused('otherSite');
      if (session === null && browser === '') throw new AccessRefused('noCookie');
      const isOurs = keys.some((key) => hasFormToken(request, formTokenOf(key, boundTo(session, browser))));
      if (!isOurs) throw new AccessRefused('noToken');
    },
  };
}

/** Whether a page of another site sent this. */
export function isOfOtherSite({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin';
}

/** Whether the form's hidden field has this value. */
export function hasFormToken({ body }: FastifyRequest, expected: string): boolean {
  const given = (body as { readonly form_token?: unknown } | undefined)?.form_token;
  if (typeof given !== 'string') return false;
  const [was, is] = [Buffer.from(given), Buffer.from(expected)];
  return was.length === is.length && timingSafeEqual(was, is);
}
