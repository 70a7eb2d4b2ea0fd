/** Chains some days of an account together. Entries come as a stream: memory holds a batch, however large a day is. */
import { foldDays, type ChainedDay, type DayFold } from '../ledger/chain/account-days.ts';
import { dayWindow, shownDay } from '../ledger/business-day.ts';
import { createChain, type Chain } from '../ledger/chain/chain.ts';
import type { ChainEntry, ChainStep } from '../ledger/chain/chain-link.ts';
import type { Account, BusinessDay, ContinuityBreak } from '../ledger/entry.ts';
import { addAmounts, canonicalAmount, compareAmounts, subtractAmounts } from '../ledger/money.ts';
import type { DayFigures } from '../store/account-days.ts';
import { isLedgerBegin } from '../store/ledger-past.ts';
import type { AccountInZone, KnownDays } from './account-view.ts';

export interface ChainDaysOptions {
  readonly account: Account;
  /** In order; no other day with entries lies between them. */
  readonly days: readonly BusinessDay[];
  readonly before: DayFigures | undefined;
  /** Whether no entry can be missing between the day before and the first entry, which is booked at `firstMs`. */
  readonly joins: (before: DayFigures, firstMs: number) => Promise<boolean>;
  readonly isBrokenAfter: boolean;
  /** The balance that the days close on if their entries leave several; `isCertain` if it was decided. */
  readonly closing?: { readonly balance: string; readonly isCertain: boolean } | undefined;
  readonly read: (day: BusinessDay) => AsyncIterable<readonly ChainEntry[]>;
  /** The closing of the day before that day by a statement that was adopted and not read; undefined where there is none. */
  readonly adoptedClosing?: (day: BusinessDay) => string | undefined;
  readonly zone: string;
  readonly clockToleranceS: number;
  /** Null where no list knows the currency. */
  readonly minorUnits: number | null;
  readonly signal: AbortSignal;
}

export interface ChainedDays {
  readonly days: readonly DayFigures[];
  readonly breaks: readonly ContinuityBreak[];
  /**
   * True if a break, or a place where another order avoided one, lies so near the start that entries of the day before
   * might change it.
   */
  readonly brokenAtStart: boolean;
}

export async function chainDays(options: ChainDaysOptions): Promise<ChainedDays> {
  const { account, before, minorUnits, zone, signal } = options;
  const folded: ChainedDay[] = [];
  const settled = new Set<BusinessDay>();
  let undecided: BusinessDay[] = [];
  let chaining = null as Chaining | null;
  let restarted: BusinessDay | null = null;
  /** What the first day opens on if its entries allow it: no figures come before it, and an adopted statement does. */
  let adopted: string | undefined;

  for (const day of options.days) {
    for await (const entries of options.read(day)) {
      signal.throwIfAborted();
      const first = entries[0];
      if (first === undefined) continue;
      assertOfDay(account, day, first, zone);
      if (chaining === null) {
        const taken =
          before?.lastBookedMs != null && (await options.joins(before, first.bookedMs)) ? before : null;
        if (taken === null) restarted = day;
        if (before?.lastBookedMs == null) adopted = options.adoptedClosing?.(day);
        chaining = begin(taken, options, adopted);
      }
      folded.push(...chaining.fold.push(chaining.chain.push(entries, day)));
    }
    const isSettled = chaining?.chain.isSettledAt(dayWindow(day, zone).endMs + 1) === true;
    undecided = isSettled ? [...undecided, day] : [];
    if (chaining?.chain.hasOneEnd() === true) for (const one of undecided.splice(0)) settled.add(one);
  }
  for (const one of undecided) settled.add(one);
  if (chaining !== null) {
    folded.push(...chaining.fold.push(chaining.chain.end()), ...chaining.fold.end(options.isBrokenAfter));
  }

  const figures: DayFigures[] = [];
  for (const day of options.days) {
    const own = folded.find((one) => one.day === day);
    const previous = figures.at(-1) ?? before;
    if (own === undefined) {
      const next = folded.find((one) => one.day > day);
      const isBroken =
        next === undefined ? options.isBrokenAfter : next.startsWithBreak && restarted !== next.day;
      if (previous !== undefined) figures.push(passedOn(day, previous, isBroken, minorUnits));
      continue;
    }
    const isOrderFinal = own.isOrderFinal && settled.has(day);
    const isDerived =
      restarted === day && !(adopted !== undefined && compareAmounts(adopted, own.opening) === 0);
    const made = { ...own, currency: account.currency, isOrderFinal, restarted: isDerived };
    assertFoots(account, made, restarted === day ? undefined : previous);
    figures.push(made);
  }
  const ends = options.closing?.isCertain === true ? [] : (chaining?.chain.otherClosings() ?? []);
  const others = ends.map((one) => canonicalAmount(one, minorUnits)!.amount);
  const brokenAtStart = chaining?.chain.wantsEarlier() ?? false;
  return { days: markUndecided(figures, others), breaks: chaining?.fold.breaks() ?? [], brokenAtStart };
}

