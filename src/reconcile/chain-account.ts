/** Runs one account's chain over its changed days, and on from each to where nothing moves any more. */
import type { Kysely } from 'kysely';
import type { Account, BusinessDay, ContinuityBreak } from '../ledger/entry.ts';
import { compareAmounts, subtractAmounts, type Currencies } from '../ledger/money.ts';
import { dayWindow } from '../ledger/business-day.ts';
import type { DayFigures } from '../store/account-days.ts';
import { readAccountToChain } from '../store/entries.ts';
import type { DB } from '../store/schema.ts';
import { chainDays, type ChainedDays } from './chain-days.ts';
import { createCoverage, type Coverage } from './coverage.ts';
import { createKnownDays, type KnownDays } from './known-days.ts';

/** Days that are chained in one go at most; where entries still trade places after so many, the chain is cut. */
export const DAYS_TOGETHER_MAX = 8;
/** What one pass holds in memory and one transaction writes; the rest is left to the next pass. */
export const PASS_MAX = { days: 3_660, breaks: 20_000 } as const;

export interface FiguredDay {
  readonly figures: DayFigures;
  /** What was stored before. */
  readonly stored: DayFigures | undefined;
  readonly differs: boolean;
}

export interface ChainedAccount {
  /** Days chained, in order. */
  readonly days: readonly FiguredDay[];
  readonly breaks: readonly ContinuityBreak[];
  /** Days still to be made anew. */
  readonly left: readonly BusinessDay[];
}

export interface ChainAccountOptions {
  readonly db: Kysely<DB>;
  readonly account: Account;
  /** Days to make anew, in any order. */
  readonly changed: readonly BusinessDay[];
  readonly zone: string;
  readonly clockToleranceS: number;
  readonly currencies: Currencies;
  readonly passMax?: { readonly days: number; readonly breaks: number };
  readonly signal: AbortSignal;
}

/** Figures of every changed day, and of each later one up to the first that takes up from what it took up before. */
export async function chainAccount(options: ChainAccountOptions): Promise<ChainedAccount> {
  const { db, account, passMax = PASS_MAX } = options;
  const sight: Sight = { known: createKnownDays(db, account), covered: createCoverage(db, account) };
  const waiting = new Set(options.changed);
  const days = new Map<BusinessDay, FiguredDay>();
  const breaks = new Map<BusinessDay, ContinuityBreak[]>();
  let breakCount = 0;
  while (waiting.size > 0 && days.size < passMax.days && breakCount < passMax.breaks) {
    options.signal.throwIfAborted();
    const first = earliest(waiting)!;
    const stretch = await chainStretch(first, waiting, options, sight);
    breakCount += stretch.chained.breaks.length;
    for (const day of stretch.days) {
      waiting.delete(day);
      breaks.set(
        day,
        stretch.chained.breaks.filter((found) => found.day === day),
      );
      const stored = await sight.known.stored(day);
      const made = stretch.chained.days.find((one) => one.day === day);
      const figures = made ?? (stored === undefined ? undefined : emptied(stored));
      if (figures === undefined) continue;
      days.set(day, { figures, stored, differs: stored === undefined || differ(figures, stored) });
      sight.known.put(figures);
    }
    const next = await sight.known.storedAfter(stretch.days.at(-1)!);
    if (next !== undefined && (await moves(next, options, sight))) waiting.add(next.day);
  }
  const inOrder = [...days.values()].sort((a, b) => (a.figures.day < b.figures.day ? -1 : 1));
  return { days: inOrder, breaks: [...breaks.values()].flat(), left: [...waiting].sort() };
}

interface Sight {
  readonly known: KnownDays;
  readonly covered: Coverage;
}

/**
 * Chains `first` with the days it cannot be chained without: those before it while their ends are open, the one
 * before it where a break at the start might be mended by its entries, and those after it while its own end is open.
 */
async function chainStretch(
  first: BusinessDay,
  waiting: ReadonlySet<BusinessDay>,
  options: ChainAccountOptions,
  sight: Sight,
): Promise<{ readonly days: readonly BusinessDay[]; readonly chained: ChainedDays }> {
  const { account, clockToleranceS, zone, signal } = options;
  const read = (day: BusinessDay) => readAccountToChain(options.db, account, dayWindow(day, zone));
  const joins = (before: DayFigures, firstMs: number) => joinsAt(before, firstMs, sight);
  const days = [first];
  let before = await sight.known.before(first);
  const takeBefore = async () => {
    days.unshift(before!.day);
    before = await sight.known.before(before!.day);
  };
  const takeOpenOnes = async () => {
    while (before !== undefined && !before.cleanEnd && days.length < DAYS_TOGETHER_MAX) {
      if (!(await joinsDay(before, days[0]!, options, sight))) return;
      await takeBefore();
    }
  };
  await takeOpenOnes();
  for (let mended = false; ;) {
    const minorUnits = options.currencies.minorUnits(account.currency);
    const chained = await chainDays({
      account,
      days,
      before,
      joins,
      read,
      zone,
      clockToleranceS,
      minorUnits,
      signal,
    });
    const full = days.length >= DAYS_TOGETHER_MAX;
    if (chained.brokenAtStart && !mended && !full) {
      mended = true;
      await takeBefore();
      await takeOpenOnes();
      continue;
    }
    const last = chained.days.at(-1);
    if (last === undefined || last.cleanEnd) return { days, chained };
    const next = full ? undefined : await dayAfter(last.day, waiting, sight);
    if (next !== undefined && (await joinsDay(last, next, options, sight))) days.push(next);
    else if (full) {
      return {
        days,
        chained: { ...chained, days: [...chained.days.slice(0, -1), { ...last, cleanEnd: true }] },
      };
    } else return { days, chained };
  }
}

