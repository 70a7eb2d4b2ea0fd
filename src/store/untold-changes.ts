/** What was found changed at the platform and no run has told yet, as the run that stored it may have been killed. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { DB } from './engine/schema.ts';

export interface Changes {
  readonly amended: number;
  readonly vanished: number;
}

/** Notes changes in the transaction that stores them; without any, nothing is written. */
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

/** All that is still to be told of the merchants, whichever run stored it. */
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

/** Forgets it once a run that tells it is on record. */
export async function forgetUntold(trx: Transaction<DB>, merchants: readonly string[]): Promise<void> {
  if (merchants.length === 0) return;
  await trx
    .deleteFrom('untold_change')
    .where('merchant_no', 'in', [...merchants])
    .execute();
}
