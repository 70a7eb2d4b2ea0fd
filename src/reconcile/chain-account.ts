/** Runs one account's chain over its changed days, and on from each to where nothing moves any more. */
import type { Kysely } from 'kysely';
import type { Account, BusinessDay, ContinuityBreak } from '../ledger/entry.ts';
import { compareAmounts, subtractAmounts, type Currencies } from '../ledger/money.ts';
import { dayWindow } from '../ledger/business-day.ts';
import { daysChainedBefore } from '../ledger/days-together.ts';
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
  const keep = (figures: DayFigures, stored: DayFigures | undefined): void => {
    days.set(figures.day, { figures, stored, differs: stored === undefined || differ(figures, stored) });
    sight.known.put(figures);
  };
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
      if (figures !== undefined) keep(figures, stored);
    }
    for (const quiet of await quietDaysBefore(stretch.chained.days, options, sight)) {
      keep(quiet, await sight.known.stored(quiet.day));
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
 * Chains `first` with the days it cannot be chained without: those before it while their ends are open, the ones
 * before it where a break at the start might be mended by their entries, and those after it while its own end is open.
 */
async function chainStretch(
  first: BusinessDay,
  waiting: ReadonlySet<BusinessDay>,
  options: ChainAccountOptions,
  sight: Sight,
): Promise<Stretch> {
  const { before } = sight.known;
  const takesUp = (earlier: DayFigures, day: BusinessDay) => joinsDay(earlier, day, options, sight);
  const earlier = await daysChainedBefore(first, { before, takesUp }, DAYS_TOGETHER_MAX - 1);
  const days = [...earlier.map(({ day }) => day), first];
  for (let mended = false; ;) {
    const chained = await chainTogether(days, options, sight);
    if (chained.brokenAtStart && !mended) {
      mended = true;
      const more = await daysThatMightMend(days[0]!, takesUp, sight);
      if (days.length + more.length <= DAYS_TOGETHER_MAX) {
        days.unshift(...more);
        continue;
      }
    }
    const last = chained.days.at(-1);
    const full = days.length >= DAYS_TOGETHER_MAX && last !== undefined;
    if (last !== undefined && !last.cleanEnd && !full) {
      const next = await dayAfter(last.day, waiting, sight);
      if (next !== undefined && (await takesUp(last, next))) {
        days.push(next);
        continue;
      }
    }
    const ended = full ? [...chained.days.slice(0, -1), { ...last, cleanEnd: true }] : chained.days;
    return { days, chained: { ...chained, days: await withTrueEnds(ended, options, sight) } };
  }
}

interface Stretch {
  readonly days: readonly BusinessDay[];
  readonly chained: ChainedDays;
}

/** Chains days in one go, from the last day before them. */
async function chainTogether(
  days: readonly BusinessDay[],
  options: ChainAccountOptions,
  sight: Sight,
  before?: DayFigures,
): Promise<ChainedDays> {
  const { account, clockToleranceS, zone, signal } = options;
  return chainDays({
    account,
    days,
    before: before ?? (await sight.known.before(days[0]!)),
    joins: (earlier, firstMs) => joinsAt(earlier, firstMs, sight),
    read: (day) => readAccountToChain(options.db, account, dayWindow(day, zone)),
    zone,
    clockToleranceS,
    minorUnits: options.currencies.minorUnits(account.currency),
    signal,
  });
}

/** The last day with entries before `day`, what lies between, and what that one was chained together with. */
async function daysThatMightMend(
  day: BusinessDay,
  takesUp: (earlier: DayFigures, day: BusinessDay) => Promise<boolean>,
  { known: { before } }: Sight,
): Promise<BusinessDay[]> {
  const days: BusinessDay[] = [];
  for (let earlier = await before(day); earlier !== undefined; earlier = await before(earlier.day)) {
    days.unshift(earlier.day);
    if (earlier.creditCount + earlier.debitCount > 0 || days.length >= DAYS_TOGETHER_MAX) break;
  }
  const open = await daysChainedBefore(days[0]!, { before, takesUp }, DAYS_TOGETHER_MAX);
  return [...open.map((one) => one.day), ...days];
}

/**
 * A chain can be taken up at an end that is called clean: days after one, chained without those before it, give the
 * same figures. Where they do not, the end is open, as publishing chains what lies between clean ends by itself.
 */
async function withTrueEnds(
  days: readonly DayFigures[],
  options: ChainAccountOptions,
  sight: Sight,
): Promise<readonly DayFigures[]> {
  const ends = [...days];
  for (let at = ends.length - 1; at > 0; at -= 1) {
    const before = ends[at - 1]!;
    if (!before.cleanEnd || ends[at]!.restarted) continue;
    const open = ends.findIndex(({ cleanEnd }, index) => index >= at && cleanEnd);
    const together = ends.slice(at, open === -1 ? ends.length : open + 1);
    const alone = await chainTogether(
      together.map(({ day }) => day),
      options,
      sight,
      before,
    );
    const same = alone.days.every((figures, index) => sameFigures(figures, together[index]!));
    if (!same) ends[at - 1] = { ...before, cleanEnd: false };
  }
  return ends;
}

/**
 * Days without entries at the start of the account, in front of a day whose opening its first entry tells: where all
 * the time up to that entry is proven, its opening is what they held. The first of them is derived as well.
 */
async function quietDaysBefore(
  chained: readonly DayFigures[],
  options: Pick<ChainAccountOptions, 'db' | 'account' | 'zone'>,
  { known, covered }: Sight,
): Promise<DayFigures[]> {
  const derived = chained.find(({ restarted, lastBookedMs }) => restarted && lastBookedMs !== null);
  if (derived === undefined) return [];
  const quiet: DayFigures[] = [];
  for (
    let day = await known.before(derived.day);
    day?.lastBookedMs === null;
    day = await known.before(day.day)
  ) {
    const firstMs = await firstBookedMs(derived.day, options);
    if (!(await covered({ beginMs: dayWindow(day.day, options.zone).beginMs, endMs: firstMs! }))) break;
    quiet.unshift({ ...day, opening: derived.opening, closing: derived.opening, restarted: false });
  }
  return quiet.map((day, index) => (index === 0 ? { ...day, restarted: true } : day));
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
    if (before === undefined) continue;
    if ((await joinsDay(before, day, options, sight)) || (await tellsBefore(before, day, options, sight))) {
      joining.push(day);
    }
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
  options: Pick<ChainAccountOptions, 'db' | 'account' | 'zone'>,
  sight: Sight,
): Promise<boolean> {
  if (before.lastBookedMs === null) return false;
  const firstMs = await firstBookedMs(day, options);
  return firstMs === undefined || joinsAt(before, firstMs, sight);
}

/** Whether a day's first entry now tells the balance of a day without entries in front of it, and did not before. */
async function tellsBefore(
  before: DayFigures,
  day: BusinessDay,
  options: Pick<ChainAccountOptions, 'db' | 'account' | 'zone'>,
  { known, covered }: Sight,
): Promise<boolean> {
  if (before.lastBookedMs !== null) return false;
  const stored = await known.stored(day);
  const firstMs = await firstBookedMs(day, options);
  if (stored === undefined || firstMs === undefined) return false;
  if (compareAmounts(stored.opening, before.closing) === 0) return false;
  return covered({ beginMs: dayWindow(before.day, options.zone).beginMs, endMs: firstMs });
}

async function firstBookedMs(
  day: BusinessDay,
  { db, account, zone }: Pick<ChainAccountOptions, 'db' | 'account' | 'zone'>,
): Promise<number | undefined> {
  for await (const [first] of readAccountToChain(db, account, dayWindow(day, zone), { batchSize: 1 })) {
    return first?.bookedMs;
  }
  return undefined;
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

const sameFigures = (a: DayFigures, b: DayFigures): boolean =>
  compareAmounts(a.opening, b.opening) === 0 &&
  compareAmounts(a.creditTotal, b.creditTotal) === 0 &&
  a.creditCount === b.creditCount &&
  compareAmounts(a.debitTotal, b.debitTotal) === 0 &&
  a.debitCount === b.debitCount &&
  compareAmounts(a.closing, b.closing) === 0 &&
  a.verdict === b.verdict &&
  a.breakCount === b.breakCount;

const differ = (figures: DayFigures, stored: DayFigures): boolean =>
  !sameFigures(figures, stored) ||
  figures.lastBatchNo !== stored.lastBatchNo ||
  figures.lastBookedMs !== stored.lastBookedMs ||
  figures.cleanEnd !== stored.cleanEnd ||
  figures.restarted !== stored.restarted;