/** The next day with figures or changes. */
async function dayAfter(
  day: BusinessDay,
  waiting: ReadonlySet<BusinessDay>,
  { known }: Sight,
): Promise<BusinessDay | undefined> {
  const stored = (await known.storedAfter(day))?.day;
  const changed = earliest([...waiting].filter((one) => one > day));
  return earliest([stored, changed].filter((one) => one !== undefined));
}

const earliest = (days: Iterable<BusinessDay>): BusinessDay | undefined => {
  let first: BusinessDay | undefined;
  for (const day of days) if (first === undefined || day < first) first = day;
  return first;
};

/** Restarted days that now join what lies before them: days that a stretch read later has made adjacent. */
export async function joiningDays(
  options: Omit<ChainAccountOptions, 'changed'>,
  restarted: readonly BusinessDay[],
): Promise<BusinessDay[]> {
  const known = createKnownDays(options.db, options.account);
  const sight: Sight = { known, covered: createCoverage(options.db, options.account) };
  const joining: BusinessDay[] = [];
  for (const day of restarted) {
    const before = await known.storedBefore(day);
    if (before !== undefined && (await joinsDay(before, day, options, sight))) joining.push(day);
  }
  return joining;
}

/** Whether all that lies between a day's last entry and an instant is under certificate. */
const joinsAt = async (before: DayFigures, firstMs: number, { covered }: Sight): Promise<boolean> =>
  before.lastBookedMs !== null &&
  (firstMs <= before.lastBookedMs || (await covered({ beginMs: before.lastBookedMs, endMs: firstMs })));

/** The same up to a day's first entry; true for a day without any. */
async function joinsDay(
  before: DayFigures,
  day: BusinessDay,
  { db, account, zone }: Pick<ChainAccountOptions, 'db' | 'account' | 'zone'>,
  sight: Sight,
): Promise<boolean> {
  for await (const [first] of readAccountToChain(db, account, dayWindow(day, zone), {
    batchSize: 1,
  })) {
    return first === undefined || joinsAt(before, first.bookedMs, sight);
  }
  return true;
}

/** Whether a stored day would now take up from something else than before. */
async function moves(next: DayFigures, options: ChainAccountOptions, sight: Sight): Promise<boolean> {
  const now = await sight.known.before(next.day);
  const then = await sight.known.storedBefore(next.day);
  if (now === undefined) return false;
  if (next.restarted) return joinsDay(now, next.day, options, sight);
  return (
    then === undefined ||
    compareAmounts(now.closing, then.closing) !== 0 ||
    now.lastBatchNo !== then.lastBatchNo ||
    now.lastBookedMs !== then.lastBookedMs ||
    now.cleanEnd !== then.cleanEnd
  );
}

/** A day whose entries all vanished and that nothing lies before: its row stays, and the next day begins anew. */
const emptied = (stored: DayFigures): DayFigures => ({
  ...stored,
  creditTotal: subtractAmounts(stored.creditTotal, stored.creditTotal),
  creditCount: 0,
  debitTotal: subtractAmounts(stored.debitTotal, stored.debitTotal),
  debitCount: 0,
  closing: stored.opening,
  verdict: 'continuous',
  breakCount: 0,
  lastBatchNo: null,
  lastBookedMs: null,
  cleanEnd: true,
  restarted: true,
});

const differ = (figures: DayFigures, stored: DayFigures): boolean =>
  compareAmounts(figures.opening, stored.opening) !== 0 ||
  compareAmounts(figures.creditTotal, stored.creditTotal) !== 0 ||
  figures.creditCount !== stored.creditCount ||
  compareAmounts(figures.debitTotal, stored.debitTotal) !== 0 ||
  figures.debitCount !== stored.debitCount ||
  compareAmounts(figures.closing, stored.closing) !== 0 ||
  figures.verdict !== stored.verdict ||
  figures.breakCount !== stored.breakCount ||
  figures.lastBatchNo !== stored.lastBatchNo ||
  figures.lastBookedMs !== stored.lastBookedMs ||
  figures.cleanEnd !== stored.cleanEnd ||
  figures.restarted !== stored.restarted;
