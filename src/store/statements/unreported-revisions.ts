/**
 * Keeps note of published revisions that replaced another one or came late and that no run has reported yet: the run
 * that published them may have been killed before its report.
 */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import { ofMerchants } from '../account-filter.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';
import { sameContent } from './statements.ts';

/** A day whose published statement changed after the day was proven. */
export interface RevisedDay {
  readonly merchantNo: string;
  readonly currency: string;
  readonly day: BusinessDay;
  /** The revision before the change; null if the day had been read before and had no entries. */
  readonly oldRevision: number | null;
  readonly revision: number;
  /** Number of entries before and after the change; 0 where there was no statement. */
  readonly oldRows: number;
  readonly rows: number;
  /** The file and its amounts did not change: only the verdict, the breaks after the day, or the source of the opening. */
  readonly readsTheSame: boolean;
  /** What changed, as the manifest says it; null for a day's first statement. */
  readonly reason: string | null;
  /** The run that published it. */
  readonly runId: number | null;
  /** A backfill published it, which does not report revisions itself. */
  readonly isOfBackfill?: boolean;
  /** The last close of its month, which it adjusts; null or left out where the month is not closed. */
  readonly closeNumber?: number | null;
  /** It was open when its month was closed, and had no statement then; so it was to be expected. */
  readonly wasOpenAtClose?: boolean;
}

/**
 * All changes of the merchants that are not reported yet, by merchant, day and currency. Each day comes once: from
 * before its first such revision to its last.
 */
export async function unreportedRevisions(
  db: Kysely<DB>,
  merchants: readonly string[],
): Promise<RevisedDay[]> {
  const { rows } = await sql<RevisedDay>`
    WITH unreported AS (
      SELECT merchant_no, currency, day, min(revision) AS first, max(revision) AS last
      FROM unreported_revision WHERE ${ofMerchants(merchants)}
      GROUP BY merchant_no, currency, day
    )
    SELECT unreported.merchant_no AS "merchantNo", unreported.currency, unreported.day, first_one.supersedes AS "oldRevision",
      unreported.last AS revision, coalesce(old.row_count, 0) AS "oldRows", last_one.row_count AS rows, last_one.reason,
      last_one.run_id AS "runId",
      EXISTS (SELECT FROM run WHERE id = last_one.run_id AND command = 'backfill') AS "isOfBackfill", closed.number AS "closeNumber",
      first_one.supersedes IS NULL AND coalesce(closed.content::jsonb -> 'openDays' @> jsonb_build_array(
        jsonb_build_object('currency', unreported.currency, 'day', unreported.day::text)
      ), false) AS "wasOpenAtClose", coalesce(${sameContent('old', 'last_one')}, false) AS "readsTheSame"
    FROM unreported
    JOIN statement AS first_one
      ON (first_one.merchant_no, first_one.currency, first_one.day, first_one.revision)
        = (unreported.merchant_no, unreported.currency, unreported.day, unreported.first)
    JOIN statement AS last_one
      ON (last_one.merchant_no, last_one.currency, last_one.day, last_one.revision)
        = (unreported.merchant_no, unreported.currency, unreported.day, unreported.last)
    LEFT JOIN statement AS old
      ON (old.merchant_no, old.currency, old.day, old.revision)
        = (unreported.merchant_no, unreported.currency, unreported.day, first_one.supersedes)
    LEFT JOIN LATERAL (
      SELECT number, content FROM month_close
      WHERE merchant_no = unreported.merchant_no AND month = date_trunc('month', unreported.day)::date
      ORDER BY number DESC LIMIT 1
    ) AS closed ON true
    ORDER BY 1, 3, 2`.execute(db);
  return rows;
}

/** Deletes the notes of these days, once a run that reports them is on record. Later revisions stay noted. */
export async function markRevisionsReported(
  trx: Transaction<DB>,
  reported: readonly Pick<RevisedDay, 'merchantNo' | 'currency' | 'day' | 'revision'>[],
): Promise<void> {
  if (reported.length === 0) return;
  const column = (value: (one: (typeof reported)[number]) => string | number) =>
    arrayLiteral(reported.map(value));
  await sql`
    DELETE FROM unreported_revision USING unnest(
      ${column(({ merchantNo }) => merchantNo)}::text[], ${column(({ currency }) => currency)}::text[],
      ${column(({ day }) => day)}::date[], ${column(({ revision }) => revision)}::integer[]
    ) AS reported (merchant_no, currency, day, revision)
    WHERE unreported_revision.merchant_no = reported.merchant_no AND unreported_revision.currency = reported.currency
      AND unreported_revision.day = reported.day AND unreported_revision.revision <= reported.revision`.execute(
    trx,
  );
}
