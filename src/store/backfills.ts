/** Stores backfills: ranges of days that are read slice by slice, and how far each is for each of its merchants. */
import { sql, type Kysely, type Transaction } from 'kysely';
import { storableText } from '../ledger/text.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { ofMerchants } from './account-filter.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';

/** What is left of a backfill for one merchant. */
export interface OpenPart {
  readonly backfillId: number;
  readonly runId: number;
  readonly merchantNo: string;
  /** First day of the next slice. */
  readonly nextDay: BusinessDay;
  /** Last day of the backfill. */
  readonly toDay: BusinessDay;
  /** How often the next slice has failed. */
  readonly tries: number;
}

/**
 * Records a backfill whose slices write under the run `runId`, or adds merchants to it. Returns its number. Open parts of
 * other backfills with the very same days of a merchant end with this, as it takes their place.
 */
export async function recordBackfill(
  db: Kysely<DB>,
  asked: {
    readonly from: BusinessDay;
    readonly to: BusinessDay;
    readonly merchants: readonly string[];
    readonly runId: number;
    readonly now: Date;
  },
): Promise<number> {
  const { from, to, merchants, runId, now } = asked;
  const { rows } = await sql<{ id: number }>`
    WITH own AS (
      INSERT INTO backfill (from_day, to_day, run_id, requested_at)
      VALUES (${from}::date, ${to}::date, ${runId}, ${now})
      ON CONFLICT (run_id) DO UPDATE SET ended_at = NULL
      RETURNING id
    ), asked AS (
      SELECT merchant_no FROM unnest(${arrayLiteral(merchants)}::text[]) AS one (merchant_no)
    ), replaced AS (
      UPDATE backfill_merchant part SET ended_at = ${now}, problem = 'another backfill took its place'
      FROM backfill WHERE backfill.id = part.backfill_id AND part.ended_at IS NULL AND backfill.run_id <> ${runId}
        AND from_day = ${from}::date AND to_day = ${to}::date AND merchant_no IN (SELECT merchant_no FROM asked)
    ), parts AS (
      INSERT INTO backfill_merchant (merchant_no, backfill_id, next_day, try_at)
      SELECT merchant_no, id, ${from}::date, ${now}::timestamptz FROM own, asked
    )
    SELECT id FROM own`.execute(db);
  return rows[0]!.id;
}

const openParts = (db: Kysely<DB>) =>
  db
    .selectFrom('backfill_merchant')
    .innerJoin('backfill', 'backfill.id', 'backfill_merchant.backfill_id')
    .select([
      'backfill_id as backfillId',
      'run_id as runId',
      'merchant_no as merchantNo',
      'next_day as nextDay',
      'to_day as toDay',
      'tries',
    ])
    .where('backfill_merchant.ended_at', 'is', null);

export interface PartsAsked {
  readonly now: Date;
  readonly limit: number;
  /** Only of this backfill. */
  readonly backfillId?: number | undefined;
  /** Not of these merchants. */
  readonly without?: readonly string[];
}

/** Parts with a slice to do now: the oldest backfill first, and of it merchant by merchant. */
export const partsToDo = (
  db: Kysely<DB>,
  { now, limit, backfillId, without = [] }: PartsAsked,
): Promise<OpenPart[]> =>
  openParts(db)
    .where('try_at', '<=', now)
    .$if(backfillId !== undefined, (query) => query.where('backfill_id', '=', backfillId!))
    .$if(without.length > 0, (query) => query.where('merchant_no', 'not in', [...without]))
    .orderBy('backfill_id')
    .orderBy('merchant_no')
    .limit(limit)
    .execute();

/** What is left of the backfill of run `runId` for a merchant; undefined if nothing is. */
export const openPart = (
  db: Kysely<DB>,
  { runId, merchantNo }: Pick<OpenPart, 'runId' | 'merchantNo'>,
): Promise<(OpenPart & { readonly tryAt: Date }) | undefined> =>
  openParts(db)
    .select('try_at as tryAt')
    .where('run_id', '=', runId)
    .where('merchant_no', '=', merchantNo)
    .executeTakeFirst();

