/**
 * Keeps changes at the platform that no run has reported yet: the run that stored them may have been killed before
 * its report.
 */
import { sql, type Kysely, type Transaction } from 'kysely';
import { ofMerchants } from './account-filter.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';

export interface Changes {
  readonly amended: number;
  readonly vanished: number;
}

/** Notes changes in the transaction that stores them. Writes nothing if there are none. */
export async function noteUnreported(
  trx: Transaction<DB>,
  { merchantNo, runId }: { readonly merchantNo: string; readonly runId: number },
  { amended, vanished }: Changes,
): Promise<void> {
  if (amended + vanished === 0) return;
  await sql`
    INSERT INTO unreported_change AS known (merchant_no, run_id, amended, vanished)
    VALUES (${merchantNo}, ${runId}, ${amended}, ${vanished})
    ON CONFLICT (merchant_no, run_id) DO UPDATE
      SET amended = known.amended + excluded.amended, vanished = known.vanished + excluded.vanished`.execute(
    trx,
  );
}

/** Changes of one merchant that one run stored. */
export interface UnreportedChanges extends Changes {
  readonly merchantNo: string;
  readonly runId: number;
}

/** All changes of the merchants that are not reported yet, whichever run stored them. */
export async function unreportedChanges(
  db: Kysely<DB>,
  merchants: readonly string[],
): Promise<readonly UnreportedChanges[]> {
  return db
    .selectFrom('unreported_change')
    .select(['merchant_no as merchantNo', 'run_id as runId', 'amended', 'vanished'])
    .where(ofMerchants(merchants))
    .execute();
}

/** Deletes these notes, once a run that reports them is on record. A note that has grown meanwhile stays. */
export async function markChangesReported(
  trx: Transaction<DB>,
  reported: readonly UnreportedChanges[],
): Promise<void> {
  if (reported.length === 0) return;
  const column = (value: (one: UnreportedChanges) => string | number) => arrayLiteral(reported.map(value));
  await sql`
    DELETE FROM unreported_change USING unnest(
      ${column(({ merchantNo }) => merchantNo)}::text[], ${column(({ runId }) => runId)}::bigint[],
      ${column(({ amended }) => amended)}::bigint[], ${column(({ vanished }) => vanished)}::bigint[]
    ) AS reported (merchant_no, run_id, amended, vanished)
    WHERE unreported_change.merchant_no = reported.merchant_no AND unreported_change.run_id = reported.run_id
      AND unreported_change.amended = reported.amended AND unreported_change.vanished = reported.vanished`.execute(
    trx,
  );
}
