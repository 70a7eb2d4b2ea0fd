/** The hidden field that distinguishes our forms from those of another site. */
import { timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { cookieNames, cookieOptions, formTokenOf } from './sessions.ts';
import { AccessRefused } from './access.ts';

const BROWSER_BYTES = 32;

interface FormsDeps {
  /** The first makes the field's value, all are believed. */
  readonly keys: readonly Buffer[];
  readonly random: (bytes: number) => Buffer;
  readonly isSecure: boolean;
}

interface Forms {
  /** The value for this session; for this browser where there is none, which gets a cookie for it. */
  readonly token: (request: FastifyRequest, reply: FastifyReply, session: string | null) => string;
  /** Throws `AccessRefused` unless the request has the value of its session or browser. */
  readonly assertOwn: (request: FastifyRequest, session: string | null) => void;
}

export function createForms({ keys, random, isSecure }: FormsDeps): Forms {
  const { browser: cookie } = cookieNames(isSecure);
  const boundTo = (session: string | null, browser: string): string =>
    session === null ? `of browser ${browser}` : `of session ${session}`;
  return {
    token: (request, reply, session) => {
      if (session !== null) return formTokenOf(keys[0]!, boundTo(session, ''));
      const known = request.cookies[cookie] ?? '';
      const browser = known === '' ? random(BROWSER_BYTES).toString('base64url') : known;
      if (known === '') void reply.setCookie(cookie, browser, cookieOptions(isSecure));
      return formTokenOf(keys[0]!, boundTo(null, browser));
    },
    assertOwn: (request, session) => {
      const browser = request.cookies[cookie] ?? '';
      const site = request.headers['sec-fetch-site'];
      const given = (request.body as { readonly form_token?: unknown } | undefined)?.form_token;
      if (site !== undefined && site !== 'same-origin') throw new AccessRefused('otherSite');
      if (session === null && browser === '') throw new AccessRefused('noCookie');
      const isOurs = keys.some((key) => isSame(given, formTokenOf(key, boundTo(session, browser))));
      if (!isOurs) throw new AccessRefused('noToken');
    },
  };
}

function isSame(given: unknown, expected: string): boolean {
  if (typeof given !== 'string') return false;
  const [was, is] = [Buffer.from(given), Buffer.from(expected)];
  return was.length === is.length && timingSafeEqual(was, is);
}

/**
 * Whether another site embeds or fetches this: as an image, a frame, or by a script. Following a link of another site is no
 * such thing, as it shows a person where they are.
 */
export function isEmbedded({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  return headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document';
}

/**
 * Whether the pages are called by a name that is not that of `pagesUrl`: a foreign site can have its own name point at
 * this server, and what its scripts then send carries that name. Numbers are no such names.
 */
export function isForeignName({ headers }: FastifyRequest, pagesUrl: string): boolean {
  const { protocol, host } = new URL(pagesUrl);
  const called = `${protocol}//${headers.host ?? ''}`;
  if (!URL.canParse(called)) return true;
  const { host: own, hostname } = new URL(called);
  const isNumber = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
  return own !== host && hostname !== 'localhost' && !isNumber;
}
