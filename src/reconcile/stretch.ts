/**
 * Chains a stretch: the days from a clean end to the next one. An end of a day is clean if no entry to come can change the order
 * before it, and the entries before it can end on one balance only. Entries come as a stream: memory holds a batch, however large a
 * day is.
 */
import type { ChainedDay } from '../ledger/chain/account-days.ts';
import { foldDays } from '../ledger/chain/account-days.ts';
import { addDays, dayWindow, hasDay } from '../ledger/business-day.ts';
import { createChain } from '../ledger/chain/chain.ts';
import type { ChainEntry, ChainStep } from '../ledger/chain/chain-link.ts';
import type { Account, BusinessDay, ContinuityBreak } from '../ledger/entry.ts';
import { addAmounts, canonicalAmount, compareAmounts, subtractAmounts } from '../ledger/money.ts';
import type { DayFigures } from '../store/account-days.ts';

/** The most days with entries in a stretch. Where entries still trade places across midnight after so many, the chain is cut. */
export const DAYS_TOGETHER_MAX = 8;

export interface StretchOptions {
  readonly account: Account;
  readonly first: BusinessDay;
  /** The stretch does not end before this day, unless the chain is cut. */
  readonly through: BusinessDay;
  /** The figures of the day before, if the stretch goes on from them. */
  readonly before: DayFigures | undefined;
  readonly read: (day: BusinessDay) => AsyncIterable<readonly ChainEntry[]>;
  /** Whether a day goes on from the day before: no entry can be missing between the two. */
  readonly goesOn: (day: BusinessDay) => Promise<boolean>;
  readonly isComplete: (day: BusinessDay) => boolean;
  /** What is known of a day already: its figures, or those of an adopted statement. */
  readonly known: (day: BusinessDay) => Promise<DayFigures | undefined>;
  /** The closing of the day before that day by a statement that was adopted and not read. */
  readonly adoptedClosing: (day: BusinessDay) => string | undefined;
  readonly zone: string;
  readonly clockToleranceS: number;
  /** Null where no list knows the currency. */
  readonly minorUnits: number | null;
  readonly signal: AbortSignal;
}

export interface Stretch {
  readonly from: BusinessDay;
  readonly through: BusinessDay;
  /** In order. A break behind the stretch is not in them. */
  readonly days: readonly DayFigures[];
  readonly breaks: readonly ContinuityBreak[];
  /** The day of the last entry of the chain; null if there is no entry. */
  readonly endsOn: BusinessDay | null;
  readonly busyDays: number;
  /** Whether entries of the day before might change a break near the start, or one that another order avoided. */
  readonly wantsEarlier: boolean;
}

interface Chaining {
  readonly chain: ReturnType<typeof createChain>;
  readonly fold: ReturnType<typeof foldDays>;
  /** The day whose first entry shows the opening; null where the stretch goes on from an earlier day. */
  readonly derived: BusinessDay | null;
  readonly adopted: string | undefined;
}

export async function chainStretch(options: StretchOptions): Promise<Stretch> {
  const { first, through, before, zone, signal } = options;
  const days: BusinessDay[] = [];
  const folded = new Map<BusinessDay, ChainedDay>();
  const busy = new Set<BusinessDay>();
  let chaining = null as Chaining | null;
  let endsOn: BusinessDay | null = null;
  const take = (steps: readonly ChainStep[]): void => {
    endsOn = steps.at(-1)?.day ?? endsOn;
    for (const day of chaining!.fold.push(steps)) folded.set(day.day, day);
  };
  let isClean: boolean;
  for (let day = first; ; day = dayAfter(day, zone)) {
    days.push(day);
    for await (const entries of options.read(day)) {
      signal.throwIfAborted();
      if (entries.length === 0) continue;
      busy.add(day);
      chaining ??= begin(day, options);
      take(chaining.chain.push(entries, day));
    }
    isClean = chaining === null ? before !== undefined : isCleanEnd(chaining, day, zone);
    const isFull = busy.size >= DAYS_TOGETHER_MAX;
    if (isFull || (isClean && day >= through)) {
      isClean = true;
      break;
    }
    if (!(await options.goesOn(dayAfter(day, zone)))) break;
  }
  if (chaining !== null) {
    take(chaining.chain.end());
    for (const day of chaining.fold.end()) folded.set(day.day, day);
  }
  const made = await figuresOf(days, folded, chaining, options);
  const others = chaining?.chain.otherClosings() ?? [];
  const closings = others.map((one) => canonicalAmount(one, options.minorUnits)!.amount);
  return {
    ...{ from: first, through: days.at(-1)!, endsOn, busyDays: busy.size },
    days: markUndecided(
      made.map((one) => ({ ...one, isOrderFinal: isClean && one.day === days.at(-1) })),
      closings,
    ),
    breaks: chaining?.fold.breaks() ?? [],
    wantsEarlier: chaining?.chain.wantsEarlier() ?? false,
  };
}

