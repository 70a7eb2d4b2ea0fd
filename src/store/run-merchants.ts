/** Stores the merchants of runs: how each ended, and which wait until a worker has done them. */
import { sql, type RawBuilder } from 'kysely';
import { storableJson } from '../ledger/text.ts';
import { ofMerchants } from './account-filter.ts';
import { arrayLiteral, type Db, rowsOf } from './engine/database.ts';

export interface MerchantEndRow {
  readonly merchantNo: string;
  readonly exitCode: number;
  readonly reads: boolean;
  readonly figures: object;
}

/** Records ends of merchants' parts of a run, in one statement. `ifWaiting`: only of those that have no end yet. */
export async function recordEnds(
  db: Db,
  ends: readonly MerchantEndRow[],
  run: {
    readonly runId: number;
    readonly holder: string;
    readonly now: Date;
    readonly ifWaiting?: boolean;
  },
): Promise<void> {
  if (ends.length === 0) return;
  const column = (value: (end: MerchantEndRow) => string | number) => arrayLiteral(ends.map(value));
  await sql`
    INSERT INTO run_merchant (merchant_no, run_id, exit_code, reads, holder, figures, finished_at)
    SELECT ended.merchant_no, ${run.runId}::bigint, ended.exit_code, ended.reads, ${run.holder}, ended.figures,
      ${run.now}::timestamptz
    FROM unnest(
      ${column(({ merchantNo }) => merchantNo)}::text[], ${column(({ exitCode }) => exitCode)}::integer[],
      ${column(({ reads }) => String(reads))}::boolean[], ${column(({ figures }) => storableJson(figures))}::jsonb[]
    ) AS ended (merchant_no, exit_code, reads, figures)
    ON CONFLICT (merchant_no, run_id) DO UPDATE
      SET exit_code = excluded.exit_code, reads = excluded.reads, holder = excluded.holder,
        figures = excluded.figures, finished_at = excluded.finished_at
      ${run.ifWaiting === true ? sql`WHERE run_merchant.exit_code IS NULL` : sql``}`.execute(db);
}

/**
 * Ends the merchant in later runs that wait for its job of this one, as it ended here: those that had begun when the job did,
 * so that it read what they would, and that read no more days back. Its figures count once, in the run that has the job.
 */
export async function endJoined(
  db: Db,
  {
    runId,
    merchantNo,
    begunAt,
  }: { readonly runId: number; readonly merchantNo: string; readonly begunAt: Date },
): Promise<void> {
  const lookback = (run: string) => sql`${sql.ref(`${run}.request`)}->>'lateSweepDays'`;
  await sql`
    UPDATE run_merchant AS joined
    SET exit_code = own.exit_code, reads = own.reads, holder = own.holder, finished_at = own.finished_at,
      figures = jsonb_build_object('reasons', coalesce(own.figures->'reasons', '[]')), joins = false
    FROM run_merchant own JOIN run done ON done.id = own.run_id, run later
    WHERE own.run_id = ${runId} AND own.merchant_no = ${merchantNo} AND own.exit_code IS NOT NULL
      AND joined.merchant_no = own.merchant_no AND joined.joins AND joined.exit_code IS NULL
      AND later.id = joined.run_id AND later.started_at <= ${begunAt}::timestamptz
      AND (${lookback('later')} IS NULL OR ${lookback('later')} = ${lookback('done')})`.execute(db);
}

export async function merchantsDoneInSlot(db: Db, job: string, slot: string): Promise<ReadonlySet<string>> {
  const rows = await rowsOf(db)<{ merchantNo: string }>`
    SELECT DISTINCT merchant_no AS "merchantNo" FROM run_merchant own JOIN run ON run.id = own.run_id
    WHERE run.slot = ${slot} AND run.command = ${job} AND own.exit_code IN (0, 3)`;
  return new Set(rows.map(({ merchantNo }) => merchantNo));
}

/** How many of these merchants' ledgers each of the runs has read. Runs that read none of them are left out. */
export async function countRead(
  db: Db,
  runs: readonly number[],
  merchants: readonly string[],
): Promise<ReadonlyMap<number, number>> {
  if (runs.length === 0) return new Map();
  const rows = await rowsOf(db)<{ runId: number; count: number }>`
    SELECT run_id AS "runId", count(*) AS count FROM run_merchant
    WHERE ${ofMerchants(merchants)} AND run_id = ANY (${arrayLiteral(runs)}::bigint[]) AND reads
    GROUP BY run_id`;
  return new Map(rows.map(({ runId, count }) => [runId, count]));
}

/** How many merchants the run is not done for, and the first few of them. */
export async function undoneInRun(
  db: Db,
  runId: number,
): Promise<{ readonly count: number; readonly merchants: readonly string[] }> {
  const rows = await rowsOf(db)<{ merchantNo: string; count: number }>`
    SELECT merchant_no AS "merchantNo", count(*) OVER () AS count FROM run_merchant
    WHERE run_id = ${runId} AND exit_code NOT IN (0, 3)
    ORDER BY merchant_no LIMIT 5`;
  return { count: rows[0]?.count ?? 0, merchants: rows.map(({ merchantNo }) => merchantNo) };
}

/** Whether merchants of a run wait for workers. */
export const hasWaiting = (runId: RawBuilder<number>): RawBuilder<boolean> => sql<boolean>`
  EXISTS (SELECT FROM run_merchant WHERE run_merchant.run_id = ${runId} AND run_merchant.exit_code IS NULL)`;

/** Runs that workers did, of which no merchant waits any more, and that have no end yet. */
export async function runsToFinish(db: Db): Promise<number[]> {
  const rows = await rowsOf(db)<{ id: number }>`
    SELECT id FROM run WHERE exit_code IS NULL AND request IS NOT NULL AND NOT ${hasWaiting(sql<number>`run.id`)} ORDER BY id`;
  return rows.map(({ id }) => id);
}