/** What is left of all backfills of these merchants. */
export const openPartsOf = (db: Kysely<DB>, merchants: readonly string[]): Promise<OpenPart[]> =>
  openParts(db).where(ofMerchants(merchants)).orderBy('backfill_id').execute();

/** A slice that is done. */
export interface DoneSlice {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly exitCode: number;
  readonly holder: string;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/**
 * Stores that the next slice of a part is done. Call it in a transaction that holds the merchant's lease: so no slice is
 * stored twice. Does nothing if the part has ended meanwhile, as it was cancelled.
 */
export async function storeSlice(trx: Transaction<DB>, part: OpenPart, slice: DoneSlice): Promise<void> {
  const { merchantNo, backfillId, nextDay } = part;
  const { from, to, exitCode, holder, startedAt, finishedAt } = slice;
  const { rows } = await sql`
    UPDATE backfill_merchant SET next_day = ${to}::date + 1, tries = 0, problem = NULL, try_at = ${finishedAt},
      ended_at = CASE WHEN ${to}::date >= ${part.toDay}::date THEN ${finishedAt}::timestamptz END
    WHERE merchant_no = ${merchantNo} AND backfill_id = ${backfillId} AND next_day = ${nextDay}::date AND ended_at IS NULL
    RETURNING 1`.execute(trx);
  if (rows.length === 0) return;
  await trx
    .insertInto('backfill_slice')
    .values({
      merchant_no: merchantNo,
      backfill_id: backfillId,
      from_day: from,
      to_day: to,
      exit_code: exitCode,
      holder,
      started_at: startedAt,
      finished_at: finishedAt,
    })
    .execute();
}

/**
 * The next slice of a part is tried again at `tryAt`. With a problem, that counts as a failure; null: it was not tried,
 * as the merchant was busy. Does nothing if somebody else did the slice meanwhile.
 */
export async function putOff(
  db: Kysely<DB>,
  { merchantNo, backfillId, nextDay, tries }: OpenPart,
  { tryAt, problem }: { readonly tryAt: Date; readonly problem: string | null },
): Promise<void> {
  await db
    .updateTable('backfill_merchant')
    .set({
      try_at: tryAt,
      ...(problem === null ? {} : { problem: storableText(problem), tries: tries + 1 }),
    })
    .where('merchant_no', '=', merchantNo)
    .where('backfill_id', '=', backfillId)
    .where('next_day', '=', nextDay)
    .where('tries', '=', tries)
    .where('ended_at', 'is', null)
    .execute();
}

/** Ends a part whose days are not read, and stores why. */
export async function leaveOut(
  db: Kysely<DB>,
  { merchantNo, backfillId }: OpenPart,
  { problem, now }: { readonly problem: string; readonly now: Date },
): Promise<void> {
  await db
    .updateTable('backfill_merchant')
    .set({ ended_at: now, problem: storableText(problem) })
    .where('merchant_no', '=', merchantNo)
    .where('backfill_id', '=', backfillId)
    .where('ended_at', 'is', null)
    .execute();
}

/** Cancels an open backfill. Slices that are done stay. Returns its run; null if no open backfill has the number. */
export async function cancelBackfill(trx: Transaction<DB>, id: number, now: Date): Promise<number | null> {
  const row = await trx
    .updateTable('backfill')
    .set({ ended_at: now, is_cancelled: true })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .returning('run_id')
    .executeTakeFirst();
  if (row === undefined) return null;
  await trx
    .updateTable('backfill_merchant')
    .set({ ended_at: now })
    .where('backfill_id', '=', id)
    .where('ended_at', 'is', null)
    .execute();
  return row.run_id;
}

/** A backfill that has just ended. */
export interface EndedBackfill {
  readonly id: number;
  readonly runId: number;
}

/** Ends the open backfills of which nothing is left. Of several processes that ask, one gets each of them. */
export async function endDoneBackfills(trx: Transaction<DB>, now: Date): Promise<EndedBackfill[]> {
  const { rows } = await sql<EndedBackfill>`
    UPDATE backfill SET ended_at = ${now}
    WHERE ended_at IS NULL AND NOT EXISTS (
      SELECT FROM backfill_merchant part WHERE part.backfill_id = backfill.id AND part.ended_at IS NULL)
    RETURNING id, run_id AS "runId"`.execute(trx);
  return rows;
}
