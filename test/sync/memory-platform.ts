/** A platform in memory: answers page queries like sp2404, in any order, with late entries and faults. */
import { instantsOf } from '../../src/ledger/business-day.ts';
import type { LedgerEntry, UnreadableEntry, Window } from '../../src/ledger/entry.ts';
import type { LedgerPage, LedgerPageQuery, LedgerReader } from '../../src/platform/ledger-reader.ts';
import { PAGE_SIZE_MAX } from '../../src/platform/wire.ts';
import { tzOffset } from '@date-fns/tz';
import { randomOf } from '../support/random.ts';

/** One line of the platform's books. The platform filters by `trueMs`. */
export interface Booking {
  readonly batchNo: string;
  readonly currency: string;
  readonly credit: string;
  readonly trueMs: number;
  /** The zone of its timestamp; left out if it is the platform's. */
  readonly zone?: string;
  /** It is sent, but cannot be read. */
  readonly unreadable?: UnreadableEntry;
}

export interface Faults {
  readonly order?: 'time' | 'latest first' | 'shuffled';
  /** Probability that a reply's total is wrong. */
  readonly wrongTotals?: number;
  /** Probability that an entry of a page comes twice, in place of another. */
  readonly doubled?: number;
  /** Probability that a page lacks its last entry. */
  readonly short?: number;
  /** Probability that a page has an entry with another time, in place of one. */
  readonly outOfScope?: number;
  readonly ignoresBatchNo?: boolean;
  readonly ignoresWindow?: boolean;
  /** Dates are ignored in queries with a batchNo. */
  readonly ignoresWindowBesideBatchNo?: boolean;
  /** In queries with a batchNo only one of the two dates is used. */
  readonly heedsBesideBatchNo?: 'begin' | 'end';
}

export interface MemoryPlatform {
  readonly reader: LedgerReader;
  readonly bookings: Booking[];
  /** The queries that were answered, in order. */
  readonly queries: LedgerPageQuery[];
  /** What the platform has booked in a window, as a correct reader would read it. */
  readonly truth: (window: Window, currency?: string) => LedgerEntry[];
}

export interface MemoryPlatformOptions {
  readonly bookings: readonly Booking[];
  readonly faults?: Faults;
  /** The zone in which the platform writes timestamps, and the zone that the reader assumes. */
  readonly zone?: string;
  readonly believedZone?: string;
  /** By how much each timestamp is later than the time filtered by; negative if it is earlier. */
  readonly lagMs?: number | ((booking: Booking) => number);
  readonly seed?: number;
  /** Called at the instant of an answer. Its changes are in the answer. */
  readonly onAnswer?: (query: LedgerPageQuery, bookings: Booking[]) => void;
  /** Called before a query is answered. */
  readonly onQuery?: (query: LedgerPageQuery, count: number, bookings: Booking[]) => void | Promise<void>;
}

const wallText = (ms: number, zone: string): string =>
  new Date(ms + tzOffset(zone, new Date(ms)) * 60_000).toISOString().slice(0, 19).replace('T', ' ');

