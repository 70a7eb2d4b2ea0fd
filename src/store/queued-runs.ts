/** Stores runs that workers do: one row, and one for each merchant, which waits until a worker has done it. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import { storableJson, type MerchantEndRow } from './run-merchants.ts';
import type { DB, JsonObject } from './engine/schema.ts';

export interface QueuedRunRow {
  readonly id: number;
  /** What the run was asked for. */
  readonly request: JsonObject;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly startedAt: Date;
  /** Null while it is open. */
  readonly exitCode: number | null;
}

/** Makes these merchants wait in a run that workers do, and stores what it was asked for. */
export async function queueRun(
  trx: Transaction<DB>,
  runId: number,
  request: object,
  merchants: readonly string[],
): Promise<void> {
  await trx
    .updateTable('run')
    .set({ request: storableJson(request) })
    .where('id', '=', runId)
    .execute();
  await sql`
    INSERT INTO run_merchant (merchant_no, run_id, state)
    SELECT merchant_no, ${runId}::bigint, 'waiting' FROM unnest(${arrayLiteral(merchants)}::text[]) AS one (merchant_no)`.execute(
    trx,
  );
}

/** The run, if it is one that workers do. */
export async function queuedRun(db: Kysely<DB>, runId: number): Promise<QueuedRunRow | undefined> {
  const row = await db
    .selectFrom('run')
    .select([
      'id',
      'request',
      'from_day as from',
      'to_day as to',
      'started_at as startedAt',
      'exit_code as exitCode',
    ])
    .where('id', '=', runId)
    .where('request', 'is not', null)
    .executeTakeFirst();
  return row as QueuedRunRow | undefined;
}

/** Queued runs of this slot that are open. */
export async function openRunOfSlot(db: Kysely<DB>, job: string, slot: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('run')
    .select('id')
    .where('slot', '=', slot)
    .where('command', '=', job)
    .where('request', 'is not', null)
    .where('exit_code', 'is', null)
    .orderBy('id')
    .executeTakeFirst();
  return row?.id;
}

/** Another queued run that is open and began after this moment. */
export async function openRunSince(db: Kysely<DB>, since: Date): Promise<number | undefined> {
  const row = await db
    .selectFrom('run')
    .select('id')
    .where('request', 'is not', null)
    .where('exit_code', 'is', null)
    .where('started_at', '>', since)
    .orderBy('id')
    .executeTakeFirst();
  return row?.id;
}

/** One process at a time checks a slot of a job and puts it on the queue. Until the transaction ends. */
export async function lockSlot(trx: Transaction<DB>, job: string, slot: string): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`daybook slot ${job} ${slot}`}, 0))`.execute(trx);
}

/** The end of a merchant that was not worked on. */
export type UndoneEnd = Omit<MerchantEndRow, 'reads'>;

/** Ends merchants that were not worked on, as far as they still wait, all in one statement. */
export async function endWaiting(
  db: Kysely<DB>,
  ends: readonly UndoneEnd[],
  run: { readonly runId: number; readonly holder: string; readonly now: Date },
): Promise<void> {
  if (ends.length === 0) return;
  const column = (value: (end: UndoneEnd) => string | number) => arrayLiteral(ends.map(value));
  await sql`
    UPDATE run_merchant SET state = 'ended', exit_code = ended.exit_code, holder = ${run.holder},
      figures = ended.figures, finished_at = ${run.now}::timestamptz
    FROM unnest(
      ${column(({ merchantNo }) => merchantNo)}::text[], ${column(({ exitCode }) => exitCode)}::integer[],
      ${column(({ figures }) => storableJson(figures))}::jsonb[]
    ) AS ended (merchant_no, exit_code, figures)
    WHERE run_merchant.run_id = ${run.runId} AND run_merchant.merchant_no = ended.merchant_no AND state = 'waiting'`.execute(
    db,
  );
}

/** How many merchants of the run a worker has yet to do. */
export async function waitingInRun(db: Kysely<DB>, runId: number): Promise<number> {
  const { count } = await db
    .selectFrom('run_merchant')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('run_id', '=', runId)
    .where('state', '=', 'waiting')
    .executeTakeFirstOrThrow();
  return count;
}

/** The end of a queued run. False if it has one already, or if one of its merchants still waits. */
export async function finishQueued(
  db: Kysely<DB>,
  runId: number,
  end: { readonly exitCode: number; readonly figures: object; readonly now: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('run')
    .set({ exit_code: end.exitCode, figures: storableJson(end.figures), finished_at: end.now })
    .where('id', '=', runId)
    .where('exit_code', 'is', null)
    .where((run) =>
      run.not(
        run.exists(
          run
            .selectFrom('run_merchant')
            .select('run_id')
            .where('run_id', '=', runId)
            .where('state', '=', 'waiting'),
        ),
      ),
    )
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** How the merchants of a run ended, all together. */
export interface RunTotals {
  /** Merchants whose ledger was read. */
  readonly merchants: readonly string[];
  /** Those of them that ended well. */
  readonly merchantsDone: readonly string[];
  readonly exitCodes: readonly number[];
  /** The sum of each figure that is a number, and the largest. */
  readonly sums: Readonly<Record<string, number>>;
  readonly largest: Readonly<Record<string, number>>;
}

export async function runTotals(db: Kysely<DB>, runId: number): Promise<RunTotals> {
  const { rows: merchants } = await sql<{ merchantNo: string; exitCode: number; reads: boolean }>`
    SELECT merchant_no AS "merchantNo", exit_code AS "exitCode", reads FROM run_merchant
    WHERE run_id = ${runId} AND state = 'ended' ORDER BY merchant_no`.execute(db);
  const { rows: figures } = await sql<{ name: string; sum: number; largest: number }>`
    SELECT name, sum(value::bigint)::bigint AS sum, max(value::bigint) AS largest
    FROM run_merchant CROSS JOIN LATERAL jsonb_each(figures) AS figure (name, value)
    WHERE run_id = ${runId} AND jsonb_typeof(value) = 'number' GROUP BY name`.execute(db);
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
  /** How many merchants ended with it. */
  readonly count: number;
  /** The first of them. */
  readonly merchants: readonly string[];
}

/** The reasons of all merchants of the run, each once, the most severe and the most frequent first. */
export async function runReasons(
  db: Kysely<DB>,
  runId: number,
  { limit, named }: { readonly limit: number; readonly named: number },
): Promise<MerchantsReason[]> {
  const { rows } = await sql<MerchantsReason>`
    SELECT (reason->>'exitCode')::int AS "exitCode", reason->>'what' AS what, reason->>'todo' AS todo,
      bool_or(reason ? 'merchantNo') AS "isNamed", bool_and(reason ? 'awaitsPerson') AS "awaitsPerson", count(*) AS count,
      (array_agg(merchant_no ORDER BY merchant_no))[1:${sql.lit(named)}] AS merchants
    FROM run_merchant CROSS JOIN LATERAL jsonb_array_elements(
      CASE WHEN jsonb_typeof(figures->'reasons') = 'array' THEN figures->'reasons' ELSE '[]' END) AS one (reason)
    WHERE run_id = ${runId}
    GROUP BY 1, 2, 3
    ORDER BY CASE (reason->>'exitCode')::int WHEN 70 THEN 1 WHEN 2 THEN 2 WHEN 4 THEN 3 WHEN 5 THEN 4 WHEN 3 THEN 5 ELSE 6 END,
      count(*) DESC, 2
    LIMIT ${limit}`.execute(db);
  return rows;
}
