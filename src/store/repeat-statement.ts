/** Statements that may be run twice are: a connection cut in the middle of one does not end the work it belongs to. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectionError } from './errors.ts';
import { lostForGood, RETRY_DELAYS_MS } from './retry.ts';

/** Runs `statement` again while the connection is lost. Throws `StoreUnreachable` once the retries are used up. */
export async function repeatStatement<Result>(
  statement: () => Promise<Result>,
  delaysMs: readonly number[] = RETRY_DELAYS_MS,
): Promise<Result> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await statement();
    } catch (error) {
      if (!isConnectionError(error)) throw error;
      const delayMs = delaysMs[attempt];
      if (delayMs === undefined) throw lostForGood(attempt + 1, error);
      await sleep(delayMs);
    }
  }
}
