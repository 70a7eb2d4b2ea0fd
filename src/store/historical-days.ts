/** Queries on the days before those a night reads: which differ from the platform's records, and how far that is known. */
import { sql, type RawBuilder } from 'kysely';
import type { BusinessDay, LedgerEntry, UnreadableEntry, Window } from '../ledger/entry.ts';
import { arrayLiteral, type Db, rowOf, rowsOf, type Trx, type ValueOrSql } from './engine/database.ts';
import { EVERY_CURRENCY, ofMerchants } from './account-filter.ts';
import { ENTRY_LINE, heldCurrencies, heldCurrenciesOf } from './entries.ts';
import { alternates, sentRows } from './store-entries.ts';
import { figuredCurrencies } from './account-days.ts';

/**
 * Days on which the platform's records differ from what is stored under their numbers: the day of the record, and the
 * day of the stored entry. An entry also differs if it is not stored, if it is stored as vanished, or if it cannot be
 * read any more.
 */
export async function differingDays(
  db: Db,
  { merchantNo, entries, unreadable }: DaysAsked,
): Promise<BusinessDay[]> {
  const named = unreadable.flatMap(({ batchNo }) => batchNo ?? []);
  const rows = await rowsOf(db)<{ day: BusinessDay }>`
    WITH found AS MATERIALIZED (
      SELECT sent.booked_at::date AS shown_on, held.booked_at::date AS stored_on
      FROM ${sentRows(entries)} LEFT JOIN LATERAL (
        SELECT * FROM ledger_entry e WHERE e.merchant_no = ${merchantNo} AND e.batch_no = sent.batch_no OFFSET 0
      ) AS held ON true
      WHERE held.batch_no IS NULL OR held.vanished_at IS NOT NULL
        OR ((held.currency, held.transaction_type, held.credit, held.debit, held.balance, held.booked_at)
          IS DISTINCT FROM (sent.currency, sent.transaction_type, sent.credit, sent.debit, sent.balance,
            sent.booked_at) AND NOT (${alternates(merchantNo)}))
    )
    SELECT shown_on AS day FROM found
    UNION SELECT stored_on FROM found WHERE stored_on IS NOT NULL
    UNION SELECT own.day FROM unnest(${arrayLiteral(named)}::text[]) AS sent (batch_no) CROSS JOIN LATERAL (
        SELECT e.booked_at::date AS day FROM ledger_entry e
        WHERE e.merchant_no = ${merchantNo} AND e.batch_no = sent.batch_no OFFSET 0
      ) AS own
      WHERE NOT EXISTS (
        SELECT FROM quarantined_entry q
        WHERE q.merchant_no = ${merchantNo} AND q.batch_no = sent.batch_no AND q.released_at IS NULL
      )
    ORDER BY day`;
  return rows.map(({ day }) => day);
}

interface DaysAsked {
  readonly merchantNo: string;
  /** The platform's records. */
  readonly entries: readonly LedgerEntry[];
  readonly unreadable: readonly UnreadableEntry[];
}

