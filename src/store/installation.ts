/** What there is once in a database: its identity, and whether the platform's timestamps are the times it filters by. */
import { sql } from 'kysely';
import { type Db, rowOf } from './engine/database.ts';
import type { Lease } from './engine/lease.ts';
import { writeTransaction } from './engine/write-transaction.ts';

/** A UUID that was made together with the tables. A copy of the database has the same one. */
export async function databaseIdentity(db: Db): Promise<string> {
  const { id } = await db.selectFrom('installation').select('id').executeTakeFirstOrThrow();
  return id;
}

/** Whether an entry was ever seen whose timestamp differs, within the clock tolerance, from the time the platform filters by. */
export async function isClockOff(db: Db): Promise<boolean> {
  const { off } = await rowOf(db)<{ off: boolean }>`SELECT clock_off_at IS NOT NULL AS off FROM installation`;
  return off;
}

/** Records for good that such an entry was seen; `seen` describes it. Throws `LeaseLost` or `StoreUnreachable`. */
export function storeClockOff(db: Db, lease: Lease, seen: string, now: Date): Promise<void> {
  return writeTransaction(db, lease, async (trx) => {
    await sql`
      UPDATE installation SET clock_off_at = ${now}, clock_off = ${seen} WHERE clock_off_at IS NULL`.execute(
      trx,
    );
  });
}
