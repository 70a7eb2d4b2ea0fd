/**
 * Makes up a merchant's own books from its ledger, with known faults, and keeps what is true of each row. A seed always gives
 * the same books.
 */
import { stringify } from 'csv-stringify/sync';
import { offsetMs } from '../../ledger/business-day.ts';
import { fromScaled } from '../../ledger/money.ts';
import { below, seeded, type BookedEntry, type Random } from './ledger.ts';
import { minorUnitsOf } from './scenario.ts';

/** Each fault with the share of entries that have it, unless others are asked for, and what it is. */
export const FAULTS = {
  missing: { share: 0.02, about: 'the book has no row for the entry' },
  unpaid: {
    share: 0.01,
    about: 'a row at a price that other entries have, too, for which the ledger has none',
  },
  doubled: { share: 0.02, about: 'the row is there twice, under two numbers' },
  swapped: { share: 0.01, about: 'a credit recorded as a debit, or the other way round' },
  fee: { share: 0.03, about: 'the row has the amount before a fee' },
  late: { share: 0.04, about: 'the row has another day, one to six days apart' },
  merged: { share: 0.03, about: 'two to six rows are one entry' },
  split: { share: 0.02, about: 'one row is two to six entries' },
  amended: { share: 0.01, about: 'the row has another amount' },
} as const;
export type Fault = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as readonly Fault[];

/** A row of the book: its columns, in order. */
export interface OwnRow {
  readonly number: string;
  /** Local time in the zone, `YYYY-MM-DD HH:mm:ss`. */
  readonly booked: string;
  readonly currency: string;
  /** A decimal, a credit above zero. */
  readonly amount: string;
  readonly reference: string;
  readonly type: string;
}

/** Rows and entries that are one and the same. Either side may be empty. */
export interface Truth {
  readonly fault: Fault | 'none';
  /** Numbers of rows. */
  readonly rows: readonly string[];
  /** Batch numbers. */
  readonly entries: readonly string[];
}

export interface OwnBook {
  readonly rows: readonly OwnRow[];
  readonly truth: readonly Truth[];
}

export interface OwnBookOptions {
  readonly seed: string;
  readonly zone: string;
  /** The share of rows whose reference has the batch number. */
  readonly references: number;
  /** The share of entries with each fault; those left out are as in `FAULTS`. */
  readonly shares?: Partial<Readonly<Record<Fault, number>>>;
  /** The largest fee, in minor units. */
  readonly feeMax: number;
}

const DAY_MS = 86_400_000;
const MANY_MAX = 6;
/** Parts of one payout are at most this far apart. */
const APART_DAYS_MAX = 2;
const LATE_DAYS_MAX = 6;
/** The smallest entry that is made of several rows, in minor units. */
const MERGED_MIN = 100n;
/** An amended amount differs by more than a fee: from this many times the largest fee on. */
const AMENDED_FEES = 3;

/** The merchant's own book of these entries, which may be of several currencies. */
export function ownBook(entries: readonly BookedEntry[], options: OwnBookOptions): OwnBook {
  const random = seeded(`${options.seed} own book`);
  const ordered = [...entries].sort((a, b) => a.bookedMs - b.bookedMs);
  const pricesOf = repeatedAmounts(ordered);
  const used = new Set<string>();
  const rows: OwnRow[] = [];
  const truth: Truth[] = [];
  const withoutPartners: Alone[] = [];
  const write: Write = (entry, { units = entry.units, days = 0, of = [] } = {}) => {
    const number = `OWN-${String(rows.length + 1).padStart(6, '0')}`;
    rows.push({
      number,
      booked: localTime(entry.bookedMs, days, options.zone),
      currency: entry.currency,
      amount: fromScaled(units, minorUnitsOf(entry.currency)),
      reference: referenceText(of, random),
      type: entry.type,
    });
    return number;
  };
  ordered.forEach((entry, at) => {
    if (used.has(entry.batchNo)) return;
    const drawn = drawFault(random, options.shares ?? {});
    const later = drawn === 'split' ? splitOf(ordered, at, used, random) : [];
    const isTooSmall = drawn === 'merged' && entry.units ** 2n < MERGED_MIN ** 2n;
    const fault = isTooSmall || (drawn === 'split' && later.length === 0) ? 'none' : drawn;
    for (const one of [entry, ...later]) used.add(one.batchNo);
    const isNamed = random() < options.references;
    const prices = pricesOf.get(entry.currency) ?? [];
    const recording = { entry, later, isNamed, prices, options, random, write };
    const before = rows.length;
    let drawnTruths = recorded({ ...recording, fault });
    let alone = withoutPartner(drawnTruths, entry, rows.slice(before), options.zone);
    if (alone.some((one) => withoutPartners.some((other) => mayBeOne(one, other)))) {
      rows.length = before;
      drawnTruths = recorded({ ...recording, fault: 'none' });
      alone = [];
    }
    withoutPartners.push(...alone);
    truth.push(...drawnTruths);
  });
  return { rows, truth };
}

