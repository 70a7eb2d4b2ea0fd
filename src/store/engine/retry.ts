/** The one place where work is tried again after the database connection was cut. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectionError, isContention, reasonOf, StoreUnreachable } from './errors.ts';
import { RETRY_WITHIN_MS } from './waits.ts';

/** Pauses between attempts: together about as long as a server takes to restart. */
export const RETRY_DELAYS_MS: readonly number[] = [100, 400, 1_600, 6_400];

export interface RetryOptions {
  /** The pauses between attempts, so there is one attempt more than pauses. Default: `RETRY_DELAYS_MS`. */
  readonly delaysMs?: readonly number[] | undefined;
  /** No further attempt after this time, as each may itself take long. Default: `RETRY_WITHIN_MS`. */
  readonly withinMs?: number;
  /** Whether another attempt may succeed after this error. Default: `isConnectionError`. */
  readonly isPassing?: (error: unknown) => boolean;
  /** Called after each failed attempt, before the pause. */
  readonly afterFailure?: () => Promise<void>;
  /** Makes the error that is thrown after the last attempt. Default: a final `StoreUnreachable`. */
  readonly atEnd?: (cause: unknown, attempts: number) => unknown;
  /** Ms since any moment, never going back. */
  readonly clock?: () => number;
}

/** Also true for conflicts between transactions, which the server rolls back and asks to try again. */
export const isLostOrRolledBack = (error: unknown): boolean =>
  isConnectionError(error) || isContention(error);

/** An `atEnd` that throws the last error unchanged, for callers with a message of their own. */
export const lastError = (cause: unknown): unknown => cause;

/**
 * Runs `attempt` until it succeeds; it must be safe to run twice. Any other error than those of `isPassing` is thrown
 * at once. When the pauses or the time are used up, throws what `atEnd` makes of the last error.
 */
export async function retry<Result>(
  attempt: () => Promise<Result>,
  {
    delaysMs = RETRY_DELAYS_MS,
    withinMs = RETRY_WITHIN_MS,
    isPassing = isConnectionError,
    afterFailure,
    atEnd = lostForGood,
    clock = () => performance.now(),
  }: RetryOptions = {},
): Promise<Result> {
  const sinceMs = clock();
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isPassing(error)) throw error;
      await afterFailure?.();
      const delayMs = delaysMs[attempts - 1];
      if (delayMs === undefined || clock() - sinceMs >= withinMs) throw atEnd(error, attempts);
      if (delayMs > 0) await sleep(delayMs);
    }
  }
}

const lostForGood = (cause: unknown, attempts: number): StoreUnreachable =>
  new StoreUnreachable(
    `the database was lost in mid-work and ${attempts === 1 ? 'the attempt' : `${attempts} attempts`} failed: ` +
      `${reasonOf(cause)}. What was committed is kept; once the server is up and reached, the same command takes up ` +
      'from there.',
    { cause, isFinal: true },
  );
