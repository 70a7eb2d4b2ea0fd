/** Counts the tries of one call, and decides whether to repeat it and how long to wait before. Pure: randomness is a parameter. */
import type { Failure } from './attempt.ts';
import { saying } from './errors.ts';

const BACKOFF_BASE_MS = 250;
const BACKOFF_MAX_MS = 20_000;
/**
 * If the platform asks for a longer wait (Retry-After), the call fails: a run should end and say so, not sleep for
 * hours.
 */
export const RETRY_AFTER_MAX_MS = 600_000;
/** More tries after replies that the contract does not know: that rarely changes by itself. */
const INVALID_REPLY_RETRIES_MAX = 2;

export class Tries {
  readonly #isRepeatable: boolean;
  readonly #retriesMax: number;
  #made = 0;
  #invalidReplies = 0;
  #mayHaveArrived = false;

  constructor(isRepeatable: boolean, retriesMax: number) {
    this.#isRepeatable = isRepeatable;
    this.#retriesMax = retriesMax;
  }

  get made(): number {
    return this.#made;
  }

  /**
   * Counts a try that failed, and returns how long to wait before the next one, in ms. Throws the `PlatformError` of
   * the failure, with the number of tries in its message, if there is to be no other.
   */
  waitAfter({ error, retry, askedMs, answered }: Failure, random: () => number): number {
    this.#made += 1;
    if (retry === 'seldom') this.#invalidReplies += 1;
    this.#mayHaveArrived ||= error.mayHaveArrived;
    const tooLong = excessiveWait(askedMs);
    const mayNotRepeat = !this.#isRepeatable && (this.#mayHaveArrived || answered);
    const isOver =
      retry === 'no' ||
      tooLong !== null ||
      mayNotRepeat ||
      this.#made > this.#retriesMax ||
      this.#invalidReplies > INVALID_REPLY_RETRIES_MAX;
    if (isOver) {
      const message = error.message + (tooLong ?? '') + timesTried(this.#made);
      throw saying(message, error, this.#mayHaveArrived);
    }
    return backoffMs(this.#made, askedMs, random);
  }
}

/** What to add to the message if the platform asks for a longer wait than a call makes; null if it does not. */
const excessiveWait = (askedMs: number | null): string | null =>
  askedMs === null || askedMs <= RETRY_AFTER_MAX_MS
    ? null
    : `; it asks to wait ${Math.ceil(askedMs / 1_000)} s (Retry-After), and a call waits ${RETRY_AFTER_MAX_MS / 1_000} s ` +
      'at most: run again after that';

const timesTried = (tries: number): string => (tries === 1 ? '' : `; tried ${tries} times`);

/**
 * The wait in ms before retry number `retry` (from 1): a random part of a bound that doubles each time, so that calls
 * which failed together do not come back together. What the platform asked for is added.
 */
function backoffMs(retry: number, askedMs: number | null, random: () => number): number {
  const boundMs = Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (retry - 1));
  return (askedMs ?? 0) + Math.round(random() * boundMs);
}
