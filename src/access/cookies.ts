/** The cookies of access: what each is called, which browsers send it when, and the keys that sign them. */
import { createHmac, hkdfSync } from 'node:crypto';
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { SecretKey } from '../settings/values/credentials.ts';

const KEY_BYTES = 32;

/** The keys that sign cookies: the first signs, all are believed. Without secret keys a key of this process alone. */
export const cookieKeys = (secretKeys: readonly SecretKey[], random: (bytes: number) => Buffer): Buffer[] =>
  secretKeys.length === 0
    ? [random(KEY_BYTES)]
    : secretKeys.map(({ key }) =>
        Buffer.from(hkdfSync('sha256', key, '', 'daybook cookies of the pages', KEY_BYTES)),
      );

/** The value of a form's hidden field: bound to the session, or to the browser where there is none. */
export const formTokenOf = (key: Buffer, boundTo: string): string =>
  createHmac('sha256', key).update(`form ${boundTo}`).digest('base64url');

export interface CookieNames {
  readonly session: string;
  /** A random number of the browser, for forms of people without a session. */
  readonly browser: string;
  /** What a login at the provider began with. */
  readonly flow: string;
}

/** Browsers take a name with this beginning only from this very host, over TLS. */
const namesWith = (prefix: string): CookieNames => ({
  session: `${prefix}daybook_session`,
  browser: `${prefix}daybook_browser`,
  flow: `${prefix}daybook_flow`,
});

export const cookieNames = (isSecure: boolean): CookieNames => namesWith(isSecure ? '__Host-' : '');

/** No script reads it, and no form of another site sends it. Lax, as people come by links and from the provider. */
export const cookieOptions = (isSecure: boolean, maxAgeS?: number): CookieSerializeOptions => ({
  path: '/',
  httpOnly: true,
  sameSite: 'lax',
  secure: isSecure,
  ...(maxAgeS !== undefined && { maxAge: maxAgeS }),
});
