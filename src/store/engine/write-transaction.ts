/** Every write of a run goes through here: under the lease, and exactly once even if the connection is cut. */
import { assertLease, type Lease } from './lease.ts';
import { isLostOrRolledBack, retry } from './retry.ts';
import { type Db, type Trx, rowOf } from './database.ts';

/**
 * Runs `work` in one transaction that holds the lease, and commits it. If the connection is cut, the transaction is
 * run again, unless the server says that it was committed. `work` must have no effect but on its rows. Throws
 * `LeaseLost`, or `StoreUnreachable` once the retries are used up.
 */
export async function writeTransaction<Result>(
  db: Db,
  lease: Lease,
  work: (trx: Trx) => Promise<Result>,
  delaysMs?: readonly number[],
): Promise<Result> {
  let finished: { readonly xid: string; readonly result: Result } | null = null;
  const attempt = async (): Promise<Result> => {
    if (finished !== null && (await wasCommitted(db, finished.xid))) return finished.result;
    finished = null;
    return db.transaction().execute(async (trx) => {
      const xid = await assertLease(trx, lease);
      const result = await work(trx);
      finished = { xid, result };
      return result;
    });
  };
  return retry(attempt, { delaysMs, isPassing: isLostOrRolledBack });
}

/** Whether the server has committed the transaction. False if it does not know it, as after a fail-over. */
async function wasCommitted(db: Db, xid: string): Promise<boolean> {
  const { status } = await rowOf(db)<{ status: string | null }>`
    SELECT CASE WHEN ${xid}::xid8 < pg_snapshot_xmax(pg_current_snapshot())
      THEN pg_xact_status(${xid}::xid8) END AS status`;
  // The server has not noticed yet that the connection is cut: this is asked again after a pause.
  if (status === 'in progress') throw Object.assign(new Error(`transaction ${xid} hangs`), { code: '08006' });
  return status === 'committed';
}
