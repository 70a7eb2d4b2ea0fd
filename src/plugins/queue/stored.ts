/** Runs that workers do, in the tables of runs and their merchants: what each was asked for, what of it waits, and what came of it. */
import { sql } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import { storableJson } from '../../ledger/text.ts';
import type { RunRequest } from '../../run/active-run.ts';
import type { DueJob } from '../../run/schedule/due.ts';
import { arrayLiteral, lockNamed, type Db, type Trx, rowsOf } from '../../store/engine/database.ts';
import type { RunRow } from '../../store/runs.ts';
import { hasWaiting } from '../../store/run-merchants.ts';

/** What a run that workers do was asked for. Its merchants have rows, their tokens nowhere but in `merchant`. */
export interface QueuedRequest extends Pick<RunRequest, 'command' | 'range' | 'currencies' | 'notRead'> {
  readonly scheduled: DueJob | null;
  /** As in `RunDeps`; null if there is no such sweep. */
  readonly lateSweepDays: number | null;
}

/** Makes these merchants wait in a run that workers do, and stores what it was asked for. */
export async function queueMerchants(
  trx: Trx,
  runId: number,
  request: QueuedRequest,
  merchants: readonly string[],
): Promise<void> {
  await trx
    .updateTable('run')
    .set({ request: storableJson(request) })
    .where('id', '=', runId)
    .execute();
  await sql`
    INSERT INTO run_merchant (merchant_no, run_id)
    SELECT merchant_no, ${runId}::bigint
      FROM unnest(${arrayLiteral(merchants)}::text[]) AS one (merchant_no)`.execute(trx);
}

interface QueuedRunRow extends Pick<RunRow, 'id' | 'startedAt' | 'exitCode'> {
  readonly request: QueuedRequest;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  /** Whether a worker has yet to do one of its merchants. */
  readonly isWaiting: boolean;
}

const queuedRuns = (db: Db) => db.selectFrom('run').where('request', 'is not', null);

export const queuedRun = (db: Db, runId: number): Promise<QueuedRunRow | undefined> =>
  queuedRuns(db)
    .select([
      'id',
      'request',
      'from_day as from',
      'to_day as to',
      'started_at as startedAt',
      'exit_code as exitCode',
      hasWaiting(sql<number>`run.id`).as('isWaiting'),
    ])
    .$castTo<QueuedRunRow>()
    .where('id', '=', runId)
    .executeTakeFirst();

const oldestOpen = (db: Db) =>
  queuedRuns(db).select('id').where('exit_code', 'is', null).orderBy('id').limit(1);

/** The queued run of this slot that is open. */
export async function openRunOfSlot(db: Db, job: string, slot: string): Promise<number | undefined> {
  const run = oldestOpen(db).where('slot', '=', slot).where('command', '=', job);
  return (await run.executeTakeFirst())?.id;
}

/** A queued run that is open and began after this moment. */
export async function openRunSince(db: Db, since: Date): Promise<number | undefined> {
  return (await oldestOpen(db).where('started_at', '>', since).executeTakeFirst())?.id;
}

/** One process at a time checks a slot of a job and puts it on the queue. Until the transaction ends. */
export async function lockSlot(trx: Trx, job: string, slot: string): Promise<void> {
  await lockNamed(trx, `daybook slot ${job} ${slot}`);
}

/** Makes these merchants of the run wait for their jobs of earlier runs. */
export async function joinEarlierJobs(trx: Trx, runId: number, merchants: readonly string[]): Promise<void> {
  if (merchants.length === 0) return;
  await sql`
    UPDATE run_merchant SET joins = true
    WHERE run_id = ${runId} AND merchant_no = ANY (${arrayLiteral(merchants)}::text[])`.execute(trx);
}

/** The exit code of the merchant's part of the run, null while it waits; undefined if it is none of the run's. */
export async function merchantExitCode(
  db: Db,
  runId: number,
  merchantNo: string,
): Promise<number | null | undefined> {
  const [part] = await rowsOf(db)<{ exitCode: number | null }>`
    SELECT exit_code AS "exitCode" FROM run_merchant
    WHERE run_id = ${runId} AND merchant_no = ${merchantNo}`;
  return part?.exitCode;
}

interface RunTotals {
  readonly merchants: readonly string[];
  readonly merchantsDone: readonly string[];
  readonly exitCodes: readonly number[];
  /** The sum of each figure that is a number, and the largest. */
  readonly sums: Readonly<Record<string, number>>;
  readonly largest: Readonly<Record<string, number>>;
}

export async function runTotals(db: Db, runId: number): Promise<RunTotals> {
  const merchants = await rowsOf(db)<{ merchantNo: string; exitCode: number; reads: boolean }>`
    SELECT merchant_no AS "merchantNo", exit_code AS "exitCode", reads FROM run_merchant
    WHERE run_id = ${runId} AND exit_code IS NOT NULL ORDER BY merchant_no`;
  const figures = await rowsOf(db)<{ name: string; sum: number; largest: number }>`
    SELECT name, sum(value::bigint)::bigint AS sum, max(value::bigint) AS largest
    FROM run_merchant CROSS JOIN LATERAL jsonb_each(figures) AS figure (name, value)
    WHERE run_id = ${runId} AND jsonb_typeof(value) = 'number' GROUP BY name`;
  const read = merchants.filter(({ reads }) => reads);
  const named = (rows: typeof merchants): string[] => rows.map(({ merchantNo }) => merchantNo);
  return {
    merchants: named(read),
    merchantsDone: named(read.filter(({ exitCode }) => exitCode === 0 || exitCode === 3)),
    exitCodes: [...new Set(merchants.map(({ exitCode }) => exitCode))],
    sums: Object.fromEntries(figures.map(({ name, sum }) => [name, sum])),
    largest: Object.fromEntries(figures.map(({ name, largest }) => [name, largest])),
  };
}

/** A reason that merchants of a run ended with, as their rows have it. */
export interface MerchantsReason {
  readonly exitCode: number;
  readonly what: string;
  readonly todo: string | null;
  /** Whether the sentence names its merchant. */
  readonly isNamed: boolean;
  /** Whether another try ends the same. */
  readonly awaitsPerson: boolean;
  readonly count: number;
  readonly merchants: readonly string[];
}

/** The reasons of all merchants of the run, each once, the most severe and the most frequent first. */
export const runReasons = (
  db: Db,
  runId: number,
  { limit, named }: { readonly limit: number; readonly named: number },
) => rowsOf(db)<MerchantsReason>`
    SELECT (reason->>'exitCode')::int AS "exitCode", reason->>'what' AS what, reason->>'todo' AS todo,
      bool_or(reason ? 'merchantNo') AS "isNamed", bool_and(reason ? 'awaitsPerson') AS "awaitsPerson", count(*) AS count,
      (array_agg(merchant_no ORDER BY merchant_no))[1:${sql.lit(named)}] AS merchants
    FROM run_merchant CROSS JOIN LATERAL jsonb_array_elements(
      CASE WHEN jsonb_typeof(figures->'reasons') = 'array' THEN figures->'reasons' ELSE '[]' END) AS one (reason)
    WHERE run_id = ${runId}
    GROUP BY 1, 2, 3
    ORDER BY CASE (reason->>'exitCode')::int WHEN 70 THEN 1 WHEN 2 THEN 2 WHEN 4 THEN 3 WHEN 5 THEN 4 WHEN 3 THEN 5 ELSE 6 END,
      count(*) DESC, 2
    LIMIT ${limit}`;
