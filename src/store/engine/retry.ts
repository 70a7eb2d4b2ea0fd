/** What a lost connection cut short is tried again here, and nowhere else. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectionError, isContention, reasonOf, StoreUnreachable } from './errors.ts';
import { RETRY_WITHIN_MS } from './waits.ts';

/** Pauses between attempts: together about as long as a server takes to restart. */
export const RETRY_DELAYS_MS: readonly number[] = [100, 400, 1_600, 6_400];

export interface RetryOptions {
  /** Pauses between attempts, one fewer than the attempts. `RETRY_DELAYS_MS` unless told. */
  readonly delaysMs?: readonly number[] | undefined;
  /** Once this has passed there is no other attempt: one may itself wait long. `RETRY_WITHIN_MS` unless told. */
  readonly withinMs?: number;
  /** Whether another attempt may get past this error. `isConnectionError` unless told. */
  readonly isPassing?: (error: unknown) => boolean;
  /** Runs after an attempt that failed, before its pause. */
  readonly afterFailure?: () => Promise<void>;
  /** What is thrown when the last attempt failed by `cause`; a final `StoreUnreachable` unless told. */
  readonly atEnd?: (cause: unknown, attempts: number) => unknown;
  /** Ms from anywhere, never going back. */
  readonly clock?: () => number;
}

/** For what the server rolls back as a whole: its own conflicts pass as well. */
export const isLostOrRolledBack = (error: unknown): boolean =>
  isConnectionError(error) || isContention(error);

/** For callers that tell the end in words of their own: the last attempt's error as it came. */
export const lastError = (cause: unknown): unknown => cause;

/**
 * Runs `attempt` until it succeeds. It must be safe to run twice. An error that is not passing is thrown at once;
 * when pauses or time are used up, what `atEnd` makes of the last one.
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
