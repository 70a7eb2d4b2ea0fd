/**
 * Stores tasks, the units of work: what runs do for their merchants, which waits until a worker or the run's process has done
 * it, and ranges of days that people asked for. Those of backfills are in src/run/backfill/tasks.ts.
 */
import { sql, type RawBuilder } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import { storableJson } from '../ledger/text.ts';
import { ofMerchants } from './account-filter.ts';
import { arrayLiteral, type Db, rowsOf } from './engine/database.ts';

export interface TaskEnd {
  readonly merchantNo: string;
  readonly exitCode: number;
  readonly reads: boolean;
  readonly figures: object;
}

/** Records ends of merchants' parts of a run, in one statement. `ifWaiting`: only of those that have no end yet. */
export async function endTasks(
  db: Db,
  ends: readonly TaskEnd[],
  run: {
    readonly runId: number;
    readonly holder: string;
    readonly now: Date;
    readonly ifWaiting?: boolean;
  },
): Promise<void> {
  if (ends.length === 0) return;
  const column = (value: (end: TaskEnd) => string | number) => arrayLiteral(ends.map(value));
  await sql`
    INSERT INTO task (kind, merchant_no, run_id, state, exit_code, reads, holder, figures, finished_at)
    SELECT 'run', ended.merchant_no, ${run.runId}::bigint, 'ended', ended.exit_code, ended.reads, ${run.holder}, ended.figures,
      ${run.now}::timestamptz
    FROM unnest(
      ${column(({ merchantNo }) => merchantNo)}::text[], ${column(({ exitCode }) => exitCode)}::integer[],
      ${column(({ reads }) => String(reads))}::boolean[], ${column(({ figures }) => storableJson(figures))}::jsonb[]
    ) AS ended (merchant_no, exit_code, reads, figures)
    ON CONFLICT (merchant_no, run_id) WHERE kind = 'run' DO UPDATE
      SET state = excluded.state, exit_code = excluded.exit_code, reads = excluded.reads, holder = excluded.holder,
        figures = excluded.figures, finished_at = excluded.finished_at
      ${run.ifWaiting === true ? sql`WHERE task.state = 'waiting'` : sql``}`.execute(db);
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
    UPDATE task AS joined
    SET state = own.state, exit_code = own.exit_code, reads = own.reads, holder = own.holder, finished_at = own.finished_at,
      figures = jsonb_build_object('reasons', coalesce(own.figures->'reasons', '[]')), joins = false
    FROM task own JOIN run done ON done.id = own.run_id, run later
    WHERE own.kind = 'run' AND own.run_id = ${runId} AND own.merchant_no = ${merchantNo} AND own.state = 'ended'
      AND joined.merchant_no = own.merchant_no AND joined.joins AND joined.state = 'waiting'
      AND later.id = joined.run_id AND later.started_at <= ${begunAt}::timestamptz
      AND (${lookback('later')} IS NULL OR ${lookback('later')} = ${lookback('done')})`.execute(db);
}

export async function merchantsDoneInSlot(db: Db, job: string, slot: string): Promise<ReadonlySet<string>> {
  const rows = await rowsOf(db)<{ merchantNo: string }>`
    SELECT DISTINCT merchant_no AS "merchantNo" FROM task JOIN run ON run.id = task.run_id
    WHERE task.kind = 'run' AND run.slot = ${slot} AND run.command = ${job} AND task.exit_code IN (0, 3)`;
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
    SELECT run_id AS "runId", count(*) AS count FROM task
    WHERE kind = 'run' AND ${ofMerchants(merchants)} AND run_id = ANY (${arrayLiteral(runs)}::bigint[]) AND reads
    GROUP BY run_id`;
  return new Map(rows.map(({ runId, count }) => [runId, count]));
}