export function dayAfter(day: BusinessDay, zone: string): BusinessDay {
  const after = addDays(day, 1);
  return hasDay(after, zone) ? after : dayAfter(after, zone);
}

const isCleanEnd = ({ chain }: Chaining, day: BusinessDay, zone: string): boolean =>
  chain.isSettledAt(dayWindow(day, zone).endMs + 1) && chain.hasOneEnd();

function begin(day: BusinessDay, options: StretchOptions): Chaining {
  const { before, clockToleranceS, minorUnits } = options;
  const from = before?.lastBookedMs == null ? null : { ...before, lastBookedMs: before.lastBookedMs };
  const adopted = from === null ? options.adoptedClosing(day) : undefined;
  const chain = createChain({
    clockToleranceS,
    // Where nothing came before, an account opens on zero, if its entries allow it.
    preferred: { opening: from === null ? (adopted ?? '0') : null, closing: null },
    start: from && { balance: from.closing, batchNo: from.lastBatchNo, bookedMs: from.lastBookedMs },
  });
  const fold = foldDays({ opening: from?.closing ?? null, minorUnits });
  return { chain, fold, derived: from === null ? day : null, adopted };
}

/** The figures of the days, without those that are not known to be the account's: no entry lies on them or before them. */
async function figuresOf(
  days: readonly BusinessDay[],
  folded: ReadonlyMap<BusinessDay, ChainedDay>,
  chaining: Chaining | null,
  options: StretchOptions,
): Promise<DayFigures[]> {
  const { account, before, minorUnits } = options;
  const isAdopted = (day: BusinessDay, opening: string): boolean => {
    const closing = options.adoptedClosing(day);
    return closing !== undefined && compareAmounts(closing, opening) === 0;
  };
  const derivedDay = chaining?.derived ?? null;
  const derived = derivedDay === null ? undefined : folded.get(derivedDay);
  const figures: DayFigures[] = [];
  for (const day of days) {
    const own = folded.get(day);
    const previous = figures.at(-1) ?? before;
    if (own !== undefined) {
      const restarted = day === derivedDay && !isAdopted(day, own.opening);
      const made = { ...own, currency: account.currency, restarted };
      assertFoots(account, made, day === derivedDay ? undefined : previous);
      figures.push(made);
      continue;
    }
    const known = await options.known(day);
    if (previous === undefined) {
      if (known === undefined) continue;
      const opening = derived?.opening ?? known.opening;
      figures.push({ ...emptied(known, opening), restarted: !isAdopted(day, opening) });
    } else if (known !== undefined || options.isComplete(day))
      figures.push(passedOn(day, previous, minorUnits));
  }
  return figures;
}

/** A first day without entries, be it that they have all vanished: the next day begins a new chain, and opens as this day does. */
const emptied = (known: DayFigures, opening: string): DayFigures => ({
  ...passedOn(known.day, { ...known, closing: opening }, null),
  creditTotal: subtractAmounts(known.creditTotal, known.creditTotal),
  debitTotal: subtractAmounts(known.debitTotal, known.debitTotal),
  ...{ lastBatchNo: null, lastBookedMs: null },
});

/** A day without entries closes on the balance it opens on. */
function passedOn(day: BusinessDay, before: DayFigures, minorUnits: number | null): DayFigures {
  const zero = canonicalAmount('0', minorUnits)!.amount;
  return {
    ...before,
    day,
    opening: before.closing,
    ...{ creditTotal: zero, creditCount: 0, debitTotal: zero, debitCount: 0 },
    ...{ verdict: 'continuous', breakCount: 0, breaksAfter: 0 },
    ...{ startsWithBreak: false, restarted: false, otherClosings: undefined },
  };
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
    `account day ${account.merchantNo} ${account.currency} ${made.day} does not hold together: opening ${made.opening}, ` +
      `credits ${made.creditTotal}, debits ${made.debitTotal}, closing ${made.closing}, the day before closed on ` +
      `${before?.closing ?? 'nothing'}.`,
  );
}

/** Whether the choice between several balances begins on this day: it has a break, or nothing proven comes before it. */
const beginsChoice = ({ restarted, breakCount, breaksAfter }: DayFigures): boolean =>
  restarted || breakCount > breaksAfter;

/** Marks the days that may close on other balances, from the one where the choice begins to the last. */
function markUndecided(days: readonly DayFigures[], others: readonly string[]): readonly DayFigures[] {
  const last = days.at(-1);
  if (last === undefined || others.length === 0) return days;
  let begin = Math.max(0, days.findLastIndex(beginsChoice));
  while (begin > 0 && days[begin]!.restarted && days[begin - 1]!.lastBookedMs === null) begin -= 1;
  return days.map((day, at) => {
    if (at < begin) return day;
    const off = subtractAmounts(day.closing, last.closing);
    return { ...day, otherClosings: others.map((other) => addAmounts(other, off)) };
  });
}