interface Chaining {
  readonly chain: Chain;
  readonly fold: DayFold;
}

const begin = (
  from: DayFigures | null,
  { clockToleranceS, minorUnits, closing }: ChainDaysOptions,
  adopted: string | undefined,
): Chaining => ({
  fold: foldDays({ opening: from?.closing ?? null, minorUnits }),
  chain: createChain({
    clockToleranceS,
    // Where nothing came before, an account opens on zero, if its entries allow it.
    preferred: { opening: from === null ? (adopted ?? '0') : null, closing: closing?.balance ?? null },
    start: from && { balance: from.closing, batchNo: from.lastBatchNo, bookedMs: from.lastBookedMs! },
  }),
});

/**
 * A day without entries closes on the balance it opens on. Where the next entry does not start from that balance, what is
 * missing may belong to this day, so the break counts for it too.
 */
function passedOn(
  day: BusinessDay,
  before: DayFigures,
  isBroken: boolean,
  minorUnits: number | null,
): DayFigures {
  const zero = canonicalAmount('0', minorUnits)!.amount;
  return {
    ...before,
    day,
    opening: before.closing,
    ...{ creditTotal: zero, creditCount: 0, debitTotal: zero, debitCount: 0 },
    verdict: isBroken ? 'broken' : 'continuous',
    ...{ breakCount: isBroken ? 1 : 0, breaksAfter: isBroken ? 1 : 0 },
    ...{ startsWithBreak: false, restarted: false },
  };
}

/** Throws where an entry has another date than the clock shows at its instant: it was stored with another time zone than it is read with now. */
function assertOfDay(account: Account, day: BusinessDay, first: ChainEntry, zone: string): void {
  if (first.bookedAt.startsWith(shownDay(first.bookedMs, zone))) return;
  throw new Error(
    `${nameOf(account, day)}: entry ${first.batchNo} is booked at ${first.bookedAt}, another day; it was read with ` +
      `another time zone than ${zone}.`,
  );
}

/**
 * Throws where the opening is not the closing of the day before, or where opening + credits - debits is not the closing
 * of a day without breaks. It is checked in production too: such figures must never be stored as proven.
 */
function assertFoots(account: Account, made: DayFigures, before: DayFigures | undefined): void {
  const foots = compareAmounts(
    subtractAmounts(addAmounts(made.opening, made.creditTotal), made.debitTotal),
    made.closing,
  );
  const follows = before === undefined ? 0 : compareAmounts(before.closing, made.opening);
  if ((foots === 0 || made.verdict === 'broken') && follows === 0) return;
  throw new Error(
    `${nameOf(account, made.day)} does not hold together: opening ${made.opening}, credits ${made.creditTotal}, debits ` +
      `${made.debitTotal}, closing ${made.closing}, the day before closed on ${before?.closing ?? 'nothing'}.`,
  );
}

