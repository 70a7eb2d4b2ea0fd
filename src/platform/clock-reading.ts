/** What a reply tells of the platform's clock: its Date header, exact to a second and to the time the call took. */
import type { IncomingHttpHeaders } from 'node:http';

/** How far the platform's clock is ahead of ours, in ms, at least and at most; less than 0: behind. */
export interface ClockReading {
  readonly aheadMinMs: number;
  readonly aheadMaxMs: number;
}

/** A Date header has whole seconds: the platform's clock was up to this much later. */
const GRAIN_MS = 999;
/** `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that HTTP lets be sent. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The reading of one reply, which was sent for and came at these instants of our clock; the platform wrote its date in
 * between. Null where the reply tells nothing: no date, one that cannot be read, one that a cache kept (Age), or our own
 * clock was set back meanwhile.
 */
export function clockReadingOf(
  headers: IncomingHttpHeaders,
  { sentMs, receivedMs }: { readonly sentMs: number; readonly receivedMs: number },
): ClockReading | null {
  const { date, age } = headers;
  if (age !== undefined || typeof date !== 'string' || !HTTP_DATE.test(date)) return null;
  const dateMs = Date.parse(date);
  if (Number.isNaN(dateMs) || receivedMs < sentMs) return null;
  return { aheadMinMs: dateMs - receivedMs, aheadMaxMs: dateMs + GRAIN_MS - sentMs };
}
