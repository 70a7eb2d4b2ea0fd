/** A write of a run that is a single statement: under the lease, and once, even if the answer to it is lost. */
import type { RawBuilder } from 'kysely';
import { toBeMadeAgain } from './errors.ts';
import { askLease, heldLease, voidAttempts, type Lease } from './lease.ts';
import { isLostOrRolledBack, retry } from './retry.ts';
import type { Db } from './database.ts';

/**
 * Sends a statement that writes only if `held` has a row, and that says the same if it is sent again. `send` returns null
 * if `held` had none. If the answer is lost, the server first refuses that attempt, should it still be on its way: it
 * might undo what is written after it. Numbers from `clock` grow with every call. Throws `LeaseLost`, or `StoreUnreachable`
 * once the retries are used up.
 */
export function writeStatement<Result>(
  db: Db,
  lease: Lease,
  send: (held: RawBuilder<unknown>, isAgain: boolean) => Promise<Result | null>,
  clock: () => bigint = () => process.hrtime.bigint(),
): Promise<Result> {
  let last: bigint | null = null;
  const attempt = async (): Promise<Result> => {
    const isAgain = last !== null;
    if (last !== null) await voidAttempts(db, lease, last);
    last = clock();
    const result = await send(heldLease(lease, last), isAgain);
    if (result !== null) return result;
    await askLease(db, lease);
    throw toBeMadeAgain('a later write of this run was made again');
  };
  return retry(attempt, { isPassing: isLostOrRolledBack });
}
