/**
 * Plays what nights bring to an account: days are read for the first time or again, entries come late, vanish, move and are amended.
 * After each step the figures and breaks are those of a chain from scratch; and the stretches of that are one chain, nowhere cut.
 */
import fc from 'fast-check';
import { sql, type Kysely } from 'kysely';
import { foldDays } from '../../src/ledger/chain/account-days.ts';
import { createChain } from '../../src/ledger/chain/chain.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { DAYS_TOGETHER_MAX } from '../../src/reconcile/stretch.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { openReadLedger, type ReadLedger } from '../support/read-ledger.ts';
import type { Oracle } from './oracle.ts';
import { openRig } from './rig.ts';

const DAY_S = 86_400;
const FIRST_MS = Date.UTC(2026, 2, 1);
const DAYS = 10;
const CURRENCY = 'USD';

interface Line {
  readonly day: number;
  readonly second: number;
  readonly net: number;
  /** By so many seconds, within the tolerance, the platform's clock is off. */
  readonly skew: number;
  /** Whether it is booked in the second of the entry before it. */
  readonly joins: boolean;
  readonly prefix: string;
}

type Step =
  | { readonly what: 'next'; readonly days: number }
  | { readonly what: 'read'; readonly day: number; readonly days: number; readonly untilS: number | null }
  | { readonly what: 'late' | 'vanished'; readonly pick: number }
  | { readonly what: 'moved'; readonly pick: number; readonly byS: number }
  | { readonly what: 'amended'; readonly pick: number; readonly by: number }
  | { readonly what: 'emptied'; readonly day: number };

export interface StretchCase {
  readonly toleranceS: number;
  readonly opening: number;
  readonly lines: readonly Line[];
  /** Entries that the platform does not show at first. */
  readonly hidden: readonly number[];
  readonly steps: readonly Step[];
}

const nearMidnight = fc.constantFrom(0, 1, 2, DAY_S - 3, DAY_S - 2, DAY_S - 1);
const lines: fc.Arbitrary<Line> = fc.record({
  day: fc.nat(DAYS - 1),
  second: fc.oneof(
    { weight: 3, arbitrary: nearMidnight },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: DAY_S - 1 }) },
  ),
  net: fc.constantFrom(10, -10, 10, -10, 20, -20, 30),
  skew: fc.oneof(
    { weight: 2, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: -5, max: 5 }) },
  ),
  joins: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  prefix: fc.constantFrom('a', 'b', 'c'),
});
const picks = fc.nat(40);
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.record({ what: fc.constant('next' as const), days: fc.integer({ min: 1, max: 2 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('read' as const),
      day: fc.nat(DAYS - 1),
      days: fc.integer({ min: 1, max: 4 }),
      untilS: fc.oneof(
        { weight: 3, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.integer({ min: 0, max: DAY_S - 2 }) },
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constantFrom('late' as const, 'vanished' as const), pick: picks }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('moved' as const),
      pick: picks,
      byS: fc.constantFrom(-DAY_S, DAY_S, -3, 3, 1),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('amended' as const),
      pick: picks,
      by: fc.constantFrom(10, -10, 7),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('emptied' as const), day: fc.nat(DAYS - 1) }) },
);
const cases: fc.Arbitrary<StretchCase> = fc.record({
  toleranceS: fc.constantFrom(0, 2, 2, 5),
  opening: fc.constantFrom(0, 0, 50),
  lines: fc.array(lines, { minLength: 10, maxLength: 40, size: 'max' }),
  hidden: fc.array(picks, { maxLength: 4 }),
  steps: fc.array(steps, { minLength: 4, maxLength: 14, size: 'max' }),
});

const dayText = (nth: number): string => new Date(FIRST_MS + nth * DAY_S * 1_000).toISOString().slice(0, 10);

interface Booking {
  readonly batchNo: string;
  readonly net: number;
  balance: number;
  bookedMs: number;
}

/** The entries in their true order; their times are off by no more than the tolerance. */
function bookings({ lines: drawn, opening, toleranceS }: StretchCase): Booking[] {
  let balance = opening;
  let beforeS = 0;
  return [...drawn]
    .sort((a, b) => a.day - b.day || a.second - b.second)
    .map(({ day, second, net, skew, joins, prefix }, nth) => {
      const off = Math.max(-toleranceS, Math.min(toleranceS, skew));
      const at = joins ? beforeS : Math.max(0, Math.min(DAYS * DAY_S - 1, day * DAY_S + second + off));
      [beforeS, balance] = [at, balance + net];
      return {
        batchNo: `${prefix}${String(nth).padStart(3, '0')}`,
        net,
        balance,
        bookedMs: FIRST_MS + at * 1_000,
      };
    });
}

