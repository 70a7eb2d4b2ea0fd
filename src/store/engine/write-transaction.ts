/** Every write of a run goes through here: under the lease, and exactly once even if the connection is cut. */
import { assertLease, type Attempt, type Lease, askLease, heldLeases, voidAttempts } from './lease.ts';
import { isLostOrRolledBack, retry } from './retry.ts';
import { type Db, type Trx, rowsOf } from './database.ts';
import type { RawBuilder } from 'kysely';
import { toBeMadeAgain } from './errors.ts';
import { shared } from './shared-statement.ts';

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
  const rows = await rowsOf(db)<{ status: string | null }>`
    SELECT CASE WHEN ${xid}::xid8 < pg_snapshot_xmax(pg_current_snapshot())
      THEN pg_xact_status(${xid}::xid8) END AS status`;
  const status = rows[0]?.status ?? null;
  // The server has not noticed yet that the connection is cut: this is asked again after a pause.
  if (status === 'in progress') throw Object.assign(new Error(`transaction ${xid} hangs`), { code: '08006' });
  return status === 'committed';
}

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
  clock?: () => bigint,
): Promise<Result> {
  return writeAttempts(db, lease, (attempt, isAgain) => send(heldLeases([attempt]), isAgain), clock);
}

/** As `writeStatement`, for a statement that is not this lease's alone. */
function writeAttempts<Result>(
  db: Db,
  lease: Lease,
  send: (attempt: Attempt, isAgain: boolean) => Promise<Result | null>,
  clock: () => bigint = () => process.hrtime.bigint(),
): Promise<Result> {
  let last: bigint | null = null;
  const attempt = async (): Promise<Result> => {
    const isAgain = last !== null;
    if (last !== null) await voidAttempts(db, lease, last);
    last = clock();
    const result = await send({ lease, number: last }, isAgain);
    if (result !== null) return result;
    await askLease(db, lease);
    throw toBeMadeAgain('a later write of this run was made again');
  };
  return retry(attempt, { isPassing: isLostOrRolledBack });
}

/** Sends what several ask to write in one statement. `held` are the places, from 1, of those that may be written. */
type SendAll<Ask, Result> = (
  db: Db,
  asks: readonly Ask[],
  held: RawBuilder<unknown>,
  isAgain: boolean,
) => Promise<readonly (Result | null)[]>;

/**
 * Returns a function that writes what is asked as `writeStatement` does, under the lease; several of different merchants share
 * a statement, which waits for no lock of a lease. One whose lease does not show as held is sent again alone, and so is one whose
 * answer was lost, and what a merchant asks twice.
 */
export function sharedWrite<Ask extends { readonly merchantNo: string }, Result>(
  send: SendAll<Ask, Result>,
): (db: Db, lease: Lease, ask: Ask) => Promise<Result> {
  const together = shared<Attempt & { readonly merchantNo: string; readonly ask: Ask }, Result | null>(
    async (db, all) => {
      const firsts = [...Map.groupBy(all, ({ merchantNo }) => merchantNo).values()].map(([first]) => first!);
      const asks = firsts.map(({ ask }) => ask);
      const results = await send(db, asks, heldLeases(firsts, { skipsLocked: true }), false);
      const resultOf = new Map(firsts.map((one, at) => [one, results[at]]));
      return all.map((one) => resultOf.get(one) ?? null);
    },
  );
  return (db, lease, ask) =>
    writeAttempts(db, lease, async (attempt, isAgain) => {
      const result = isAgain ? null : await together(db, { ...attempt, merchantNo: ask.merchantNo, ask });
      return result ?? (await send(db, [ask], heldLeases([attempt]), isAgain))[0]!;
    });
}
