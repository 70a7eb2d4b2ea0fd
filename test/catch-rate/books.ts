/** The true books of a made-up merchant, drawn at random. Amounts are complete minor units. */
import { dayOf, dayWindow } from '../../src/ledger/business-day.ts';
import { below, type Random } from '../../src/plugins/sandbox/ledger.ts';

/** One entry of the true books. */
export interface Booking {
  readonly batchNo: string;
  readonly currency: string;
  readonly type: string;
  /** Signed, a credit above zero. */
  readonly net: number;
  readonly balance: number;
  /** When it was booked. The balances follow this order. */
  readonly atMs: number;
  /** The time in its timestamp, which the platform also filters by. */
  readonly stampMs: number;
}

const MINOR_UNITS: Readonly<Record<string, number>> = { USD: 2, EUR: 2, JPY: 0, KWD: 3 };
const TYPES = ['T1', 'T2', 'T3'];
/** Entries of one account are further apart than clocks may be off, so that time alone gives their order. */
const APART_MS = 10_000;
const NET_MAX = 400_000;

/** An amount as a decimal with the currency's minor units. */
export function decimal(units: number, currency: string): string {
  const places = MINOR_UNITS[currency]!;
  const digits = String(Math.abs(units)).padStart(places + 1, '0');
  const sign = units < 0 ? '-' : '';
  return places === 0 ? sign + digits : `${sign}${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

/** The minor units of a decimal. Null if it has more significant decimals than the currency. */
export function unitsOf(text: string, currency: string): number | null {
  const places = MINOR_UNITS[currency] ?? 2;
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === '' || /[1-9]/.test(fraction.slice(places))) return null;
  return Number(`${sign}${whole}${fraction.slice(0, places).padEnd(places, '0')}`);
}

export const pick = <Item>(random: Random, items: readonly Item[]): Item =>
  items[below(random, items.length)]!;

/** Sorts the entries and calculates each balance from the one before it in its account. */
export function balanced(bookings: readonly Booking[]): Booking[] {
  const balances = new Map<string, number>();
  return [...bookings]
    .sort((a, b) => a.atMs - b.atMs)
    .map((booking) => {
      const balance = (balances.get(booking.currency) ?? 0) + booking.net;
      balances.set(booking.currency, balance);
      return { ...booking, balance };
    });
}

/** How many entries to draw, and when. */
export interface BooksShape {
  readonly zone: string;
  readonly days: readonly string[];
  readonly currencies: readonly string[];
  readonly perDay: readonly [number, number];
  /** The number of the day, from 0, from which the first account has no entries. */
  readonly quietFrom?: number | undefined;
  /** If true, the last entry of each account and day is in the last minutes before midnight. */
  readonly lateEvenings?: boolean | undefined;
}

/** Draws the books of a merchant. Its batch numbers begin with `letter`. */
export function drawBooks(shape: BooksShape, letter: string, random: Random): Booking[] {
  const bookings: Booking[] = [];
  const taken = new Set<string>();
  const batchNo = (): string => {
    const drawn = `${letter}${String(below(random, 900_000_000) + 100_000_000)}`;
    if (taken.has(drawn)) return batchNo();
    taken.add(drawn);
    return drawn;
  };
  const [least, most] = shape.perDay;
  shape.currencies.forEach((currency, account) => {
    let isFirst = true;
    shape.days.forEach((day, index) => {
      if (account === 0 && shape.quietFrom !== undefined && index >= shape.quietFrom) return;
      const { beginMs, endMs } = dayWindow(day, shape.zone);
      const slots = Math.floor((endMs + 1 - beginMs) / APART_MS) - 6;
      const times = new Set<number>();
      if (shape.lateEvenings === true) times.add(slots - 1 - below(random, 40));
      const count = least + below(random, most - least + 1);
      while (times.size < count) times.add(below(random, slots - 60));
      for (const slot of [...times].sort((a, b) => a - b)) {
        const atMs = beginMs + (slot + 3) * APART_MS;
        const size = 1 + below(random, NET_MAX);
        const net = isFirst ? 100 * NET_MAX + size : random() < 0.5 ? -size : size;
        isFirst = false;
        const type = pick(random, TYPES);
        bookings.push({ batchNo: batchNo(), currency, type, net, balance: 0, atMs, stampMs: atMs });
      }
    });
  });
  return balanced(bookings);
}

/** The entries of an account on a business day, in order. */
export const entriesOf = (
  books: readonly Booking[],
  currency: string,
  day: string,
  zone: string,
): Booking[] =>
  books.filter((booking) => booking.currency === currency && dayOf(booking.stampMs, zone) === day);
