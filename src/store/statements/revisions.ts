/** Events of published revisions that replaced another one, and of first ones that came late. */
import { sql } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import { ofMerchants } from '../account-filter.ts';
import { type Db, type Trx, rowsOf } from '../engine/database.ts';
import type { EventKey } from '../events.ts';
import { sameContent } from './statements.ts';

/** A day whose published statement changed after the day was proven. */
export interface RevisedDay {
  readonly merchantNo: string;
  readonly currency: string;
  readonly day: BusinessDay;
  /** The revision before the change; null if the day had been read before and had no entries. */
  readonly oldRevision: number | null;
  readonly revision: number;
  readonly oldRows: number;
  readonly rows: number;
  /** The file and its amounts did not change: only the verdict, the breaks after the day, or the source of the opening. */
  readonly readsTheSame: boolean;
  /** What changed, as the manifest says it; null for a day's first statement. */
  readonly reason: string | null;
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
export const unreportedRevisions = (db: Db, merchants: readonly string[]): Promise<RevisedDay[]> => rowsOf(
  db,
)<RevisedDay>`
    WITH unreported AS (
      SELECT merchant_no, data ->> 'currency' AS currency, (data ->> 'day')::date AS day,
        min((data -> 'revision')::int) AS first, max((data -> 'revision')::int) AS last
      FROM event WHERE kind = 'revision' AND reported_at IS NULL AND ${ofMerchants(merchants)}
      GROUP BY 1, 2, 3
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
    ORDER BY 1, 3, 2`;

/** The events of a revised day: of each revision from the first that it had not reported. */
export const revisionEvents = ({
  merchantNo,
  currency,
  day,
  oldRevision,
  revision,
}: Pick<RevisedDay, 'merchantNo' | 'currency' | 'day' | 'oldRevision' | 'revision'>): EventKey[] =>
  Array.from({ length: revision - (oldRevision ?? 0) }, (_, at) => ({
    ...{ kind: 'revision', merchantNo },
    subject: `${currency} ${day} r${revision - at}`,
  }));

/** Notes the days that a close could not freeze, as their first statement was published after it. `month`: its first day. */
export async function noteLateOf(
  trx: Trx,
  {
    merchantNo,
    month,
    number,
  }: { readonly merchantNo: string; readonly month: BusinessDay; readonly number: number },
): Promise<void> {
  await sql`
    INSERT INTO event (kind, merchant_no, subject, at, data, run_id, reported_at)
    SELECT 'revision', merchant_no, currency || ' ' || day || ' r1', published_at,
      jsonb_build_object('currency', currency, 'day', day, 'revision', 1, 'afterClose', true), run_id, published_at
    FROM statement AS first
    WHERE merchant_no = ${merchantNo} AND day >= ${month}::date AND day < (${month}::date + interval '1 month')::date
      AND revision = 1 AND NOT EXISTS (
        SELECT FROM month_close AS closed
        WHERE (closed.merchant_no, closed.month, closed.number) = (${merchantNo}, ${month}::date, ${number}::integer)
          AND closed.frozen -> first.currency -> to_char(first.day, 'YYYY-MM-DD') IS NOT NULL
      )
    ON CONFLICT DO NOTHING`.execute(trx);
}