export async function firstSeenSince(
  db: Db,
  merchantNo: string,
  windows: readonly Window[],
  since: Date,
): Promise<string[]> {
  const column = (value: (one: Window) => number) => arrayLiteral(windows.map(value));
  const rows = await rowsOf(db)<{ batch_no: string }>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT here.batch_no FROM held CROSS JOIN unnest(
      ${column(({ beginMs }) => beginMs)}::bigint[], ${column(({ endMs }) => endMs)}::bigint[]
    ) AS part (begin_ms, end_ms) CROSS JOIN LATERAL (
      SELECT batch_no, booked_ms, first_seen_at FROM ledger_entry e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
        AND e.booked_ms BETWEEN part.begin_ms AND part.end_ms
      OFFSET 0
    ) AS here
    WHERE here.first_seen_at >= ${since} ORDER BY here.booked_ms, here.batch_no`;
  return rows.map((row) => row.batch_no);
}

export interface StoredEntry extends Pick<LedgerEntry, 'batchNo' | 'bookedMs'> {
  /** All of it, as `lineOf` spells an entry. */
  readonly line: string;
}

/** The entries stored in a window, in time order; the first `rowsMax` of them unless that is null. */
export const storedIn = (
  db: Db,
  merchantNo: string,
  { beginMs, endMs }: Window,
  rowsMax: number | null = null,
) => rowsOf(db)<StoredEntry>`
  WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
  SELECT here.* FROM held CROSS JOIN LATERAL (
    SELECT batch_no AS "batchNo", booked_ms AS "bookedMs", ${ENTRY_LINE} AS line FROM ledger_entry e
    WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
      AND e.booked_ms BETWEEN ${beginMs} AND ${endMs}
    ORDER BY e.booked_ms, e.batch_no LIMIT ${rowsMax}::bigint
  ) AS here
  WHERE held.currency IS NOT NULL ORDER BY here."bookedMs", here."batchNo" LIMIT ${rowsMax}::bigint`;

export interface OlderDaysRound {
  readonly read: number;
  readonly of: number;
  readonly beganAt: Date;
  /** All before this instant is compared, and this instant too. */
  readonly throughMs: number;
  /** The longest window that the platform answers in full; null while it has cut or refused none. */
  readonly widestMs: number | null;
  /** In which order it sends pages; `mixed` where a page is no span of time. */
  readonly order: 'oldest first' | 'newest first' | 'mixed';
  /** What it refuses to show however short the window is, and since when; null if it shows all. */
  readonly refused: (Window & { readonly since: Date }) | null;
}

export interface HistoricalComparison extends Days {
  readonly total: number;
  readonly isHeld: boolean;
  readonly checkedAt: Date;
  readonly round: OlderDaysRound;
}

interface Row extends Omit<HistoricalComparison, 'round'>, Omit<OlderDaysRound, 'refused'>, Window {
  readonly merchant_no: string;
  /** Since when it refuses the window; null if it refuses none. */
  readonly since: Date | null;
}

const NAMES =
  'checked_from, checked_to, checked_total, is_held, checked_at, round_read, round_of, round_began_at, ' +
  'round_through_ms, widest_ms, page_order, refused_from_ms, refused_to_ms, refused_since';
const CHECKED = sql.raw(NAMES);
const EXCLUDED = sql.raw(NAMES.replaceAll(/\w+/g, 'excluded.$&'));

export async function historicalComparisons(
  db: Db,
  merchants: readonly string[],
): Promise<ReadonlyMap<string, HistoricalComparison>> {
  const rows = await rowsOf(db)<Row>`
    SELECT merchant_no, checked_from AS "from", checked_to AS "to", checked_total AS total, is_held AS "isHeld",
      checked_at AS "checkedAt", round_read AS read, round_of AS of, round_began_at AS "beganAt",
      round_through_ms AS "throughMs", widest_ms AS "widestMs", page_order AS order,
      refused_from_ms AS "beginMs", refused_to_ms AS "endMs", refused_since AS since
    FROM ledger_cursor WHERE ${ofMerchants(merchants)} AND currency = ${EVERY_CURRENCY} AND checked_at IS NOT NULL`;
  return new Map(
    rows.map(({ merchant_no, from, to, total, isHeld, checkedAt, beginMs, endMs, since, ...round }) => [
      merchant_no,
      {
        ...{ from, to, total, isHeld, checkedAt },
        round: { ...round, refused: since === null ? null : { beginMs, endMs, since } },
      },
    ]),
  );
}

/** Stores how far the comparisons of merchants' older days have come, with the sums of the days' figures. */
export async function keepHistoricalComparisons(
  trx: Trx,
  made: readonly { readonly merchantNo: string; readonly comparison: HistoricalComparison }[],
): Promise<void> {
  if (made.length === 0) return;
  const rows = made.map(({ merchantNo, comparison: { round, ...one } }) => ({
    ...{ merchant_no: merchantNo, checked_from: one.from, checked_to: one.to, checked_total: one.total },
    ...{ is_held: one.isHeld, checked_at: one.checkedAt, round_read: round.read, round_of: round.of },
    ...{ round_began_at: round.beganAt, round_through_ms: round.throughMs, widest_ms: round.widestMs },
    ...{
      page_order: round.order,
      refused_from_ms: round.refused?.beginMs,
      refused_to_ms: round.refused?.endMs,
    },
    refused_since: round.refused?.since,
  }));
  const days = { from: sql`made.checked_from`, to: sql`made.checked_to` };
  await sql`
    INSERT INTO ledger_cursor (merchant_no, currency, ${CHECKED}, by_figures)
    SELECT made.merchant_no, ${EVERY_CURRENCY}, ${CHECKED}, ${sumOfFigures(sql`made.merchant_no`, days)}
    FROM json_populate_recordset(NULL::ledger_cursor, ${JSON.stringify(rows)}::json) AS made
    ON CONFLICT (merchant_no, currency) DO UPDATE
      SET (${CHECKED}, by_figures) = ROW (${EXCLUDED}, excluded.by_figures)`.execute(trx);
}

export interface Days {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

/**
 * Number of unreadable entries with batchNo that the platform still sends. One that was readable before is still
 * stored as an entry and is counted there.
 */
const namedUnreadable = (merchantNo: string, { beginMs, endMs }: Window): RawBuilder<number> => sql`(
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

interface Count {
  readonly stored: number;
}

/**
 * Number of stored entries and of unreadable entries with batchNo in a window. Counts each one along
 * ledger_entry_in_time. With a currency, only its entries.
 */
export async function countStored(
  db: Db,
  merchantNo: string,
  window: Window,
  currency: string | null = null,
): Promise<number> {
  const { stored } = await rowOf(db)<Count>`
    WITH RECURSIVE held (currency) AS (${heldCurrenciesOf(merchantNo, currency)})
    SELECT coalesce(sum((
      SELECT count(*) FROM ledger_entry e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
        AND e.booked_ms BETWEEN ${window.beginMs} AND ${window.endMs}
    )), 0)::bigint + ${currency === null ? namedUnreadable(merchantNo, window) : sql.lit(0)} AS stored
    FROM held`;
  return stored;
}

/**
 * The same for complete days, from their figures. The sum of the last check is taken up, so the cost grows with the days
 * since then. Entries are only counted one by one on days that changed after their figures were made.
 */
export async function countByFigures(
  db: Db,
  merchantNo: string,
  { from, to }: Days,
  window: Window,
): Promise<number> {
  const { stored } = await rowOf(db)<Count>`
    WITH changed AS MATERIALIZED (
      SELECT currency, day FROM changed_day WHERE merchant_no = ${merchantNo} AND day BETWEEN ${from} AND ${to}
    )
    SELECT ${sumOfFigures(merchantNo, { from: sql`${from}::date`, to: sql`${to}::date` })} + (
      SELECT coalesce(sum(
        (SELECT count(*) FROM ledger_entry e
          WHERE e.merchant_no = ${merchantNo} AND e.currency = changed.currency AND e.vanished_at IS NULL
            AND e.booked_ms BETWEEN ${window.beginMs} AND ${window.endMs} AND e.booked_at::date = changed.day)
        - coalesce((SELECT d.credit_count + d.debit_count FROM account_day d
          WHERE d.merchant_no = ${merchantNo} AND d.currency = changed.currency AND d.day = changed.day), 0)
      ), 0)::bigint FROM changed
    ) + ${namedUnreadable(merchantNo, window)} AS stored`;
  return stored;
}

/** Entries of the days by their figures: the sum of the last check, and the days since; all days where there is none. */
function sumOfFigures(
  merchantNo: ValueOrSql,
  { from, to }: { readonly from: RawBuilder<unknown>; readonly to: RawBuilder<unknown> },
): RawBuilder<unknown> {
  return sql`(
  WITH RECURSIVE figured (currency) AS (${figuredCurrencies(merchantNo)}
  ), begun AS MATERIALIZED (
    SELECT coalesce(max(checked_to) + 1, ${from}::date) AS day, coalesce(max(by_figures), 0) AS entries
    FROM ledger_cursor
    WHERE merchant_no = ${merchantNo} AND by_figures IS NOT NULL AND checked_from = ${from} AND checked_to <= ${to}
  )
  SELECT begun.entries + coalesce(sum(added.entries), 0)::bigint
  FROM begun LEFT JOIN figured ON figured.currency IS NOT NULL LEFT JOIN LATERAL (
    SELECT sum(d.credit_count + d.debit_count) AS entries FROM account_day d
    WHERE d.merchant_no = ${merchantNo} AND d.currency = figured.currency AND d.day BETWEEN begun.day AND ${to} OFFSET 0
  ) AS added ON true
  GROUP BY begun.entries
)`;
}

/**
 * Forgets the sum of the older days' figures, as one of the days `(merchant_no, day)` gets new ones. To be used in the statement that takes days
 * off the list of changed ones.
 */
export const forgetSum = (days: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  UPDATE ledger_cursor AS known SET by_figures = NULL
  FROM (SELECT merchant_no, array_agg(DISTINCT day) AS days FROM ${days} AS changed GROUP BY merchant_no) AS own
  WHERE known.merchant_no = own.merchant_no AND known.currency = ${sql.lit(EVERY_CURRENCY)} AND by_figures IS NOT NULL
    AND EXISTS (SELECT FROM unnest(own.days) AS one (day) WHERE one.day BETWEEN checked_from AND checked_to)`;

/**
 * Spans in which the platform's total cannot be compared with what is stored. An unreadable entry without batchNo may
 * be an entry that is stored already. One that may lie outside the window may or may not be in the total.
 */
export const uncountableSpans = (db: Db, merchantNo: string, { beginMs, endMs }: Window) => rowsOf(
  db,
)<Window>`
  SELECT begin_ms AS "beginMs", end_ms AS "endMs" FROM quarantined_entry
  WHERE merchant_no = ${merchantNo} AND released_at IS NULL AND begin_ms <= ${endMs} AND end_ms >= ${beginMs}
    AND (batch_no IS NULL OR begin_ms < ${beginMs} OR end_ms > ${endMs})`;