const nameOf = ({ merchantNo, currency }: Account, day: BusinessDay): string =>
  `account day ${merchantNo} ${currency} ${day}`;

/** Whether the choice between several balances begins on this day: it has a break, or nothing proven comes before it. */
const beginsChoice = ({ restarted, breakCount, breaksAfter }: DayFigures): boolean =>
  restarted || breakCount > breaksAfter;

/** Marks the days that may close on other balances, from the one where the choice begins to the last. */
export function markUndecided(days: readonly DayFigures[], others: readonly string[]): readonly DayFigures[] {
  const last = days.at(-1);
  if (last === undefined || others.length === 0) return days;
  const begin = Math.max(0, days.findLastIndex(beginsChoice));
  return days.map((day, at) => {
    if (at < begin) return day;
    const off = subtractAmounts(day.closing, last.closing);
    return { ...day, otherClosings: others.map((other) => addAmounts(other, off)) };
  });
}

/** Days whose closing is not certain: their entries fit several balances. */
export async function undecidedDaysBefore(day: BusinessDay, { before }: KnownDays): Promise<BusinessDay[]> {
  const days: BusinessDay[] = [];
  for (let earlier = await before(day); earlier !== undefined; earlier = await before(earlier.day)) {
    if (earlier.otherClosings === undefined) break;
    days.unshift(earlier.day);
    if (beginsChoice(earlier)) break;
  }
  return days;
}

export interface ToDecide extends Pick<ChainDaysOptions, 'days' | 'before' | 'joins' | 'read'> {
  readonly clockToleranceS: number;
}

/**
 * What the entries of some days say of the closing before them, where that is not certain. `decides`: the undecided days
 * have to be chained again together with these. Else they fit its closing, and `others` are what they may close on as well.
 */
export async function decisionOf({
  days,
  before,
  joins,
  read,
  clockToleranceS,
}: ToDecide): Promise<{ readonly decides: boolean; readonly others: readonly string[] }> {
  const nothing = { decides: false, others: [] };
  if (before?.otherClosings === undefined || before.lastBookedMs === null) return nothing;
  const { lastBatchNo, lastBookedMs, otherClosings } = before;
  let chain: Chain | null = null;
  let [closing, end] = [before.closing, before.closing];
  let breaks = 0;
  const take = (steps: readonly ChainStep[]): void => {
    for (const { entry, break: found } of steps) {
      const { credit, debit } = entry;
      closing = credit === null ? subtractAmounts(closing, debit!) : addAmounts(closing, credit);
      if (found !== null) breaks += 1;
      end = entry.balance;
    }
  };
  for (const day of days) {
    for await (const entries of read(day)) {
      if (entries[0] === undefined) continue;
      if (chain === null && !(await joins(before, entries[0].bookedMs))) return nothing;
      const known = { balance: before.closing, others: otherClosings };
      const start = { ...known, batchNo: lastBatchNo, bookedMs: lastBookedMs };
      chain ??= createChain({ clockToleranceS, start });
      take(chain.push(entries, day));
    }
  }
  if (chain === null) return nothing;
  take(chain.end());
  const ends = [end, ...chain.otherClosings()];
  const others = ends.filter((one) => compareAmounts(one, closing) !== 0);
  const isAsOpen = breaks === 0 && others.length < ends.length && others.length === otherClosings.length;
  return isAsOpen ? { decides: false, others } : { decides: true, others: [] };
}

/** The days as they are, or as decided ones if they begin the account's ledger: it begins on zero. */
export async function decidedByBegin(
  days: readonly DayFigures[],
  { db, account, zone }: AccountInZone,
): Promise<readonly DayFigures[]> {
  const first = days.find(({ lastBookedMs }) => lastBookedMs !== null);
  if (first?.restarted !== true || first.otherClosings === undefined) return days;
  if (compareAmounts(first.opening, '0') !== 0) return days;
  if (!(await isLedgerBegin(db, account, dayWindow(first.day, zone)))) return days;
  return days.map((day) => ({ ...day, otherClosings: undefined }));
}