/** How many merchants the run is not done for, and the first few of them. */
export async function undoneInRun(
  db: Db,
  runId: number,
): Promise<{ readonly count: number; readonly merchants: readonly string[] }> {
  const rows = await rowsOf(db)<{ merchantNo: string; count: number }>`
    SELECT merchant_no AS "merchantNo", count(*) OVER () AS count FROM task
    WHERE run_id = ${runId} AND kind = 'run' AND state = 'ended' AND exit_code NOT IN (0, 3)
    ORDER BY merchant_no LIMIT 5`;
  return { count: rows[0]?.count ?? 0, merchants: rows.map(({ merchantNo }) => merchantNo) };
}

/** Whether something of a run is still to be done. A range that was asked for with it outlives it. */
export const hasWaiting = (runId: RawBuilder<number>): RawBuilder<boolean> => sql<boolean>`
  EXISTS (SELECT FROM task WHERE task.run_id = ${runId} AND task.state = 'waiting' AND task.kind <> 'range')`;

/** A run of which nothing waits any more, and that has no end yet. */
export interface RunToFinish {
  readonly id: number;
  /** Whether workers did it. Else it is that of a backfill. */
  readonly isQueued: boolean;
}

export const runsToFinish = (db: Db) => rowsOf(db)<RunToFinish>`
    SELECT id, request IS NOT NULL AS "isQueued" FROM run WHERE exit_code IS NULL AND NOT ${hasWaiting(sql<number>`run.id`)}
      AND (request IS NOT NULL OR EXISTS (SELECT FROM task WHERE task.run_id = run.id AND task.kind = 'backfill'))
    ORDER BY id`;

/** Days that were asked for by date. Open until each is under certificate, or until a person gives them up. */
export interface RequestedRange {
  readonly id: number;
  readonly merchantNo: string;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly requestedAt: Date;
  readonly runId: number | null;
}

/** Stores what a run was asked to read. A range that is open already is not changed, and keeps the run that asked first. */
export async function recordRequestedRanges(
  db: Db,
  asked: {
    readonly merchants: readonly string[];
    readonly from: BusinessDay;
    readonly to: BusinessDay;
    readonly runId: number;
    readonly now: Date;
  },
): Promise<void> {
  const { merchants, from, to, runId, now } = asked;
  if (merchants.length === 0) return;
  await sql`
    INSERT INTO task (kind, number, state, merchant_no, from_day, to_day, requested_at, run_id)
    SELECT 'range', nextval('range_number'), 'waiting', merchant_no, ${from}::date, ${to}::date, ${now}::timestamptz, ${runId}::bigint
    FROM unnest(${arrayLiteral(merchants)}::text[]) WITH ORDINALITY AS merchant (merchant_no, nth)
    ORDER BY nth
    ON CONFLICT DO NOTHING`.execute(db);
}

/** Open ranges of the merchants, in the order in which they were asked for. Uses task_range_open. */
export const openRequestedRanges = (db: Db, merchants: readonly string[]) => rowsOf(db)<RequestedRange>`
  SELECT number AS id, merchant_no AS "merchantNo", from_day AS "from",
    to_day AS "to", requested_at AS "requestedAt", run_id AS "runId"
  FROM task WHERE ${ofMerchants(merchants)} AND kind = 'range' AND state = 'waiting' ORDER BY number`;

/** Closes open ranges: all their days are under certificate, or a person gave them up. Returns how many were open. */
export async function closeRanges(
  db: Db,
  ids: readonly number[],
  { state, now }: { readonly state: 'ended' | 'cancelled'; readonly now: Date },
): Promise<number> {
  if (ids.length === 0) return 0;
  const { numUpdatedRows } = await db
    .updateTable('task')
    .set({ state, exit_code: state === 'ended' ? 0 : null, finished_at: now })
    .where('kind', '=', sql.lit('range'))
    .where('state', '=', sql.lit('waiting'))
    .where('number', '=', sql<number>`ANY (${[...ids]}::bigint[])`)
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}
