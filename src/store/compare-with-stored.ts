/**
 * Compares readings with what is stored before anything is written. Most nights nearly all that comes is stored already:
 * then this one statement is all that a reading costs.
 *
 * It is made outside the transaction that writes. Only the holder of the lease writes a merchant's ledger, and no write
 * succeeds without the lease, so what was seen here still holds when it is written.
 */
import { sql } from 'kysely';
import type { LedgerEntry, UnreadableEntry, Window } from '../ledger/entry.ts';
import { EVERY_CURRENCY } from './account-filter.ts';
import { heldCurrencies } from './entries.ts';
import { arrayLiteral, type Db, rowsOf } from './engine/database.ts';
import { askedRows, shared } from './engine/shared-statement.ts';
import { sentRowsOfEach } from './store-entries.ts';

interface Unstored {
  readonly entries: readonly LedgerEntry[];
  /** Stored entries may be absent from the reading, or absent ones may have come again. */
  readonly isAbsenceOpen: boolean;
  /** Numbers of the stored entries that did not come. Not given for readings that are to be written fully. */
  readonly lacking: readonly string[];
  readonly isQuarantineOpen: boolean;
  readonly isCertificateOpen: boolean;
  /** A reading that failed may be stored for a part of the window. */
  readonly isFailureOpen: boolean;
}

export interface Compared {
  readonly part: WindowToStore;
  readonly unstored: Unstored;
}

/** Most entries compared in one statement. Its parameters are about 100 bytes for each. */
const ENTRIES_MAX = 10_000;

/**
 * What of each reading is to be written. The readings are of one merchant, and of windows that do not overlap. Where
 * one is not certified or has unreadable entries, or where they are very large, all of them is to be written.
 */
export async function compareWithStored(db: Db, readings: readonly WindowToStore[]): Promise<Unstored[]> {
  const isPlain = readings.every(({ reading }) => reading.certified && reading.unreadable.length === 0);
  const entries = readings.flatMap(({ reading }) => reading.entries);
  if (!isPlain || entries.length > ENTRIES_MAX) return readings.map(fully);
  const compared = await compare(db, { readings, entries });
  const toStore = new Set(compared[0]!.toStore);
  return compared.map(({ toStore: _, ...open }, at) => ({
    ...open,
    entries: readings[at]!.reading.entries.filter(({ batchNo }) => toStore.has(batchNo)),
  }));
}

export const isAllStored = (one: Unstored): boolean =>
  one.entries.length === 0 &&
  !one.isAbsenceOpen &&
  !one.isQuarantineOpen &&
  !one.isCertificateOpen &&
  !one.isFailureOpen;

const fully = ({ reading }: WindowToStore): Unstored => ({
  entries: reading.entries,
  isAbsenceOpen: true,
  lacking: [],
  isQuarantineOpen: true,
  isCertificateOpen: true,
  isFailureOpen: reading.certified,
});

interface Polled extends Omit<Unstored, 'entries'> {
  /** Numbers of the entries of all readings that are not stored as they came; in the first row. */
  readonly toStore: readonly string[];
}

interface ReadingsAsked {
  /** Of one merchant and currency; at least one. */
  readonly readings: readonly WindowToStore[];
  readonly entries: readonly LedgerEntry[];
}

const askedOf = askedRows<ReadingsAsked>({
  merchant_no: ['text', ({ readings }) => readings[0]!.merchantNo],
  currency: ['text', ({ readings }) => readings[0]!.currency],
  // Stored times are full seconds, so an entry may be stored up to a second before its window begins.
  begin_ms: [
    'bigint',
    ({ readings }) => Math.min(...readings.map(({ window }) => Math.floor(window.beginMs / 1_000) * 1_000)),
  ],
  end_ms: ['bigint', ({ readings }) => Math.max(...readings.map(({ window }) => window.endMs))],
});

