/** Queries on the days before those a night reads: which differ from the platform's records, and how far that is known. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { BusinessDay, LedgerEntry, UnreadableEntry, Window } from '../ledger/entry.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import { ofMerchants } from './account-filter.ts';
import type { DB } from './engine/schema.ts';
import { heldCurrencies } from './entries.ts';
import { sumOfFigures, type Days } from './historical-count.ts';
import { alternates, sentRows } from './store-entries.ts';

export { countByFigures, countStored, uncountableSpans, type Days } from './historical-count.ts';

/**
 * Days on which the platform's records differ from what is stored under their numbers: the day of the record, and the
 * day of the stored entry. An entry also differs if it is not stored, if it is stored as vanished, or if it cannot be
 * read any more.
 */
export async function differingDays(
  db: Kysely<DB>,
  merchantNo: string,
  entries: readonly LedgerEntry[],
  unreadable: readonly UnreadableEntry[],
): Promise<BusinessDay[]> {
  const named = unreadable.flatMap(({ batchNo }) => batchNo ?? []);
  const { rows } = await sql<{ day: string }>`
    WITH found AS MATERIALIZED (
      SELECT sent.booked_at::date AS shown_on, held.booked_at::date AS stored_on
      FROM ${sentRows(entries)} LEFT JOIN LATERAL (
        SELECT * FROM ledger_entry e
        WHERE e.merchant_no = ${merchantNo} AND e.batch_no = sent.batch_no OFFSET 0
      ) AS held ON true
      WHERE held.batch_no IS NULL OR held.vanished_at IS NOT NULL
        OR ((held.currency, held.transaction_type, held.credit, held.debit, held.balance, held.booked_at)
          IS DISTINCT FROM (sent.currency, sent.transaction_type, sent.credit, sent.debit, sent.balance,
            sent.booked_at) AND NOT (${alternates(merchantNo)}))
    )
    SELECT shown_on AS day FROM found
    UNION SELECT stored_on FROM found WHERE stored_on IS NOT NULL
    UNION SELECT e.booked_at::date FROM unnest(${arrayLiteral(named)}::text[]) AS sent (batch_no)
      JOIN ledger_entry e ON e.merchant_no = ${merchantNo} AND e.batch_no = sent.batch_no
      WHERE NOT EXISTS (
        SELECT FROM quarantined_entry q
        WHERE q.merchant_no = ${merchantNo} AND q.batch_no = sent.batch_no AND q.released_at IS NULL
      )
    ORDER BY day`.execute(db);
  return rows.map(({ day }) => day);
}

/** The numbers of the entries in these windows that were first seen at this time or later, in order of time. */
export async function firstSeenSince(
  db: Kysely<DB>,
  merchantNo: string,
  windows: readonly Window[],
  since: Date,
): Promise<string[]> {
  const column = (value: (one: Window) => number) => arrayLiteral(windows.map(value));
  const { rows } = await sql<{ batch_no: string }>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT here.batch_no FROM held CROSS JOIN unnest(
      ${column(({ beginMs }) => beginMs)}::bigint[], ${column(({ endMs }) => endMs)}::bigint[]
    ) AS part (begin_ms, end_ms) CROSS JOIN LATERAL (
      SELECT batch_no, booked_ms, first_seen_at FROM ledger_entry e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
        AND e.booked_ms BETWEEN part.begin_ms AND part.end_ms
      OFFSET 0
    ) AS here
    WHERE here.first_seen_at >= ${since} ORDER BY here.booked_ms, here.batch_no`.execute(db);
  return rows.map((row) => row.batch_no);
}

/** A stored entry, as far as it is needed to miss it. */
export interface StoredAt {
  readonly batchNo: string;
  readonly bookedMs: number;
}

/** The first entries stored in a window, in order of time: all of them if no `limit` is given. */
export async function storedIn(
  db: Kysely<DB>,
  merchantNo: string,
  { beginMs, endMs }: Window,
  limit: number | null = null,
): Promise<StoredAt[]> {
  const { rows } = await sql<StoredAt>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT here.batch_no AS "batchNo", here.booked_ms AS "bookedMs" FROM held CROSS JOIN LATERAL (
      SELECT batch_no, booked_ms FROM ledger_entry e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
        AND e.booked_ms BETWEEN ${beginMs} AND ${endMs}
      ORDER BY e.booked_ms, e.batch_no LIMIT ${limit}::bigint
    ) AS here
    WHERE held.currency IS NOT NULL ORDER BY here.booked_ms, here.batch_no LIMIT ${limit}::bigint`.execute(
    db,
  );
  return rows;
}

