/** Which answers are worth another try, and how long to wait before it. Pure: clock and randomness come in. */

const BACKOFF_BASE_MS = 250;
const BACKOFF_MAX_MS = 20_000;
/**
 * If the platform asks for a longer wait (Retry-After), the call fails: a run should end and say so, not sleep for
 * hours.
 */
export const RETRY_AFTER_MAX_MS = 600_000;
/** More tries after replies that the contract does not know: that rarely changes by itself. */
export const INVALID_REPLY_RETRIES_MAX = 2;

const RETRYABLE_STATUS = new Set([408, 425, 429]);

/** Whether the same call may succeed later: after a time-out, too many calls, or a fault of the server. */
export const isRetryableStatus = (status: number): boolean => status >= 500 || RETRYABLE_STATUS.has(status);

/** The wait in ms that a Retry-After header asks for, in seconds or by an HTTP date; null if it cannot be read. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  const asked = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(asked) ? null : Math.max(asked, 0);
}

/**
 * The wait in ms before retry number `retry` (from 1): a random part of a bound that doubles each time, so that calls
 * which failed together do not come back together. What the platform asked for is added.
 */
export function backoffMs(retry: number, askedMs: number | null, random: () => number): number {
  const boundMs = Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (retry - 1));
  return (askedMs ?? 0) + Math.round(random() * boundMs);
}