/** Faults that leave a row or an entry without a counterpart of its amount near it. */
const ALONE: readonly Truth['fault'][] = ['missing', 'unpaid', 'doubled', 'swapped', 'late', 'amended'];
const ALONE_DAYS = LATE_DAYS_MAX + 1;

interface Alone {
  readonly side: 'ledger' | 'book';
  readonly price: string;
  readonly ms: number;
}

/**
 * A row without an entry and an entry without a row, of one price and about one day, are in every respect a row with its entry: no one
 * who has only both sides can know that these are two faults. So there are none.
 */
const mayBeOne = (a: Alone, b: Alone): boolean =>
  a.side !== b.side && a.price === b.price && Math.abs(a.ms - b.ms) <= ALONE_DAYS * DAY_MS;

const withoutPartner = (
  truths: readonly Truth[],
  { currency, units, bookedMs }: BookedEntry,
  rows: readonly OwnRow[],
  zone: string,
): Alone[] =>
  truths
    .filter(({ fault }) => ALONE.includes(fault))
    .flatMap((truth): Alone[] => [
      ...truth.entries.map((): Alone => ({
        side: 'ledger',
        price: `${currency} ${fromScaled(units, minorUnitsOf(currency))}`,
        ms: Date.parse(`${localTime(bookedMs, 0, zone).replace(' ', 'T')}Z`),
      })),
      ...rows
        .filter(({ number }) => truth.rows.includes(number))
        .map((row): Alone => ({
          side: 'book',
          price: `${row.currency} ${row.amount}`,
          ms: Date.parse(`${row.booked.replace(' ', 'T')}Z`),
        })),
    ]);

/** Adds a row of the entry's day, and returns its number. `of`: the batch numbers that its reference has. */
type Write = (
  entry: BookedEntry,
  row?: { readonly units?: bigint; readonly days?: number; readonly of?: readonly string[] },
) => string;

interface Recording {
  readonly entry: BookedEntry;
  /** The further entries of a row that is several. */
  readonly later: readonly BookedEntry[];
  readonly fault: Fault | 'none';
  readonly isNamed: boolean;
  /** Amounts in its currency that several entries have. */
  readonly prices: readonly bigint[];
  readonly options: OwnBookOptions;
  readonly random: Random;
  readonly write: Write;
}

/** Writes the rows of an entry with its fault. */
function recorded(recording: Recording): Truth[] {
  const { entry, later, fault, isNamed, prices, options, random, write } = recording;
  const { units } = entry;
  const entries = [entry, ...later].map(({ batchNo }) => batchNo);
  const of = isNamed ? entries : [];
  const as = (rows: string[], what: Truth['fault'] = fault): Truth => ({ fault: what, rows, entries });
  switch (fault) {
    case 'missing':
      return [as([])];
    case 'unpaid': {
      const row = { units: prices[below(random, prices.length)] ?? BigInt(500 + below(random, 1_000_000)) };
      return [as([write(entry, { of })], 'none'), { fault, rows: [write(entry, row)], entries: [] }];
    }
    case 'doubled': {
      const first = write(entry, { of });
      const days = below(random, 2);
      return [
        as([first]),
        { fault, rows: [write(entry, { days, of: random() < 0.5 ? of : [] })], entries: [] },
      ];
    }
    case 'swapped':
      return [as([write(entry, { units: -units, of })])];
    case 'fee':
      return [as([write(entry, { units: units + BigInt(1 + below(random, options.feeMax)), of })])];
    case 'late': {
      const days = (1 + below(random, LATE_DAYS_MAX)) * (random() < 0.5 ? -1 : 1);
      return [as([write(entry, { days, of })])];
    }
    case 'merged': {
      const days = (): number => -below(random, APART_DAYS_MAX + 1);
      return [as(partsOf(units, random).map((part) => write(entry, { units: part, days: days(), of })))];
    }
    case 'split':
      return [as([write(entry, { units: later.reduce((sum, one) => sum + one.units, units), of })])];
    case 'amended': {
      const change = BigInt(AMENDED_FEES * options.feeMax + below(random, 5_000));
      return [as([write(entry, { units: random() < 0.5 ? units - change : units + change, of })])];
    }
    case 'none':
      return [as([write(entry, { of })])];
  }
}

