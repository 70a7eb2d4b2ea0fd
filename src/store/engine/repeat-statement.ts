/** Statements that may be run twice are: a connection cut in the middle of one does not end the work it belongs to. */
import { isConnectionError } from './errors.ts';
import { createPatience, RETRY_DELAYS_MS } from './retry.ts';

/** Runs `statement` again while the connection is lost. Throws `StoreUnreachable` once the retries are used up. */
export async function repeatStatement<Result>(
  statement: () => Promise<Result>,
  delaysMs: readonly number[] = RETRY_DELAYS_MS,
): Promise<Result> {
  const pause = createPatience(delaysMs);
  for (;;) {
    try {
      return await statement();
    } catch (error) {
      if (!isConnectionError(error)) throw error;
      await pause(error);
    }
  }
}