export function createMemoryPlatform(options: MemoryPlatformOptions): MemoryPlatform {
  const { faults = {}, zone = 'UTC', believedZone = zone } = options;
  const random = randomOf(options.seed ?? 1);
  const happens = (probability: number | undefined) => probability !== undefined && random() < probability;
  const bookings = [...options.bookings];
  const queries: LedgerPageQuery[] = [];

  const bookedMsOf = (booking: Booking): number =>
    booking.trueMs + (typeof options.lagMs === 'function' ? options.lagMs(booking) : (options.lagMs ?? 0));

  const entryOf = (booking: Booking, window: Window, readZone: string): LedgerEntry => {
    const { batchNo, currency, credit } = booking;
    const bookedAt = wallText(bookedMsOf(booking), booking.zone ?? zone);
    const instants = instantsOf(bookedAt, readZone);
    const inside = instants.find(
      (ms) => ms >= Math.floor(window.beginMs / 1_000) * 1_000 && ms <= window.endMs,
    );
    const bookedMs = inside ?? instants[0]!;
    return {
      batchNo,
      currency,
      transactionType: 'T1',
      credit,
      debit: null,
      balance: '0.00',
      bookedAt,
      bookedMs,
    };
  };

  const isWithin = (
    { trueMs }: Booking,
    { beginMs, endMs }: Window,
    batchNo: string | undefined,
  ): boolean => {
    if (faults.ignoresWindow === true) return true;
    if (batchNo !== undefined && faults.ignoresWindowBesideBatchNo === true) return true;
    const heeded = batchNo === undefined ? undefined : faults.heedsBesideBatchNo;
    return (heeded === 'end' || trueMs >= beginMs) && (heeded === 'begin' || trueMs <= endMs);
  };

  const matching = ({ window, currency, batchNo }: Omit<LedgerPageQuery, 'merchant' | 'pageNum'>) =>
    bookings.filter(
      (booking) =>
        isWithin(booking, window, batchNo) &&
        (currency === undefined || booking.currency === currency) &&
        (batchNo === undefined || faults.ignoresBatchNo === true || booking.batchNo === batchNo),
    );

  const ordered = (found: Booking[]): Booking[] => {
    if (faults.order === 'shuffled') {
      for (let index = found.length - 1; index > 0; index -= 1) {
        const other = Math.floor(random() * (index + 1));
        [found[index], found[other]] = [found[other]!, found[index]!];
      }
      return found;
    }
    const sign = faults.order === 'latest first' ? -1 : 1;
    return found.sort((a, b) => sign * (a.trueMs - b.trueMs || (a.batchNo < b.batchNo ? -1 : 1)));
  };

  const page = async (query: LedgerPageQuery, signal?: AbortSignal): Promise<LedgerPage> => {
    signal?.throwIfAborted();
    queries.push(query);
    await options.onQuery?.(query, queries.length, bookings);
    await new Promise(setImmediate);
    signal?.throwIfAborted();
    options.onAnswer?.(query, bookings);
    const found = ordered(matching(query));
    const wrongBy = happens(faults.wrongTotals)
      ? (random() < 0.5 ? -1 : 1) * (1 + Math.floor(random() * 3))
      : 0;
    const shown = found.slice((query.pageNum - 1) * PAGE_SIZE_MAX, query.pageNum * PAGE_SIZE_MAX);
    if (shown.length > 1 && happens(faults.doubled)) shown[shown.length - 1] = shown[0]!;
    if (shown.length > 0 && happens(faults.short)) shown.pop();
    const outOfScope = bookings[Math.floor(random() * bookings.length)];
    if (shown.length > 0 && outOfScope !== undefined && happens(faults.outOfScope)) shown[0] = outOfScope;
    return {
      total: Math.max(0, found.length + wrongBy),
      entries: shown
        .filter(({ unreadable }) => unreadable === undefined)
        .map((booking) => entryOf(booking, query.bookedWithin ?? query.window, believedZone)),
      unreadable: shown.flatMap(({ unreadable }) => (unreadable === undefined ? [] : [unreadable])),
      notices: [],
    };
  };

  return {
    reader: { page },
    bookings,
    queries,
    truth: (window, currency) =>
      bookings
        .filter((booking) => booking.unreadable === undefined)
        .filter((booking) => currency === undefined || booking.currency === currency)
        .filter((booking) => {
          const bookedMs = Math.floor(bookedMsOf(booking) / 1_000) * 1_000;
          const isLate = options.lagMs !== undefined;
          const [atMs, fromMs] = isLate
            ? [bookedMs, Math.floor(window.beginMs / 1_000) * 1_000]
            : [booking.trueMs, window.beginMs];
          return atMs >= fromMs && atMs <= window.endMs;
        })
        .map((booking) => entryOf(booking, window, zone))
        .sort((a, b) => (a.batchNo < b.batchNo ? -1 : 1)),
  };
}

/** `count` bookings spread evenly over a window, to the ms. */
export function spread(count: number, window: Window, prefix = 'B', currency = 'USD'): Booking[] {
  const length = window.endMs - window.beginMs + 1;
  return Array.from({ length: count }, (_, index) => ({
    batchNo: `${prefix}${String(index).padStart(7, '0')}`,
    currency,
    credit: `${index}.00`,
    trueMs: window.beginMs + Math.floor((index * length) / count),
  }));
}
