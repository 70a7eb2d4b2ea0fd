/** How often what a lost connection cut short is tried again, and how it is told when that did not help. */
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf, StoreUnreachable } from './errors.ts';
import { RETRY_WITHIN_MS } from './waits.ts';

/** Pauses between attempts: together about as long as a server takes to restart. */
export const RETRY_DELAYS_MS: readonly number[] = [100, 400, 1_600, 6_400];

/** The end of all attempts. */
const lostForGood = (attempts: number, cause: unknown): StoreUnreachable =>
  new StoreUnreachable(
    `the database was lost in mid-work and ${attempts === 1 ? 'the attempt' : `${attempts} attempts`} failed: ` +
      `${reasonOf(cause)}. What was committed is kept; once the server is up and reached, the same command takes up ` +
      'from there.',
    { cause, isFinal: true },
  );

/**
 * For one piece of work: waits before another attempt, or throws `StoreUnreachable` where the pauses are used up or
 * `RETRY_WITHIN_MS` has passed, as an attempt may itself have waited long for an answer. `clock` never goes back.
 */
export function createPatience(
  delaysMs: readonly number[],
  clock: () => number = () => performance.now(),
): (error: unknown) => Promise<void> {
  const sinceMs = clock();
  let attempts = 0;
  return async (error) => {
    const delayMs = delaysMs[attempts];
    attempts += 1;
    if (delayMs === undefined || clock() - sinceMs >= RETRY_WITHIN_MS) throw lostForGood(attempts, error);
    await sleep(delayMs);
  };
}