const entryOf = ({ batchNo, net, balance, bookedMs }: Booking): LedgerEntry => ({
  batchNo,
  currency: CURRENCY,
  transactionType: 'PAYMENT',
  credit: net > 0 ? String(net) : null,
  debit: net > 0 ? null : String(-net),
  balance: String(balance),
  bookedAt: new Date(bookedMs).toISOString().slice(0, 19).replace('T', ' '),
  bookedMs,
});

/** What the platform shows, and of which days it was read, until which instant. */
class Books {
  readonly #booked: Booking[];
  readonly #hidden: Set<Booking>;
  readonly readUntil = new Map<number, number>();

  constructor(drawn: StretchCase) {
    this.#booked = bookings(drawn);
    this.#hidden = new Set(drawn.hidden.map((pick) => this.#booked[pick % this.#booked.length]!));
  }

  shown(): LedgerEntry[] {
    const shown = this.#booked.filter((one) => !this.#hidden.has(one)).map(entryOf);
    return shown.sort((a, b) => a.bookedMs - b.bookedMs || (a.batchNo < b.batchNo ? -1 : 1));
  }

  /** Changes the books. Returns the days that are to be read again. */
  change(step: Step): number[] {
    if (step.what === 'read') return this.#read(step);
    if (step.what === 'next')
      return this.#read({ ...step, day: Math.max(-1, ...this.readUntil.keys()) + 1, untilS: null });
    if (step.what === 'emptied') {
      const own = this.#booked.filter((one) => dayOf(one) === step.day);
      for (const one of own) this.#hidden.add(one);
      return this.#known([step.day]);
    }
    const from =
      step.what === 'late' ? [...this.#hidden] : this.#booked.filter((one) => !this.#hidden.has(one));
    const picked = from[step.pick % Math.max(1, from.length)];
    if (picked === undefined) return [];
    const days = [dayOf(picked)];
    if (step.what === 'late') this.#hidden.delete(picked);
    if (step.what === 'vanished') this.#hidden.add(picked);
    if (step.what === 'amended') picked.balance += step.by;
    if (step.what === 'moved') {
      const last = FIRST_MS + (DAYS * DAY_S - 1) * 1_000;
      picked.bookedMs = Math.max(FIRST_MS, Math.min(last, picked.bookedMs + step.byS * 1_000));
      days.push(dayOf(picked));
    }
    return this.#known(days);
  }

  #read({ day, days, untilS }: Pick<Step & { what: 'read' }, 'day' | 'days' | 'untilS'>): number[] {
    const read = Array.from({ length: days }, (_, nth) => day + nth).filter((one) => one < DAYS);
    for (const one of read) {
      const isPart = untilS !== null && one === read.at(-1) && !this.readUntil.has(one);
      this.readUntil.set(one, isPart ? untilS : DAY_S - 1);
    }
    return read;
  }

  #known(days: readonly number[]): number[] {
    return [...new Set(days)].filter((day) => this.readUntil.has(day));
  }
}

const dayOf = ({ bookedMs }: Pick<Booking, 'bookedMs'>): number =>
  Math.floor((bookedMs - FIRST_MS) / (DAY_S * 1_000));

async function read(
  ledger: ReadLedger,
  merchantNo: string,
  books: Books,
  days: readonly number[],
): Promise<void> {
  const shown = books.shown();
  for (const day of days) {
    const beginMs = FIRST_MS + day * DAY_S * 1_000;
    const endMs = beginMs + books.readUntil.get(day)! * 1_000 + 999;
    const held = shown.filter(({ bookedMs }) => bookedMs >= beginMs && bookedMs <= endMs);
    await ledger.certified({ beginMs, endMs }, held, { merchantNo });
  }
}

interface DayRow {
  readonly day: string;
  readonly opening: string;
  readonly closing: string;
  readonly entries: number;
  readonly own_breaks: number;
  readonly clean_end: boolean;
}

/** Days before the first entry are left out: only an account that once had entries there has them. */
async function rowsOf(db: Kysely<DB>, merchantNo: string) {
  const days = await sql<DayRow>`
    SELECT day, opening, credit_total, credit_count, debit_total, debit_count, closing, verdict, break_count, breaks_after,
      jumps_in, last_batch_no, last_booked_ms, clean_end, restarted, other_closings,
      credit_count + debit_count AS entries, break_count - breaks_after AS own_breaks
    FROM account_day WHERE merchant_no = ${merchantNo} AND last_batch_no IS NOT NULL ORDER BY day`.execute(
    db,
  );
  const breaks = await sql`
    SELECT day, after_batch_no, before_batch_no, trim_scale(expected_balance) AS expected, trim_scale(found_balance) AS found,
      trim_scale(missing_net) AS missing, begin_ms, end_ms
    FROM continuity_break WHERE merchant_no = ${merchantNo} AND status = 'open'
    ORDER BY begin_ms, before_batch_no`.execute(db);
  const leading = await sql<{ day: string; closing: string }>`
    SELECT day, closing FROM account_day WHERE merchant_no = ${merchantNo} AND last_batch_no IS NULL ORDER BY day`.execute(
    db,
  );
  return { days: days.rows, breaks: breaks.rows, leading: leading.rows };
}

