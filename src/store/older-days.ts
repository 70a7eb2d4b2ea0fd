/** Queries on the days before those a night reads, to compare what is stored with the platform's total and records. */
import { sql, type Kysely } from 'kysely';
import type { BusinessDay, LedgerEntry, RejectedEntry, Window } from '../ledger/entry.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import { heldCurrencies } from './entries.ts';
import type { Lease } from './engine/lease.ts';
import type { DB } from './engine/schema.ts';
import { sentRows } from './store-entries.ts';
import { writeTransaction } from './engine/write-transaction.ts';

/** A range of whole business days, both included. */
export interface Days {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

/**
 * Number of stored entries and of unreadable entries with batchNo in a window. Counts each one along
 * ledger_entry_in_time.
 */
export async function countStored(db: Kysely<DB>, merchantNo: string, window: Window): Promise<number> {
  const { rows } = await sql<{ stored: number }>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT coalesce(sum((
      SELECT count(*) FROM ledger_entry e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
        AND e.booked_ms BETWEEN ${window.beginMs} AND ${window.endMs}
    )), 0)::bigint + ${namedWrecks(merchantNo, window)} AS stored
    FROM held WHERE currency IS NOT NULL`.execute(db);
  return rows[0]!.stored;
}

/**
 * The same for whole days, from their figures: the cost grows with the days, not with the entries. Entries are only
 * counted one by one on days that changed after their figures were made.
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
    SELECT (
      SELECT coalesce(sum(d.credit_count + d.debit_count), 0)::bigint FROM account_day d
      WHERE d.merchant_no = ${merchantNo} AND d.day BETWEEN ${days.from} AND ${days.to}
        AND (d.currency, d.day) NOT IN (SELECT currency, day FROM changed)
    ) + (
      SELECT coalesce(sum((
        SELECT count(*) FROM ledger_entry e
        WHERE e.merchant_no = ${merchantNo} AND e.currency = changed.currency AND e.vanished_at IS NULL
          AND e.booked_ms BETWEEN ${window.beginMs} AND ${window.endMs} AND e.booked_at::date = changed.day
      )), 0)::bigint FROM changed
    ) + ${namedWrecks(merchantNo, window)} AS stored`.execute(db);
  return rows[0]!.stored;
}

/**
 * Number of unreadable entries with batchNo that the platform still sends. One that was readable before is still
 * stored as an entry and is counted there.
 */
const namedWrecks = (merchantNo: string, { beginMs, endMs }: Window) => sql`(
  SELECT count(*) FROM (
    SELECT DISTINCT q.batch_no FROM quarantined_entry q
    WHERE q.merchant_no = ${merchantNo} AND q.released_at IS NULL AND q.batch_no IS NOT NULL
      AND q.begin_ms >= ${beginMs} AND q.end_ms <= ${endMs}
      AND NOT EXISTS (
        SELECT FROM ledger_entry e
        WHERE e.merchant_no = q.merchant_no AND e.batch_no = q.batch_no AND e.vanished_at IS NULL
      )
  ) AS wrecks
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

/**
 * Days on which the platform's records differ from what is stored under their numbers: the day of the record, and the
 * day of the stored entry. An entry also differs if it is not stored, if it is stored as vanished, or if it cannot be
 * read any more.
 */
export async function differingDays(
  db: Kysely<DB>,
  merchantNo: string,
  entries: readonly LedgerEntry[],
  rejected: readonly RejectedEntry[],
): Promise<BusinessDay[]> {
  const named = rejected.flatMap(({ batchNo }) => batchNo ?? []);
  const { rows } = await sql<{ day: string }>`
    WITH found AS MATERIALIZED (
      SELECT sent.booked_at::date AS shown_on, held.booked_at::date AS stored_on
      FROM ${sentRows(entries)} LEFT JOIN LATERAL (
        SELECT * FROM ledger_entry e
        WHERE e.merchant_no = ${merchantNo} AND e.batch_no = sent.batch_no OFFSET 0
      ) AS held ON true
      WHERE held.batch_no IS NULL OR held.vanished_at IS NOT NULL
        OR (held.currency, held.transaction_type, held.credit, held.debit, held.balance, held.booked_at)
          IS DISTINCT FROM (sent.currency, sent.transaction_type, sent.credit, sent.debit, sent.balance,
            sent.booked_at)
    )
    SELECT shown_on AS day FROM found
    UNION SELECT stored_on FROM found WHERE stored_on IS NOT NULL
    UNION SELECT e.booked_at::date FROM unnest(${arrayLiteral(named)}::text[]) AS wreck (batch_no)
      JOIN ledger_entry e ON e.merchant_no = ${merchantNo} AND e.batch_no = wreck.batch_no
      WHERE NOT EXISTS (
        SELECT FROM quarantined_entry q
        WHERE q.merchant_no = ${merchantNo} AND q.batch_no = wreck.batch_no AND q.released_at IS NULL
      )
    ORDER BY day`.execute(db);
  return rows.map(({ day }) => day);
}

/** How far the comparison of older days has come. */
export interface OlderDaysStanding extends Days {
  readonly total: number;
  /** Whether as many entries are stored. */
  readonly isHeld: boolean;
  readonly lookedAt: Date;
  readonly round: {
    readonly read: number;
    readonly of: number;
    readonly beganAt: Date;
    readonly order: 'oldest first' | 'newest first' | 'mixed';
  };
}

/** Null if older days were never compared. */
export async function olderDaysStanding(
  db: Kysely<DB>,
  merchantNo: string,
): Promise<OlderDaysStanding | null> {
  const row = await db
    .selectFrom('older_days_look')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .executeTakeFirst();
  if (row === undefined) return null;
  return {
    from: row.from_day,
    to: row.to_day,
    total: row.total,
    isHeld: row.is_held,
    lookedAt: row.looked_at,
    round: {
      read: row.round_read,
      of: row.round_of,
      beganAt: row.round_began_at,
      order: row.page_order as OlderDaysStanding['round']['order'],
    },
  };
}

/** Stores how far the comparison has come. Throws `LeaseLost` or `StoreUnreachable`. */
export async function keepOlderDaysStanding(
  db: Kysely<DB>,
  lease: Lease,
  merchantNo: string,
  { from, to, total, isHeld, lookedAt, round }: OlderDaysStanding,
): Promise<void> {
  const row = {
    from_day: from,
    to_day: to,
    total,
    is_held: isHeld,
    looked_at: lookedAt,
    round_read: round.read,
    round_of: round.of,
    round_began_at: round.beganAt,
    page_order: round.order,
  };
  await writeTransaction(db, lease, (trx) =>
    trx
      .insertInto('older_days_look')
      .values({ merchant_no: merchantNo, ...row })
      .onConflict((conflict) => conflict.column('merchant_no').doUpdateSet(row))
      .execute(),
  );
}
