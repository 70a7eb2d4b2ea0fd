/** When a call is sent again, and how long to wait before. Pure: clock and randomness come in. */

const BACKOFF_BASE_MS = 250;
const BACKOFF_MAX_MS = 20_000;
/** Who asks for a longer wait (Retry-After) is not called again: a run should end and say so rather than sleep for an hour. */
export const RETRY_AFTER_MAX_MS = 600_000;
/** Sends for a reply that is none of the contract's, which rarely passes by itself. */
export const INVALID_REPLY_RETRIES_MAX = 2;

const RETRYABLE_STATUS = new Set([408, 425, 429]);

/** Whether the same call may fare better later: time-outs, too many calls, and faults of the server. */
export const isRetryableStatus = (status: number): boolean => status >= 500 || RETRYABLE_STATUS.has(status);

/** What a Retry-After header asks for, in seconds or as an HTTP date; null where it says nothing readable. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  const asked = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(asked) ? null : Math.max(asked, 0);
}

/**
 * Wait before retry number `retry` (from 1): anything up to an exponentially growing bound, so that calls which
 * failed together do not come back together; what the platform asked for comes on top.
 */
export function backoffMs(retry: number, askedMs: number | null, random: () => number): number {
  const boundMs = Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (retry - 1));
  return (askedMs ?? 0) + Math.round(random() * boundMs);
}
