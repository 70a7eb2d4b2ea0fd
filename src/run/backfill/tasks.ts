/**
 * Stores backfills as tasks. One task waits for each merchant with days left. What is done of it is cut off as a task of its
 * own, a slice; the last slice is the rest of it. So one task a merchant has the last day of the backfill.
 */
import { sql, type Kysely, type Transaction } from 'kysely';
import { storableText } from '../../ledger/text.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import { ofMerchants } from '../../store/account-filter.ts';
import { arrayLiteral } from '../../store/engine/database.ts';
import type { DB } from '../../store/engine/schema.ts';
import type { DayRange } from '../range.ts';

export interface OpenPart {
  readonly backfillId: number;
  readonly runId: number;
  readonly merchantNo: string;
  /** First day of the next slice. */
  readonly nextDay: BusinessDay;
  readonly toDay: BusinessDay;
  readonly tries: number;
  /** The next slice is not begun before this time. */
  readonly tryAt: Date;
}

interface Asked extends DayRange {
  readonly merchants: readonly string[];
}

/**
 * Records a backfill whose slices write under the run `runId`, or adds merchants to it. Returns its number. Open parts of
 * other backfills with the very same days of a merchant end with this, as it takes their place.
 */
export async function recordBackfill(
  db: Kysely<DB>,
  { from, to, merchants, runId, now }: Asked & { readonly runId: number; readonly now: Date },
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    WITH own AS (
      SELECT coalesce((SELECT max(number) FROM task WHERE run_id = ${runId} AND kind = 'backfill'), nextval('backfill_number')) AS id
    ), asked AS (
      SELECT merchant_no FROM unnest(${arrayLiteral(merchants)}::text[]) AS one (merchant_no)
    ), replaced AS (
      UPDATE task SET state = 'left-out', finished_at = ${now}, problem = 'another backfill took its place'
      FROM run WHERE run.id = task.run_id AND run.id <> ${runId} AND task.kind = 'backfill' AND task.state = 'waiting'
        AND run.from_day = ${from}::date AND task.to_day = ${to}::date AND merchant_no IN (SELECT merchant_no FROM asked)
    ), parts AS (
      INSERT INTO task (kind, state, number, run_id, merchant_no, from_day, to_day, not_before, requested_at)
      SELECT 'backfill', 'waiting', id, ${runId}::bigint, merchant_no, ${from}::date, ${to}::date, ${now}::timestamptz,
        ${now}::timestamptz FROM own, asked
    )
    SELECT id FROM own`.execute(db);
  return rows[0]!.id;
}

const openParts = (db: Kysely<DB>) =>
  db
    .selectFrom('task')
    .select([
      'number as backfillId',
      'run_id as runId',
      'merchant_no as merchantNo',
      'task.from_day as nextDay',
      'task.to_day as toDay',
      'attempts as tries',
      'not_before as tryAt',
    ])
    .where('kind', '=', sql.lit('backfill'))
    .where('state', '=', sql.lit('waiting'))
    .orderBy('number')
    .orderBy('merchant_no')
    .$castTo<OpenPart>();

/** Parts with a slice to do now: the oldest backfill first, and of it merchant by merchant. */
export const partsToDo = (
  db: Kysely<DB>,
  asked: Readonly<{ now: Date; limit: number; backfillId?: number | undefined; without?: string[] }>,
): Promise<OpenPart[]> => {
  const { now, limit, backfillId, without = [] } = asked;
  return openParts(db)
    .where('not_before', '<=', now)
    .$if(backfillId !== undefined, (query) => query.where('number', '=', backfillId!))
    .$if(without.length > 0, (query) => query.where('merchant_no', 'not in', without))
    .limit(limit)
    .execute();
};

/** What is left of the backfill of run `runId` for a merchant; undefined if nothing is. */
export const openPart = (
  db: Kysely<DB>,
  { runId, merchantNo }: Pick<OpenPart, 'runId' | 'merchantNo'>,
): Promise<OpenPart | undefined> =>
  openParts(db).where('run_id', '=', runId).where('merchant_no', '=', merchantNo).executeTakeFirst();

export const openPartsOf = (db: Kysely<DB>, merchants: readonly string[]): Promise<OpenPart[]> =>
  openParts(db).where(ofMerchants(merchants)).execute();

/** An open backfill of these very days for one of the merchants; undefined if there is none. */
export async function sameBackfill(
  db: Kysely<DB>,
  { from, to, merchants }: Asked,
): Promise<{ readonly id: number; readonly merchantNo: string } | undefined> {
  const row = await openParts(db)
    .innerJoin('run', 'run.id', 'task.run_id')
    .where('run.from_day', '=', from)
    .where('task.to_day', '=', to)
    .where(ofMerchants(merchants))
    .limit(1)
    .executeTakeFirst();
  return row && { id: row.backfillId, merchantNo: row.merchantNo };
}

export interface DoneSlice extends DayRange {
  readonly exitCode: number;
  readonly holder: string;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/**
 * Stores that the next slice of a part is done. Call it in a transaction that holds the merchant's lease: so no slice is
 * stored twice. Does nothing if the part has ended meanwhile, as it was cancelled.
 */
export async function storeSlice(
  trx: Transaction<DB>,
  { merchantNo, backfillId, nextDay }: OpenPart,
  { from, to, exitCode, holder, startedAt, finishedAt }: DoneSlice,
): Promise<void> {
  const isNext = sql`kind = 'backfill' AND state = 'waiting' AND number = ${backfillId} AND merchant_no = ${merchantNo}
    AND from_day = ${nextDay}::date`;
  await sql`
    WITH rest AS (
      UPDATE task SET from_day = ${to}::date + 1, attempts = 0, problem = NULL, not_before = ${finishedAt}
      WHERE ${isNext} AND to_day > ${to}::date
      RETURNING run_id, requested_at
    ), last AS (
      UPDATE task SET state = 'ended', attempts = 0, problem = NULL, exit_code = ${exitCode}, holder = ${holder},
        started_at = ${startedAt}, finished_at = ${finishedAt}
      WHERE ${isNext} AND to_day <= ${to}::date
    )
    INSERT INTO task (kind, state, number, run_id, merchant_no, from_day, to_day, requested_at, exit_code, holder, started_at,
      finished_at)
    SELECT 'backfill', 'ended', ${backfillId}::bigint, run_id, ${merchantNo}, ${from}::date, ${to}::date, requested_at, ${exitCode}::int,
      ${holder}, ${startedAt}::timestamptz, ${finishedAt}::timestamptz
    FROM rest`.execute(trx);
}

const waiting = (db: Kysely<DB>, backfillId: number) =>
  db
    .updateTable('task')
    .where('kind', '=', sql.lit('backfill'))
    .where('state', '=', sql.lit('waiting'))
    .where('number', '=', backfillId);

const waitingOf = (db: Kysely<DB>, { merchantNo, backfillId }: OpenPart) =>
  waiting(db, backfillId).where('merchant_no', '=', merchantNo);

/**
 * The next slice of a part is tried again at `tryAt`. With a problem, that counts as a failure; null: it was not tried,
 * as the merchant was busy. Does nothing if somebody else did the slice meanwhile.
 */
export async function putOff(
  db: Kysely<DB>,
  part: OpenPart,
  { tryAt, problem }: { readonly tryAt: Date; readonly problem: string | null },
): Promise<void> {
  await waitingOf(db, part)
    .set({
      not_before: tryAt,
      ...(problem === null ? {} : { problem: storableText(problem), attempts: part.tries + 1 }),
    })
    .where('from_day', '=', part.nextDay)
    .where('attempts', '=', part.tries)
    .execute();
}

/** Ends a part whose days are not read, and stores why. */
export async function leaveOut(
  db: Kysely<DB>,
  part: OpenPart,
  { problem, now }: { readonly problem: string; readonly now: Date },
): Promise<void> {
  await waitingOf(db, part)
    .set({ state: 'left-out', finished_at: now, problem: storableText(problem) })
    .execute();
}

/** Cancels an open backfill. Slices that are done stay. Returns its run; null if no open backfill has the number. */
export async function cancelParts(trx: Transaction<DB>, id: number, now: Date): Promise<number | null> {
  const cancelled = waiting(trx, id).set({ state: 'cancelled', finished_at: now }).returning('run_id');
  const [row] = await cancelled.execute();
  return row?.run_id ?? null;
}

export interface BackfillProgress extends DayRange {
  readonly id: number;
  readonly runId: number;
  readonly isRun: boolean;
  readonly requestedAt: Date;
  /** Null while it is open. */
  readonly endedAt: Date | null;
  readonly isCancelled: boolean;
  readonly merchants: number;
  readonly merchantsLeft: number;
  readonly daysDone: number;
  /** Days of all merchants that are still to be done; 0 once it has ended. */
  readonly daysLeft: number;
  readonly failing: number;
}

/** Backfills, the newest first. `isOpen`: only those with days left. Reads one row a merchant, however many slices are done. */
export async function listBackfills(
  db: Kysely<DB>,
  { isOpen = false, id }: { readonly isOpen?: boolean; readonly id?: number } = {},
): Promise<BackfillProgress[]> {
  const { rows } = await sql<BackfillProgress>`
    WITH asked AS (
      SELECT DISTINCT number FROM task WHERE kind = 'backfill'
        AND ${isOpen ? sql`state = 'waiting'` : sql`true`} AND ${id === undefined ? sql`true` : sql`number = ${id}`}
    ), known AS (
      SELECT number, (SELECT max(to_day) FROM task WHERE kind = 'backfill' AND task.number = asked.number) AS to_day FROM asked
    )
    SELECT number AS id, run.from_day AS "from", known.to_day AS "to", run.id AS "runId", run.command = 'run' AS "isRun",
      min(requested_at) AS "requestedAt",
      CASE WHEN bool_or(state = 'waiting') THEN NULL ELSE max(task.finished_at) END AS "endedAt",
      bool_or(state = 'cancelled') AS "isCancelled", count(*) AS merchants,
      count(*) FILTER (WHERE state = 'waiting') AS "merchantsLeft",
      sum(CASE state WHEN 'ended' THEN task.to_day + 1 ELSE task.from_day END - run.from_day)::bigint AS "daysDone",
      coalesce(sum(task.to_day - task.from_day + 1) FILTER (WHERE state = 'waiting'), 0)::bigint AS "daysLeft",
      count(*) FILTER (WHERE state = 'waiting' AND attempts > 0) AS failing
    FROM known JOIN task USING (number, to_day) JOIN run ON run.id = task.run_id
    WHERE kind = 'backfill' GROUP BY number, run.id, known.to_day ORDER BY number DESC`.execute(db);
  return rows;
}

export interface FailingMerchant extends Pick<OpenPart, 'merchantNo' | 'nextDay' | 'tries' | 'tryAt'> {
  readonly problem: string;
}

export const failingMerchants = (
  db: Kysely<DB>,
  backfillId: number,
  limit: number,
): Promise<FailingMerchant[]> =>
  openParts(db)
    .clearSelect()
    .select(['merchant_no as merchantNo', 'from_day as nextDay', 'attempts as tries', 'problem'])
    .select('not_before as tryAt')
    .where('number', '=', backfillId)
    .where('attempts', '>', 0)
    .limit(limit)
    .$castTo<FailingMerchant>()
    .execute();

const RATE_SLICES = 100;

/** What the last slices of a backfill did, all together. */
export interface RecentSlices {
  readonly days: number;
  /** When the first of them began, and when the last one was done; null if no slice is done. */
  readonly beganAt: Date | null;
  readonly doneAt: Date | null;
}

export async function recentSlices(db: Kysely<DB>, backfillId: number): Promise<RecentSlices> {
  const { rows } = await sql<RecentSlices>`
    SELECT coalesce(sum(to_day - from_day + 1), 0)::bigint AS days, min(started_at) AS "beganAt", max(finished_at) AS "doneAt"
    FROM (
      SELECT from_day, to_day, started_at, finished_at FROM task
      WHERE number = ${backfillId} AND kind = 'backfill' AND state = 'ended' ORDER BY finished_at DESC LIMIT ${RATE_SLICES}
    ) AS last`.execute(db);
  return rows[0]!;
}

export async function merchantsOfBackfill(db: Kysely<DB>, runId: number): Promise<string[]> {
  const rows = await db
    .selectFrom('task')
    .select('merchant_no')
    .distinct()
    .where('run_id', '=', runId)
    .where('kind', '=', 'backfill')
    .orderBy('merchant_no')
    .execute();
  return rows.map((row) => row.merchant_no);
}

export interface SliceTotals {
  /** The backfill's number; null if the run has none. */
  readonly backfill: number | null;
  readonly slices: number;
  readonly days: number;
  readonly needPerson: number;
}

export async function sliceTotals(db: Kysely<DB>, runId: number): Promise<SliceTotals> {
  const { rows } = await sql<SliceTotals>`
    SELECT max(number) AS backfill, count(*) FILTER (WHERE state = 'ended') AS slices,
      coalesce(sum(to_day - from_day + 1) FILTER (WHERE state = 'ended'), 0)::bigint AS days,
      count(*) FILTER (WHERE exit_code <> 0) AS "needPerson"
    FROM task WHERE run_id = ${runId} AND kind = 'backfill'`.execute(db);
  return rows[0]!;
}
