/**
 * Compares readings with what is stored before anything is written. Most nights nearly all that comes is stored already:
 * then this one statement is all that a reading costs.
 *
 * It is made outside the transaction that writes. Only the holder of the lease writes a merchant's ledger, and no write
 * succeeds without the lease, so what was seen here still holds when it is written.
 */
import { sql, type RawBuilder } from 'kysely';
import { sha256Of } from '../host/sha256.ts';
import type { LedgerEntry, UnreadableEntry, Window } from '../ledger/entry.ts';
import { EVERY_CURRENCY } from './account-filter.ts';
import { ENTRY_LINE, heldCurrencies, lineOf } from './entries.ts';
import { arrayLiteral, type Db, rowsOf } from './engine/database.ts';
import {
  ASKED_MERCHANT,
  askedRows,
  byPlace,
  MERCHANT,
  shared,
  withPlaces,
} from './engine/shared-statement.ts';
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
 * What of each reading is to be written. The readings are of one merchant, and of windows that do not overlap. Windows without a
 * stored entry, and windows whose stored entries have the digest of those that came, need no further search; mostly those are all. Where
 * one is not certified or has unreadable entries, or where they are very large, all of them is to be written.
 */
export async function compareWithStored(db: Db, readings: readonly WindowToStore[]): Promise<Unstored[]> {
  const isPlain = readings.every(({ reading }) => reading.certified && reading.unreadable.length === 0);
  const entries = sum(readings.map(({ reading }) => reading.entries.length));
  if (!isPlain || entries > ENTRIES_MAX) return readings.map(fully);
  const asked = { merchantNo: readings[0]!.merchantNo, readings };
  const polled = await poll(db, asked);
  const isNew = (at: number): boolean => polled[at]!.count === 0;
  const isSame = readings.every(({ reading }, at) => isNew(at) || areStored(reading.entries, polled[at]!));
  const differing = isSame ? null : await findDiffering(db, asked);
  const toStore = new Set(differing?.toStore);
  return readings.map(({ reading }, at) => {
    const { hasAbsent, isQuarantineOpen, isCertificateOpen, isFailureOpen } = polled[at]!;
    const own = differing?.parts[at] ?? { isAbsenceOpen: false, lacking: [] };
    return {
      entries: reading.entries.filter(({ batchNo }) =>
        differing === null ? isNew(at) : toStore.has(batchNo),
      ),
      isAbsenceOpen: hasAbsent || own.isAbsenceOpen,
      lacking: own.lacking,
      ...{ isQuarantineOpen, isCertificateOpen, isFailureOpen },
    };
  });
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

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

interface ReadingsAsked {
  readonly merchantNo: string;
  /** Of one merchant and currency; at least one. */
  readonly readings: readonly WindowToStore[];
}

const askedOf = askedRows<ReadingsAsked>({
  ...MERCHANT,
  currency: ['text', ({ readings }) => readings[0]!.currency],
});

/** Rows `part (nth, begin_ms, end_ms, total, distinct_count, stored_from_ms, place)`, one a reading. */
function partRows(asks: readonly ReadingsAsked[]): RawBuilder<unknown> {
  const parts = withPlaces(asks.map(({ readings }) => readings));
  const column = (value: (one: (typeof parts)[number]) => number) => arrayLiteral(parts.map(value));
  return sql`unnest(
        ${column(({ nth }) => nth)}::int[],
        ${column(({ window }) => window.beginMs)}::bigint[], ${column(({ window }) => window.endMs)}::bigint[],
        ${column(({ reading }) => reading.total)}::bigint[], ${column(({ reading }) => reading.entries.length)}::int[],
        ${column(({ window }) => storedFromMs(window))}::bigint[]
      ) WITH ORDINALITY AS part (nth, begin_ms, end_ms, total, distinct_count, stored_from_ms, place)`;
}

/** Stored times are full seconds, so an entry may be stored up to a second before its window begins. */
const storedFromMs = ({ beginMs }: Window): number => Math.floor(beginMs / 1_000) * 1_000;

const OF_MERCHANT = sql`merchant_no = asked.merchant_no`;
/** The currencies of `asked`, as a relation `held`. */
const HELD = sql`(
        WITH RECURSIVE held (currency) AS (${heldCurrencies(ASKED_MERCHANT)})
        SELECT held.currency FROM held WHERE held.currency = coalesce(asked.currency, held.currency)
      ) AS held`;
const OWN = sql`(coalesce(asked.currency, ${sql.lit(EVERY_CURRENCY)}), part.begin_ms, part.end_ms)`;

interface PartPolled {
  readonly nth: number;
  /** How many entries are stored in the window, and the digest of their lines. */
  readonly count: number;
  readonly digest: string | null;
  readonly hasAbsent: boolean;
  readonly isQuarantineOpen: boolean;
  readonly isCertificateOpen: boolean;
  readonly isFailureOpen: boolean;
}

/** What is stored in the window of each reading, in the order of the readings. */
const poll = shared<ReadingsAsked, PartPolled[]>(async (db, asks) => {
  const rows = await rowsOf(db)<PartPolled>`
    WITH asked AS MATERIALIZED (SELECT * FROM ${askedOf(asks)})
    SELECT part.nth, stored.count, encode(sha256(convert_to(stored.lines, 'UTF8')), 'hex') AS digest,
      EXISTS (SELECT FROM absent_entry WHERE ${OF_MERCHANT}) AS "hasAbsent",
      EXISTS (
        SELECT FROM quarantined_entry WHERE ${OF_MERCHANT} AND released_at IS NULL
          AND span && int8range(part.begin_ms, part.end_ms, '[]')
      ) AS "isQuarantineOpen",
      NOT EXISTS (
        SELECT FROM sync_window same
        WHERE ${OF_MERCHANT} AND (same.currency, same.begin_ms, same.end_ms) = ${OWN}
          AND same.certified_at IS NOT NULL AND same.quarantined_count = 0 AND same.total = part.total
          AND same.distinct_count = part.distinct_count
      ) OR EXISTS (
        SELECT FROM sync_window inside
        WHERE ${OF_MERCHANT} AND inside.currency = coalesce(asked.currency, inside.currency)
          AND inside.begin_ms >= part.begin_ms AND inside.end_ms BETWEEN part.begin_ms AND part.end_ms
          AND (inside.currency, inside.begin_ms, inside.end_ms) <> ${OWN}
      ) AS "isCertificateOpen",
      EXISTS (
        SELECT FROM sync_window open WHERE ${OF_MERCHANT} AND certified_at IS NULL
          AND open.begin_ms <= part.end_ms AND open.end_ms >= part.begin_ms
      ) AS "isFailureOpen"
    FROM ${partRows(asks)} JOIN asked USING (nth) CROSS JOIN LATERAL (
      SELECT count(*) AS count, string_agg(line, E'\n' ORDER BY booked_ms, batch_no) AS lines
      FROM ${HELD} CROSS JOIN LATERAL (
        SELECT batch_no, booked_ms, ${ENTRY_LINE} AS line FROM ledger_entry e
        WHERE e.merchant_no = asked.merchant_no AND e.currency = held.currency AND e.vanished_at IS NULL
          AND e.booked_ms BETWEEN part.stored_from_ms AND part.end_ms
        OFFSET 0
      ) AS here
    ) AS stored
    ORDER BY place`;
  return byPlace(asks, rows);
});

/** Whether these very entries are stored. False also where their amounts are spelt in another way. */
function areStored(entries: readonly LedgerEntry[], { count, digest }: PartPolled): boolean {
  if (entries.length !== count) return false;
  const inOrder = [...entries].sort(
    (a, b) => a.bookedMs - b.bookedMs || (a.batchNo < b.batchNo ? -1 : a.batchNo > b.batchNo ? 1 : 0),
  );
  return count === 0 || digest === sha256Of(inOrder.map(lineOf).join('\n'));
}

interface Differing {
  /** Of all readings: the numbers of the entries that are not stored as they came. */
  readonly toStore: readonly string[];
  /** Of each reading, in order. */
  readonly parts: readonly { readonly isAbsenceOpen: boolean; readonly lacking: readonly string[] }[];
}

/** Compares entry by entry. */
const findDiffering = shared<ReadingsAsked, Differing>(async (db, asks) => {
  const rows = await rowsOf(db)<Differing['parts'][number] & { nth: number; toStore: readonly string[] }>`
    WITH asked AS MATERIALIZED (SELECT * FROM ${askedOf(asks)}),
    part AS MATERIALIZED (SELECT * FROM ${partRows(asks)}),
    range AS (SELECT nth, min(stored_from_ms) AS begin_ms, max(end_ms) AS end_ms FROM part GROUP BY nth),
    stored AS MATERIALIZED (
      SELECT asked.nth, here.* FROM asked JOIN range USING (nth) CROSS JOIN LATERAL ${HELD} CROSS JOIN LATERAL (
        SELECT batch_no, currency, transaction_type, credit, debit, balance, booked_at, booked_ms FROM ledger_entry e
        WHERE e.merchant_no = asked.merchant_no AND e.currency = held.currency AND e.vanished_at IS NULL
          AND e.booked_ms BETWEEN range.begin_ms AND range.end_ms
        OFFSET 0
      ) AS here
    ), differing AS MATERIALIZED (
      SELECT coalesce(sent.nth, stored.nth) AS nth, sent.batch_no AS sent_no, stored.batch_no AS stored_no,
        stored.booked_ms AS stored_ms
      FROM ${sentRowsOfEach(asks.map(({ readings }) => readings.flatMap(({ reading }) => reading.entries)))}
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
      EXISTS (
        SELECT FROM differing WHERE nth = part.nth AND stored_ms BETWEEN part.begin_ms AND part.end_ms
      ) AS "isAbsenceOpen",
      ARRAY(
        SELECT stored_no FROM differing
        WHERE nth = part.nth AND sent_no IS NULL AND stored_ms BETWEEN part.begin_ms AND part.end_ms
      ) AS lacking
    FROM part ORDER BY place`;
  return byPlace(asks, rows).map((parts) => ({ toStore: parts[0]!.toStore, parts }));
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
