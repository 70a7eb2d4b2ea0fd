/**
 * Compares readings with what is stored before anything is written: most nights nearly all that comes is stored already.
 *
 * It is made outside the transaction that writes. Only the holder of the lease writes a merchant's ledger, and no write
 * succeeds without the lease, so what was seen here still holds when it is written.
 */
import type { LedgerEntry, UnreadableEntry, Window } from '../ledger/entry.ts';
import { covers, isWithin, overlaps } from '../ledger/window.ts';
import { completeWithin } from './certificates.ts';
import { heldCurrencies } from './entries.ts';
import { type Db, rowsOf } from './engine/database.ts';
import { sentRows } from './store-entries.ts';

interface Unstored {
  readonly entries: readonly LedgerEntry[];
  /** Stored entries may be absent from the reading, or absent ones may have come again. */
  readonly isAbsenceOpen: boolean;
  /** Numbers of the stored entries that did not come. Not given for readings that are to be written fully. */
  readonly lacking: readonly string[];
  readonly isQuarantineOpen: boolean;
  /** The window is not under certificate. */
  readonly isUnproven: boolean;
}

export interface Compared {
  readonly part: WindowToStore;
  readonly unstored: Unstored;
}

/** Most entries compared in one statement. Its parameters are about 100 bytes for each. */
const ENTRIES_MAX = 10_000;

/**
 * What of each reading is to be written. The readings are of one merchant, and of windows that do not overlap. Where one is not
 * certified or has unreadable entries, or where they are very large, all of them is to be written.
 */
export async function compareWithStored(db: Db, readings: readonly WindowToStore[]): Promise<Unstored[]> {
  const isPlain = readings.every(({ reading }) => reading.certified && reading.unreadable.length === 0);
  const came = readings.flatMap(({ reading }) => reading.entries);
  if (!isPlain || came.length > ENTRIES_MAX) return readings.map(fully);
  const { merchantNo } = readings[0]!;
  const range = {
    beginMs: Math.min(...readings.map(({ window }) => window.beginMs)),
    endMs: Math.max(...readings.map(({ window }) => window.endMs)),
  };
  const differing = await findDiffering(db, merchantNo, range, came);
  const toStore = new Set(differing.map(({ sentNo }) => sentNo));
  const hasAbsent = await isAnyAbsent(db, merchantNo);
  const unreadable = await unreadableIn(db, merchantNo, range);
  const complete = await completeWithin(db, merchantNo, range);
  return readings.map(({ window, reading }) => {
    const own = differing.filter(
      ({ storedMs }) => storedMs !== null && isWithin({ beginMs: storedMs, endMs: storedMs }, window),
    );
    return {
      entries: reading.entries.filter(({ batchNo }) => toStore.has(batchNo)),
      isAbsenceOpen: hasAbsent || own.length > 0,
      lacking: own.flatMap(({ sentNo, storedNo }) => (sentNo === null ? [storedNo!] : [])),
      isQuarantineOpen: unreadable.some((span) => overlaps(span, window)),
      isUnproven: !covers(complete, window),
    };
  });
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

export const isAllStored = (one: Unstored): boolean =>
  one.entries.length === 0 && !one.isAbsenceOpen && !one.isQuarantineOpen && !one.isUnproven;

const fully = ({ reading }: WindowToStore): Unstored => ({
  entries: reading.entries,
  isAbsenceOpen: true,
  lacking: [],
  isQuarantineOpen: true,
  isUnproven: true,
});

/** An entry that came and is not stored like that, or one that is stored and did not come like that. */
interface Differing {
  readonly sentNo: string | null;
  readonly storedNo: string | null;
  readonly storedMs: number | null;
}

/** Stored times are full seconds, so an entry may be stored up to a second before its window begins. */
const storedFromMs = ({ beginMs }: Window): number => Math.floor(beginMs / 1_000) * 1_000;

/** Compares entry by entry. */
const findDiffering = (
  db: Db,
  merchantNo: string,
  range: Window,
  came: readonly LedgerEntry[],
): Promise<Differing[]> => rowsOf(db)<Differing>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)}), stored AS MATERIALIZED (
      SELECT here.* FROM held CROSS JOIN LATERAL (
        SELECT batch_no, currency, transaction_type, credit, debit, balance, booked_at, booked_ms FROM ledger_entry e
        WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
          AND e.booked_ms BETWEEN ${storedFromMs(range)} AND ${range.endMs}
        OFFSET 0
      ) AS here
    )
    SELECT sent.batch_no AS "sentNo", stored.batch_no AS "storedNo", stored.booked_ms AS "storedMs"
    FROM ${sentRows(came)} FULL JOIN stored ON sent.batch_no = stored.batch_no
    WHERE (sent.batch_no, sent.currency, sent.transaction_type, sent.credit, sent.debit, sent.balance, sent.booked_at,
        sent.booked_ms)
      IS DISTINCT FROM (stored.batch_no, stored.currency, stored.transaction_type, stored.credit, stored.debit,
        stored.balance, stored.booked_at, stored.booked_ms)`;

async function isAnyAbsent(db: Db, merchantNo: string): Promise<boolean> {
  const found = await db
    .selectFrom('absent_entry')
    .select('batch_no')
    .where('merchant_no', '=', merchantNo)
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Where unreadable entries can lie that the platform sent when it was read last. */
const unreadableIn = (db: Db, merchantNo: string, { beginMs, endMs }: Window) => rowsOf(db)<Window>`
    SELECT lower(part) AS "beginMs", upper(part) - 1 AS "endMs"
    FROM quarantined_entry q CROSS JOIN LATERAL unnest(q.span) AS part
    WHERE q.merchant_no = ${merchantNo} AND q.released_at IS NULL AND lower(part) <= ${endMs} AND upper(part) > ${beginMs}`;

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
