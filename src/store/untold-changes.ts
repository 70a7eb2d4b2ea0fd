/**
 * Keeps changes at the platform that no run has reported yet: the run that stored them may have been killed before
 * its report.
 */
import { sql, type Kysely, type Transaction } from 'kysely';
import { ofMerchants } from './account-filter.ts';
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
  const { rows } = await sql<Changes>`
    SELECT coalesce(sum(amended), 0)::bigint AS amended, coalesce(sum(vanished), 0)::bigint AS vanished
    FROM untold_change WHERE ${ofMerchants(merchants)}`.execute(db);
  return rows[0]!;
}

/** Deletes the notes, once a run that reports them is on record. */
export async function forgetUntold(trx: Transaction<DB>, merchants: readonly string[]): Promise<void> {
  await trx.deleteFrom('untold_change').where(ofMerchants(merchants)).execute();
}
