/** How often what a lost connection cut short is tried again, and how it is told when that did not help. */
import { reasonOf, StoreUnreachable } from './errors.ts';

/** Pauses between attempts: together about as long as a server takes to restart. */
export const RETRY_DELAYS_MS: readonly number[] = [100, 400, 1_600, 6_400];

/** The end of all attempts. */
export const lostForGood = (attempts: number, cause: unknown): StoreUnreachable =>
  new StoreUnreachable(
    `the database was lost in mid-work and ${attempts} attempts failed: ${reasonOf(cause)}. What was committed is ` +
      'kept; once the server is up, the same command takes up from there.',
    { cause, isFinal: true },
  );