/** By currency the amounts that more than one entry has: the prices of what the merchant sells. */
function repeatedAmounts(entries: readonly BookedEntry[]): ReadonlyMap<string, bigint[]> {
  const repeated = [...Map.groupBy(entries, ({ currency, units }) => `${currency} ${units}`).values()]
    .filter(({ length }) => length > 1)
    .map(([first]) => first!);
  const byCurrency = Map.groupBy(repeated, ({ currency }) => currency);
  return new Map([...byCurrency].map(([currency, of]) => [currency, of.map(({ units }) => units)]));
}

function drawFault(random: Random, shares: Partial<Readonly<Record<Fault, number>>>): Fault | 'none' {
  let left = random();
  for (const fault of FAULT_NAMES) {
    left -= shares[fault] ?? FAULTS[fault].share;
    if (left < 0) return fault;
  }
  return 'none';
}

/** The next unused entries of the same currency and sign within the days, one to five of them; none if there are none. */
function splitOf(
  ordered: readonly BookedEntry[],
  at: number,
  used: ReadonlySet<string>,
  random: Random,
): BookedEntry[] {
  const first = ordered[at]!;
  const count = 1 + below(random, MANY_MAX - 1);
  const found: BookedEntry[] = [];
  for (const one of ordered.slice(at + 1)) {
    if (found.length === count || one.bookedMs - first.bookedMs > APART_DAYS_MAX * DAY_MS) break;
    if (one.currency === first.currency && one.units > 0n === first.units > 0n && !used.has(one.batchNo))
      found.push(one);
  }
  return found;
}

/** Two to six parts of an amount, of its sign. */
function partsOf(units: bigint, random: Random): bigint[] {
  const count = 2 + below(random, MANY_MAX - 1);
  const weights = Array.from({ length: count }, () => BigInt(100 + below(random, 900)));
  const total = weights.reduce((sum, weight) => sum + weight, 0n);
  const parts = weights.slice(1).map((weight) => (units * weight) / total);
  return [units - parts.reduce((sum, part) => sum + part, 0n), ...parts];
}

/** The entry's own time; on another day noon, as clocks never skip that. */
function localTime(ms: number, days: number, zone: string): string {
  const local = ms + offsetMs(zone, ms) + days * DAY_MS;
  const [day, time] = new Date(local).toISOString().slice(0, 19).split('T');
  return `${day!} ${days === 0 ? time! : '12:00:00'}`;
}

function referenceText(batchNos: readonly string[], random: Random): string {
  const order = `PO-${10_000 + below(random, 90_000)}`;
  if (batchNos.length === 0) return random() < 0.5 ? order : '';
  return [batchNos.join(', '), `${order} ${batchNos.join(' ')}`, `${order} (${batchNos.join('; ')})`][
    below(random, 3)
  ]!;
}

/** The rows as a file that `books import` reads. */
export const ownBookCsv = ({ rows }: OwnBook): string =>
  stringify([...rows], { header: true, columns: COLUMNS });

const COLUMNS = ['number', 'booked', 'currency', 'amount', 'reference', 'type'];

/** The mapping of that file. */
export const ownBookMap = (merchantNo: string, zone: string): string =>
  [
    `merchant: ${JSON.stringify(merchantNo)}`,
    'format: csv',
    `zone: ${zone}`,
    'columns:',
    ...COLUMNS.map((column) => `  ${column}: ${column}`),
    '',
  ].join('\n');
