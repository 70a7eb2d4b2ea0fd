/** Says how far backfills are: days done and left, and what their failed slices said. */
import { sql, type Kysely } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';

/** Slices of a backfill that its rate is measured with. */
const RATE_SLICES = 100;

export interface BackfillProgress {
  readonly id: number;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly runId: number;
  /** Whether it was asked for with `run`. */
  readonly isRun: boolean;
  readonly requestedAt: Date;
  /** Null while it is open. */
  readonly endedAt: Date | null;
  readonly isCancelled: boolean;
  readonly merchants: number;
  /** Merchants with days left. */
  readonly merchantsLeft: number;
  /** Days of all merchants that are done. */
  readonly daysDone: number;
  /** Days of all merchants that are still to be done; 0 once it has ended. */
  readonly daysLeft: number;
  /** Merchants whose next slice has failed. */
  readonly failing: number;
}

/** Backfills, the newest first. `isOpen`: only those with days left. */
export async function listBackfills(
  db: Kysely<DB>,
  { isOpen = false, id }: { readonly isOpen?: boolean; readonly id?: number } = {},
): Promise<BackfillProgress[]> {
  const { rows } = await sql<BackfillProgress>`
    SELECT backfill.id, from_day AS "from", to_day AS "to", run_id AS "runId",
      (SELECT command = 'run' FROM run WHERE run.id = run_id) AS "isRun", requested_at AS "requestedAt",
      backfill.ended_at AS "endedAt", is_cancelled AS "isCancelled", part.*
    FROM backfill CROSS JOIN LATERAL (
      SELECT count(*) AS merchants, count(*) FILTER (WHERE ended_at IS NULL) AS "merchantsLeft",
        coalesce(sum(next_day - from_day), 0)::bigint AS "daysDone",
        coalesce(sum(to_day - next_day + 1) FILTER (WHERE ended_at IS NULL), 0)::bigint AS "daysLeft",
        count(*) FILTER (WHERE ended_at IS NULL AND tries > 0) AS failing
      FROM backfill_merchant WHERE backfill_id = backfill.id
    ) AS part
    WHERE ${isOpen ? sql`backfill.ended_at IS NULL` : sql`true`} AND ${id === undefined ? sql`true` : sql`backfill.id = ${id}`}
    ORDER BY backfill.id DESC`.execute(db);
  return rows;
}

/** A merchant whose next slice has failed. */
export interface FailingMerchant {
  readonly merchantNo: string;
  /** First day of the slice. */
  readonly nextDay: BusinessDay;
  /** How often it has failed. */
  readonly tries: number;
  /** Why it failed last. */
  readonly problem: string;
  /** It is not tried again before this time. */
  readonly tryAt: Date;
}

/** Merchants of the backfill whose next slice has failed, in order. */
export async function failingMerchants(
  db: Kysely<DB>,
  backfillId: number,
  limit: number,
): Promise<FailingMerchant[]> {
  const { rows } = await sql<FailingMerchant>`
    SELECT merchant_no AS "merchantNo", next_day AS "nextDay", tries, problem, try_at AS "tryAt"
    FROM backfill_merchant WHERE backfill_id = ${backfillId} AND ended_at IS NULL AND tries > 0
    ORDER BY merchant_no LIMIT ${limit}`.execute(db);
  return rows;
}

/** An open backfill of these very days for one of the merchants; undefined if there is none. */
export async function sameBackfill(
  db: Kysely<DB>,
  {
    from,
    to,
    merchants,
  }: { readonly from: BusinessDay; readonly to: BusinessDay; readonly merchants: readonly string[] },
): Promise<{ readonly id: number; readonly merchantNo: string } | undefined> {
  const { rows } = await sql<{ id: number; merchantNo: string }>`
    SELECT id, merchant_no AS "merchantNo"
    FROM backfill JOIN backfill_merchant part ON part.backfill_id = id
    WHERE from_day = ${from}::date AND to_day = ${to}::date AND part.ended_at IS NULL
      AND merchant_no = ANY(${arrayLiteral(merchants)}::text[])
    ORDER BY id, merchant_no LIMIT 1`.execute(db);
  return rows[0];
}

/** What the last slices of a backfill did, all together. */
export interface RecentSlices {
  readonly days: number;
  /** When the first of them began, and when the last one was done; null if no slice is done. */
  readonly beganAt: Date | null;
  readonly doneAt: Date | null;
}

/** The slices of the backfill that were done last. */
export async function recentSlices(db: Kysely<DB>, backfillId: number): Promise<RecentSlices> {
  const { rows } = await sql<RecentSlices>`
    SELECT coalesce(sum(to_day - from_day + 1), 0)::bigint AS days, min(started_at) AS "beganAt", max(finished_at) AS "doneAt"
    FROM (
      SELECT from_day, to_day, started_at, finished_at FROM backfill_slice
      WHERE backfill_id = ${backfillId} ORDER BY finished_at DESC LIMIT ${RATE_SLICES}
    ) AS last`.execute(db);
  return rows[0]!;
}

/** The slices of a backfill in numbers, for its run's figures. */
export interface SliceTotals {
  readonly slices: number;
  readonly days: number;
  /** Slices that need attention. */
  readonly needPerson: number;
}

export async function sliceTotals(db: Kysely<DB>, backfillId: number): Promise<SliceTotals> {
  const { rows } = await sql<SliceTotals>`
    SELECT count(*) AS slices, coalesce(sum(to_day - from_day + 1), 0)::bigint AS days,
      count(*) FILTER (WHERE exit_code <> 0) AS "needPerson"
    FROM backfill_slice WHERE backfill_id = ${backfillId}`.execute(db);
  return rows[0]!;
}