const compare = shared<ReadingsAsked, Polled[]>(async (db, asks) => {
  const parts = asks.flatMap(({ readings }, at) => readings.map((reading) => ({ ...reading, nth: at + 1 })));
  const column = (value: (one: (typeof parts)[number]) => number) => arrayLiteral(parts.map(value));
  const own = sql`(coalesce(asked.currency, ${EVERY_CURRENCY}), part.begin_ms, part.end_ms)`;
  const ofMerchant = sql`merchant_no = asked.merchant_no`;
  const rows = await rowsOf(db)<Polled & { readonly nth: number }>`
    WITH asked AS MATERIALIZED (SELECT * FROM ${askedOf(asks)}),
    part AS MATERIALIZED (
      SELECT * FROM unnest(
        ${column(({ nth }) => nth)}::int[],
        ${column(({ window }) => window.beginMs)}::bigint[], ${column(({ window }) => window.endMs)}::bigint[],
        ${column(({ reading }) => reading.total)}::bigint[], ${column(({ reading }) => reading.entries.length)}::int[]
      ) WITH ORDINALITY AS part (nth, begin_ms, end_ms, total, distinct_count, place)
    ), stored AS MATERIALIZED (
      SELECT asked.nth, here.* FROM asked CROSS JOIN LATERAL (
        WITH RECURSIVE held (currency) AS (${heldCurrencies(sql`asked.merchant_no`)})
        SELECT held.currency FROM held WHERE held.currency = coalesce(asked.currency, held.currency)
      ) AS held CROSS JOIN LATERAL (
        SELECT batch_no, currency, transaction_type, credit, debit, balance, booked_at, booked_ms FROM ledger_entry e
        WHERE e.merchant_no = asked.merchant_no AND e.currency = held.currency AND e.vanished_at IS NULL
          AND e.booked_ms BETWEEN asked.begin_ms AND asked.end_ms
        OFFSET 0
      ) AS here
    ), differing AS MATERIALIZED (
      SELECT coalesce(sent.nth, stored.nth) AS nth, sent.batch_no AS sent_no, stored.batch_no AS stored_no,
        stored.booked_ms AS stored_ms
      FROM ${sentRowsOfEach(asks.map(({ entries }) => entries))}
      FULL JOIN stored ON sent.batch_no = stored.batch_no AND sent.nth = stored.nth
      WHERE (sent.batch_no, sent.currency, sent.transaction_type, sent.credit, sent.debit, sent.balance, sent.booked_at,
          sent.booked_ms)
        IS DISTINCT FROM (stored.batch_no, stored.currency, stored.transaction_type, stored.credit, stored.debit,
          stored.balance, stored.booked_at, stored.booked_ms)
    )
    SELECT part.nth,
      CASE WHEN lag(part.nth) OVER (ORDER BY place) IS DISTINCT FROM part.nth
        THEN ARRAY(SELECT sent_no FROM differing WHERE nth = part.nth AND sent_no IS NOT NULL) ELSE '{}'
      END AS "toStore",
      EXISTS (SELECT FROM differing WHERE nth = part.nth AND stored_ms BETWEEN part.begin_ms AND part.end_ms)
        OR EXISTS (SELECT FROM absent_entry WHERE ${ofMerchant}) AS "isAbsenceOpen",
      ARRAY(
        SELECT stored_no FROM differing
        WHERE nth = part.nth AND sent_no IS NULL AND stored_ms BETWEEN part.begin_ms AND part.end_ms
      ) AS lacking,
      EXISTS (
        SELECT FROM quarantined_entry WHERE ${ofMerchant} AND released_at IS NULL
          AND span && int8range(part.begin_ms, part.end_ms, '[]')
      ) AS "isQuarantineOpen",
      NOT EXISTS (
        SELECT FROM sync_window same
        WHERE ${ofMerchant} AND (same.currency, same.begin_ms, same.end_ms) = ${own}
          AND same.certified_at IS NOT NULL AND same.quarantined_count = 0 AND same.total = part.total
          AND same.distinct_count = part.distinct_count
      ) OR EXISTS (
        SELECT FROM sync_window inside
        WHERE ${ofMerchant} AND inside.currency = coalesce(asked.currency, inside.currency)
          AND inside.begin_ms >= part.begin_ms AND inside.end_ms BETWEEN part.begin_ms AND part.end_ms
          AND (inside.currency, inside.begin_ms, inside.end_ms) <> ${own}
      ) AS "isCertificateOpen",
      EXISTS (
        SELECT FROM sync_window open WHERE ${ofMerchant} AND certified_at IS NULL
          AND open.begin_ms <= part.end_ms AND open.end_ms >= part.begin_ms
      ) AS "isFailureOpen"
    FROM part JOIN asked USING (nth) ORDER BY place`;
  const answers = asks.map((): Polled[] => []);
  for (const { nth, ...row } of rows) answers[nth - 1]!.push(row);
  return answers;
});

export interface WindowReading {
  readonly entries: readonly LedgerEntry[];
  /** What came and cannot be booked. Identical ones appear as often as they came. */
  readonly unreadable: readonly UnreadableEntry[];
  /** How many records the platform says the window has, less those that belong to neighbouring windows. */
  readonly total: number;
  readonly requests: number;
  /** Whether total and content agree. The window then proves what is in it and what is not. */
  readonly certified: boolean;
  readonly problem: string | null;
}

export interface WindowToStore {
  readonly merchantNo: string;
  readonly window: Window;
  /** The planned window that this window is a part of. If left out, the window itself. */
  readonly planned?: Window | undefined;
  /** Set if only one currency was asked for. The reading then says nothing about the others. */
  readonly currency: string | null;
  readonly reading: WindowReading;
  readonly runId: number;
  readonly now: Date;
}

export interface WideToStore extends Omit<WindowToStore, 'window' | 'planned'> {
  readonly planned: readonly Window[];
}

/** Cuts a wide reading into one for each planned window. Each keeps the number of calls that it was read with. */
export function cutAtPlanned({ planned, ...wide }: WideToStore): WindowToStore[] {
  const { reading } = wide;
  return planned.map((window) => {
    const entries = reading.entries.filter(
      ({ bookedMs }) => bookedMs >= window.beginMs && bookedMs <= window.endMs,
    );
    return { ...wide, window, reading: { ...reading, entries, total: entries.length } };
  });
}

/** What storing a reading changed. An entry that came back with other content counts as amended and as returned. */
export interface StoredWindow {
  readonly inserted: number;
  readonly amended: number;
  readonly vanished: number;
  readonly returned: number;
  readonly quarantined: number;
  readonly unchanged: number;
}

export const NOTHING_CHANGED: StoredWindow = {
  inserted: 0,
  amended: 0,
  vanished: 0,
  returned: 0,
  quarantined: 0,
  unchanged: 0,
};
