/** Counts what is stored of the days before those a night reads, to compare it with the platform's total. */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { figuredCurrencies } from './account-days.ts';
import { heldCurrenciesOf } from './entries.ts';
import type { DB } from './engine/schema.ts';

/** A range of complete business days, both included. */
export interface Days {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

/**
 * Number of stored entries and of unreadable entries with batchNo in a window. Counts each one along
 * ledger_entry_in_time. With a currency, only its entries.
 */
export async function countStored(
  db: Kysely<DB>,
  merchantNo: string,
  window: Window,
  currency: string | null = null,
): Promise<number> {
  const { rows } = await sql<{ stored: number }>`
    WITH RECURSIVE held (currency) AS (${heldCurrenciesOf(merchantNo, currency)})
    SELECT coalesce(sum((
      SELECT count(*) FROM ledger_entry e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
        AND e.booked_ms BETWEEN ${window.beginMs} AND ${window.endMs}
    )), 0)::bigint + ${currency === null ? namedUnreadable(merchantNo, window) : sql`0`} AS stored
    FROM held WHERE currency IS NOT NULL`.execute(db);
  return rows[0]!.stored;
}

/**
 * The same for complete days, from their figures. The sum of the last check is taken up, so the cost grows with the days
 * since then. Entries are only counted one by one on days that changed after their figures were made.
 */
export async function countByFigures(
  db: Kysely<DB>,
  merchantNo: string,
  days: Days,
  window: Window,
): Promise<number> {
  const { rows } = await sql<{ stored: number }>`
    WITH changed AS MATERIALIZED (
      SELECT currency, day FROM changed_day
      WHERE merchant_no = ${merchantNo} AND day BETWEEN ${days.from} AND ${days.to}
    )
    SELECT ${sumOfFigures(merchantNo, days)} + (
      SELECT coalesce(sum(
        (SELECT count(*) FROM ledger_entry e
          WHERE e.merchant_no = ${merchantNo} AND e.currency = changed.currency AND e.vanished_at IS NULL
            AND e.booked_ms BETWEEN ${window.beginMs} AND ${window.endMs} AND e.booked_at::date = changed.day)
        - coalesce((SELECT d.credit_count + d.debit_count FROM account_day d
          WHERE d.merchant_no = ${merchantNo} AND d.currency = changed.currency AND d.day = changed.day), 0)
      ), 0)::bigint FROM changed
    ) + ${namedUnreadable(merchantNo, window)} AS stored`.execute(db);
  return rows[0]!.stored;
}

/** Entries of the days by their figures: the sum of the last check, and the days since; all days where there is none. */
export const sumOfFigures = (
  merchantNo: string | RawBuilder<unknown>,
  { from, to }: { readonly from: string | RawBuilder<unknown>; readonly to: string | RawBuilder<unknown> },
): RawBuilder<unknown> => sql`(
  WITH RECURSIVE figured (currency) AS (${figuredCurrencies(merchantNo)}
  ), begun AS MATERIALIZED (
    SELECT coalesce(max(to_day) + 1, ${from}::date) AS day, coalesce(max(by_figures), 0) AS entries
    FROM historical_check
    WHERE merchant_no = ${merchantNo} AND by_figures IS NOT NULL AND from_day = ${from} AND to_day <= ${to}
  )
  SELECT begun.entries + coalesce(sum(added.entries), 0)::bigint
  FROM begun LEFT JOIN figured ON figured.currency IS NOT NULL LEFT JOIN LATERAL (
    SELECT sum(d.credit_count + d.debit_count) AS entries FROM account_day d
    WHERE d.merchant_no = ${merchantNo} AND d.currency = figured.currency AND d.day BETWEEN begun.day AND ${to} OFFSET 0
  ) AS added ON true
  GROUP BY begun.entries
)`;

/**
 * Forgets the sum of the older days' figures, as one of them gets new ones. To be used in the statement that takes days
 * off the list of changed ones.
 */
export const forgetSum = (merchantNo: string, days: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  UPDATE historical_check SET by_figures = NULL
  WHERE merchant_no = ${merchantNo} AND by_figures IS NOT NULL
    AND EXISTS (SELECT FROM ${days} AS changed (day) WHERE changed.day BETWEEN from_day AND to_day)`;

/**
 * Number of unreadable entries with batchNo that the platform still sends. One that was readable before is still
 * stored as an entry and is counted there.
 */
const namedUnreadable = (merchantNo: string, { beginMs, endMs }: Window) => sql`(
  SELECT count(*) FROM (
    SELECT DISTINCT q.batch_no FROM quarantined_entry q
    WHERE q.merchant_no = ${merchantNo} AND q.released_at IS NULL AND q.batch_no IS NOT NULL
      AND q.begin_ms >= ${beginMs} AND q.end_ms <= ${endMs}
      AND NOT EXISTS (
        SELECT FROM ledger_entry e
        WHERE e.merchant_no = q.merchant_no AND e.batch_no = q.batch_no AND e.vanished_at IS NULL
      )
  ) AS unreadable
)`;

/**
 * Spans in which the platform's total cannot be compared with what is stored. An unreadable entry without batchNo may
 * be an entry that is stored already. One that may lie outside the window may or may not be in the total.
 */
export async function uncountableSpans(
  db: Kysely<DB>,
  merchantNo: string,
  { beginMs, endMs }: Window,
): Promise<Window[]> {
  const { rows } = await sql<{ begin_ms: number; end_ms: number }>`
    SELECT begin_ms, end_ms FROM quarantined_entry
    WHERE merchant_no = ${merchantNo} AND released_at IS NULL AND begin_ms <= ${endMs} AND end_ms >= ${beginMs}
      AND (batch_no IS NULL OR begin_ms < ${beginMs} OR end_ms > ${endMs})`.execute(db);
  return rows.map((row) => ({ beginMs: row.begin_ms, endMs: row.end_ms }));
}
