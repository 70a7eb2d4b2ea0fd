/**
 * Keeps changes at the platform that no run has reported yet: the run that stored them may have been killed before
 * its report.
 */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { DB } from './engine/schema.ts';

export interface Changes {
  readonly amended: number;
  readonly vanished: number;
}

/** Notes changes in the transaction that stores them. Writes nothing if there are none. */
export async function noteUntold(
  trx: Transaction<DB>,
  { merchantNo, runId }: { readonly merchantNo: string; readonly runId: number },
  { amended, vanished }: Changes,
): Promise<void> {
  if (amended + vanished === 0) return;
  await sql`
    INSERT INTO untold_change AS known (merchant_no, run_id, amended, vanished)
    VALUES (${merchantNo}, ${runId}, ${amended}, ${vanished})
    ON CONFLICT (merchant_no, run_id) DO UPDATE
      SET amended = known.amended + excluded.amended, vanished = known.vanished + excluded.vanished`.execute(
    trx,
  );
}

/** All changes of the merchants that are not reported yet, whichever run stored them. */
export async function untoldChanges(db: Kysely<DB>, merchants: readonly string[]): Promise<Changes> {
  if (merchants.length === 0) return { amended: 0, vanished: 0 };
  const rows = await db
    .selectFrom('untold_change')
    .select(['amended', 'vanished'])
    .where('merchant_no', 'in', [...merchants])
    .execute();
  const sumOf = (figure: keyof Changes) => rows.reduce((sum, row) => sum + row[figure], 0);
  return { amended: sumOf('amended'), vanished: sumOf('vanished') };
}

/** Deletes the notes, once a run that reports them is on record. */
export async function forgetUntold(trx: Transaction<DB>, merchants: readonly string[]): Promise<void> {
  if (merchants.length === 0) return;
  await trx
    .deleteFrom('untold_change')
    .where('merchant_no', 'in', [...merchants])
    .execute();
}