/** How far a round through the entries of older days has come. */
export interface OlderDaysRound {
  /** Entries compared so far, and how many there were when the round began. */
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

/** How far the comparison of older days has come. */
export interface HistoricalComparison extends Days {
  readonly total: number;
  /** Whether as many entries are stored. */
  readonly isHeld: boolean;
  readonly checkedAt: Date;
  readonly round: OlderDaysRound;
}

/** By merchant, of those whose older days were compared. */
export async function historicalComparisons(
  db: Kysely<DB>,
  merchants: readonly string[],
): Promise<ReadonlyMap<string, HistoricalComparison>> {
  const rows = await db.selectFrom('historical_check').selectAll().where(ofMerchants(merchants)).execute();
  return new Map(
    rows.map((row) => [
      row.merchant_no,
      {
        from: row.from_day,
        to: row.to_day,
        total: row.total,
        isHeld: row.is_held,
        checkedAt: row.checked_at,
        round: {
          read: row.round_read,
          of: row.round_of,
          beganAt: row.round_began_at,
          throughMs: row.round_through_ms,
          widestMs: row.widest_ms,
          order: row.page_order as OlderDaysRound['order'],
          refused:
            row.refused_since === null
              ? null
              : { beginMs: row.refused_from_ms!, endMs: row.refused_to_ms!, since: row.refused_since },
        },
      },
    ]),
  );
}

/**
 * Stores how far the comparisons of merchants' older days have come, with the sums of the days' figures. To be called
 * in a transaction under the leases of these merchants.
 */
export async function keepHistoricalComparisons(
  trx: Transaction<DB>,
  made: readonly { readonly merchantNo: string; readonly comparison: HistoricalComparison }[],
): Promise<void> {
  if (made.length === 0) return;
  const column = (value: (one: HistoricalComparison) => string | number | null) =>
    arrayLiteral(made.map(({ comparison }) => value(comparison)));
  const days = { from: sql`made.from_day`, to: sql`made.to_day` };
  await sql`
    INSERT INTO historical_check (merchant_no, from_day, to_day, total, is_held, checked_at, round_read, round_of,
      round_began_at, round_through_ms, widest_ms, page_order, refused_from_ms, refused_to_ms, refused_since, by_figures)
    SELECT made.*, ${sumOfFigures(sql`made.merchant_no`, days)}
    FROM unnest(
      ${arrayLiteral(made.map(({ merchantNo }) => merchantNo))}::text[], ${column(({ from }) => from)}::date[],
      ${column(({ to }) => to)}::date[], ${column(({ total }) => total)}::bigint[],
      ${column(({ isHeld }) => String(isHeld))}::boolean[], ${column(({ checkedAt }) => checkedAt.toISOString())}::timestamptz[],
      ${column(({ round }) => round.read)}::integer[], ${column(({ round }) => round.of)}::integer[],
      ${column(({ round }) => round.beganAt.toISOString())}::timestamptz[], ${column(({ round }) => round.throughMs)}::bigint[],
      ${column(({ round }) => round.widestMs)}::bigint[], ${column(({ round }) => round.order)}::text[],
      ${column(({ round }) => round.refused?.beginMs ?? null)}::bigint[],
      ${column(({ round }) => round.refused?.endMs ?? null)}::bigint[],
      ${column(({ round }) => round.refused?.since.toISOString() ?? null)}::timestamptz[]
    ) AS made (merchant_no, from_day, to_day, total, is_held, checked_at, round_read, round_of, round_began_at,
      round_through_ms, widest_ms, page_order, refused_from_ms, refused_to_ms, refused_since)
    ON CONFLICT (merchant_no) DO UPDATE
      SET from_day = excluded.from_day, to_day = excluded.to_day, total = excluded.total,
        is_held = excluded.is_held, checked_at = excluded.checked_at, round_read = excluded.round_read,
        round_of = excluded.round_of, round_began_at = excluded.round_began_at,
        round_through_ms = excluded.round_through_ms, widest_ms = excluded.widest_ms,
        page_order = excluded.page_order,
        refused_from_ms = excluded.refused_from_ms, refused_to_ms = excluded.refused_to_ms,
        refused_since = excluded.refused_since, by_figures = excluded.by_figures`.execute(trx);
}