type Rows = Awaited<ReturnType<typeof rowsOf>>;

/** What differs, the first day of it. */
function differences(grown: Rows, made: Rows): string[] {
  const text = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row));
  const [own, wanted] = [text(grown.days), text(made.days)];
  const at = wanted.findIndex((row, nth) => row !== own[nth]);
  return [
    ...(own.length === wanted.length && at === -1
      ? []
      : [`the figures are not those of a chain from scratch: ${own.at(at)}, not ${wanted.at(at)}`]),
    ...(text(grown.breaks).join() === text(made.breaks).join()
      ? []
      : [
          `the breaks are not those of a chain from scratch: ${text(grown.breaks).join()}, not ${text(made.breaks).join()}`,
        ]),
  ];
}

/** Days before the first entry hold the balance that it starts from, where all time between is read. */
function wrongLeading(rows: Rows, books: Books): string[] {
  const last = rows.leading.at(-1);
  const first = rows.days[0];
  if (last === undefined || first === undefined) return [];
  const nth = (day: string) => (Date.parse(day) - FIRST_MS) / (DAY_S * 1_000);
  const isRead =
    nth(first.day) - nth(last.day) === 1 && [last, first].every(({ day }) => isComplete(books, nth(day)));
  return isRead && Number(last.closing) !== Number(first.opening)
    ? [
        `a day before the first entry holds another balance: ${last.day} ${last.closing}, not ${first.opening}`,
      ]
    : [];
}

const isComplete = (books: Books, day: number): boolean => books.readUntil.get(day) === DAY_S - 1;

/** Days whose figures are not those of one chain over all days that follow each other without a gap. */
function cutWrongly(rows: Rows, books: Books, toleranceS: number): string[] {
  const entries = books.shown();
  const ofDay = (day: number) => {
    const until = books.readUntil.get(day);
    const endMs = until === undefined ? -1 : FIRST_MS + (day * DAY_S + until) * 1_000 + 999;
    return entries.filter((one) => dayOf(one) === day && one.bookedMs <= endMs);
  };
  const byDay = new Map(rows.days.map((row) => [row.day, row]));
  const found: string[] = [];
  for (let day = 0; day < DAYS; day += 1) {
    if (ofDay(day).length === 0) continue;
    const chain = createChain({
      clockToleranceS: toleranceS,
      start: null,
      preferred: { opening: '0', closing: null },
    });
    const fold = foldDays({ opening: null, minorUnits: 2 });
    const folded = [];
    let busy = 0;
    for (; day < DAYS; day += 1) {
      const own = ofDay(day);
      if (own.length > 0) busy += 1;
      folded.push(...fold.push(chain.push(own, dayText(day))));
      if (!isComplete(books, day) || !(isComplete(books, day + 1) || ofDay(day + 1).length > 0)) break;
    }
    folded.push(...fold.push(chain.end()), ...fold.end());
    // So many days may be cut although their entries trade places.
    if (busy >= DAYS_TOGETHER_MAX) continue;
    for (const one of folded) {
      const row = byDay.get(one.day);
      const wanted = [one.opening, one.closing, one.breakCount - one.breaksAfter].map(Number).join();
      const own = row && [row.opening, row.closing, row.own_breaks].map(Number).join();
      if (own !== wanted) found.push(`a day is not as one chain has it: ${one.day} ${own}, not ${wanted}`);
    }
  }
  return found;
}

async function check(db: Kysely<DB>, drawn: StretchCase): Promise<readonly string[]> {
  const ledger = await openReadLedger(db);
  const reconciled = (merchantNo: string) =>
    ledger.reconciled({ accounts: { merchantNo, currencies: null }, clockToleranceS: drawn.toleranceS });
  const books = new Books(drawn);
  for (const [nth, step] of drawn.steps.entries()) {
    const days = books.change(step);
    if (days.length === 0) continue;
    await read(ledger, 'grown', books, days);
    await reconciled('grown');
    const made = `made-${nth}`;
    await read(
      ledger,
      made,
      books,
      [...books.readUntil.keys()].sort((a, b) => a - b),
    );
    await reconciled(made);
    const [grown, scratch] = [await rowsOf(db, 'grown'), await rowsOf(db, made)];
    const broken = [
      ...differences(grown, scratch),
      ...wrongLeading(grown, books),
      ...cutWrongly(scratch, books, drawn.toleranceS),
    ];
    if (broken.length > 0) return broken.map((one) => `step ${nth} (${step.what}): ${one}`);
  }
  return [];
}

export async function stretchOracle(serverUrl: string): Promise<Oracle<StretchCase>> {
  const rig = await openRig(serverUrl);
  return {
    kind: 'stretches',
    cases,
    check: async (drawn) => {
      await rig.empty();
      return check(rig.db, drawn);
    },
    close: rig.close,
  };
}
