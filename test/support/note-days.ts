/** For tests that write ledger entries themselves: their days count as changed, as storing them makes them. */
import { sql } from 'kysely';
import type { Db } from '../../src/store/engine/database.ts';

/** All days on which the merchant has entries, or those given. */
export async function noteDays(
  db: Db,
  merchantNo: string,
  days: readonly string[] | null = null,
): Promise<void> {
  await sql`
    INSERT INTO certificate AS known (merchant_no, day, compared, changes)
    SELECT DISTINCT ${merchantNo}, day, false, 1 FROM ${
      days === null
        ? sql`(SELECT booked_at::date AS day FROM ledger_entry WHERE merchant_no = ${merchantNo}) AS held`
        : sql`unnest(${[...days]}::date[]) AS day`
    }
    ON CONFLICT (merchant_no, day) DO UPDATE SET chained = false, compared = false, changes = known.changes + 1`.execute(
    db,
  );
}

/** The days of entries with this number, as they are stored. */
export async function daysOfNumber(
  db: Db,
  batchNo: string,
): Promise<readonly { merchantNo: string; day: string }[]> {
  const { rows } = await sql<{ merchantNo: string; day: string }>`
    SELECT merchant_no AS "merchantNo", booked_at::date AS day FROM ledger_entry WHERE batch_no = ${batchNo}`.execute(
    db,
  );
  return rows;
}
