/** Tells the requests that a person makes from those that another site makes this person's browser send. */
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

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
