/** Statements that may be run twice are: a connection cut in the middle of one does not end the work it belongs to. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectionError, StoreUnreachable } from './errors.ts';
import { RETRY_DELAYS_MS } from './write-transaction.ts';

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
      if (delayMs === undefined) {
        throw new StoreUnreachable(
          `the database was lost and ${attempt + 1} attempts failed: ${String(error)}. The same command takes up from there.`,
          { cause: error },
        );
      }
      await sleep(delayMs);
    }
  }
}
