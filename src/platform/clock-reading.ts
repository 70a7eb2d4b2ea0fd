/**
 * Reads the platform's clock from the Date header of a reply. It is as exact as a second and the duration of the
 * call.
 */
import type { IncomingHttpHeaders } from 'node:http';

/** By how many ms the platform's clock is ahead of ours, at least and at most; negative if it is behind. */
export interface ClockReading {
  readonly aheadMinMs: number;
  readonly aheadMaxMs: number;
}

/** A Date header has full seconds, so the platform's clock may have shown up to this many ms more. */
const RESOLUTION_MS = 999;
/** `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that HTTP allows to be sent. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The reading from one reply. `sentMs` and `receivedMs` are when, by our clock, the request was sent and the reply was
 * received. The platform wrote its date in between. Null if the reply has no readable date, if it comes from a cache
 * (Age), or if our own clock was set back meanwhile.
 */
export function clockReadingOf(
  headers: IncomingHttpHeaders,
  { sentMs, receivedMs }: { readonly sentMs: number; readonly receivedMs: number },
): ClockReading | null {
  const { date, age } = headers;
  if (age !== undefined || typeof date !== 'string' || !HTTP_DATE.test(date)) return null;
  const dateMs = Date.parse(date);
  if (Number.isNaN(dateMs) || receivedMs < sentMs) return null;
  return { aheadMinMs: dateMs - receivedMs, aheadMaxMs: dateMs + RESOLUTION_MS - sentMs };
}
