/** Chains an account's changed days, and after each of them the later days that change with it. */
import type { BusinessDay, ContinuityBreak } from '../ledger/entry.ts';
import type { DayFigures } from '../store/account-days.ts';
import {
  adoptedClosing,
  chainStretch,
  earliest,
  jumpsAfter,
  type Stretch,
  type StretchOptions,
} from './chain-stretch.ts';
import { knownDaysOf, type AccountInZone, type KnownDays, firstBookedMs } from './account-view.ts';
import { opensOtherwise } from './up-to-date.ts';
import { dayWindow } from '../ledger/business-day.ts';
import { compareAmounts, subtractAmounts } from '../ledger/money.ts';
import { sameStated } from '../ledger/chain/figures.ts';

/** The most that one pass holds in memory and one transaction writes. The next pass does the rest. */
export interface PassMax {
  readonly days: number;
  readonly breaks: number;
}
export const PASS_MAX: PassMax = { days: 3_660, breaks: 20_000 };

interface FiguredDay {
  readonly figures: DayFigures;
  readonly stored: DayFigures | undefined;
  readonly differs: boolean;
}

export interface ChainedAccount {
  readonly days: readonly FiguredDay[];
  readonly breaks: readonly ContinuityBreak[];
  readonly left: readonly BusinessDay[];
}

interface Front {
  readonly front: DayFigures | undefined;
  readonly jumped: boolean;
}

interface ChainAccountOptions extends StretchOptions {
  readonly changed: readonly BusinessDay[];
  readonly passMax?: PassMax;
}

/**
 * Chains every changed day, and each day after it until a day starts from the same balance as last time. A break
 * between two days counts for both of them, so the earlier day is chained again when such a break appears or goes.
 */
export async function chainAccount(options: ChainAccountOptions): Promise<ChainedAccount> {
  const { passMax = PASS_MAX } = options;
  const known = knownDaysOf(options);
  const waiting = new Set(options.changed);
  const days = new Map<BusinessDay, FiguredDay>();
  const breaks = new Map<BusinessDay, ContinuityBreak[]>();
  let breakCount = 0;
  const keep = (figures: DayFigures, stored: DayFigures | undefined): void => {
    const differs = stored === undefined || storedDiffers(figures, stored);
    days.set(figures.day, { figures, stored, differs });
    known.put(figures);
  };
  const take = async (stretch: Stretch): Promise<void> => {
    breakCount += stretch.chained.breaks.length;
    for (const day of stretch.days) {
      waiting.delete(day);
      const own = stretch.chained.breaks.filter((found) => found.day === day);
      breaks.set(day, own);
      const stored = await known.stored(day);
      const made = stretch.chained.days.find((one) => one.day === day);
      const before = stored ?? options.read?.statements.find((one) => one.day === day);
      if (made !== undefined) keep(made, stored);
      else if (before !== undefined) keep(await asAdopted(emptied(before), options, known), stored);
    }
    for (const quiet of await emptiedDaysBefore(stretch.chained.days, options, known)) {
      keep(quiet, await known.stored(quiet.day));
    }
  };
  const frontOf = async ({ days: [first] }: Stretch): Promise<Front> => {
    const front = await known.before(first!);
    return { front, jumped: front !== undefined && (await jumpsAfter(front.day, known)) };
  };
  /**
   * The earlier day closes as before, so no later day moves. But it gains or loses the break, and so do the days
   * without entries between the two. Chained again, it may start anew itself: then the day before it is next.
   */
  const chainFront = async ({ front, jumped }: Front): Promise<void> => {
    if (front === undefined || (await jumpsAfter(front.day, known)) === jumped) return;
    const again: BusinessDay[] = [];
    let at: DayFigures | undefined = front;
    while (at !== undefined && at.creditCount + at.debitCount === 0) {
      again.unshift(at.day);
      at = await known.before(at.day);
    }
    if (at !== undefined) again.unshift(at.day);
    const closing = { balance: front.closing, isCertain: front.otherClosings === undefined };
    let before: Front | undefined;
    for (const day of again) {
      const stretch = await chainStretch(day, waiting, options, known, closing);
      before ??= await frontOf(stretch);
      await take(stretch);
    }
    if (before !== undefined) await chainFront(before);
  };
  while (waiting.size > 0 && days.size < passMax.days && breakCount < passMax.breaks) {
    options.signal.throwIfAborted();
    const stretch = await chainStretch(earliest(waiting)!, waiting, options, known);
    const before = await frontOf(stretch);
    await take(stretch);
    const next = await known.storedAfter(stretch.days.at(-1)!);
    if (next !== undefined && (await reopens(next, options, known))) waiting.add(next.day);
    await chainFront(before);
  }
  const inOrder = [...days.values()].sort((a, b) => (a.figures.day < b.figures.day ? -1 : 1));
  return { days: inOrder, breaks: [...breaks.values()].flat(), left: [...waiting].sort() };
}

const reopens = async (next: DayFigures, own: AccountInZone, known: KnownDays): Promise<boolean> =>
  opensOtherwise(next, await known.before(next.day), await known.storedBefore(next.day), own);

/** A first day whose entries have all vanished: its row stays, with no entry, and the next day begins a new chain. */
const emptied = (stored: DayFigures): DayFigures => ({
  ...stored,
  otherClosings: undefined,
  ...{ creditTotal: subtractAmounts(stored.creditTotal, stored.creditTotal), creditCount: 0 },
  ...{ debitTotal: subtractAmounts(stored.debitTotal, stored.debitTotal), debitCount: 0 },
  closing: stored.opening,
  verdict: 'continuous',
  ...{ breakCount: 0, breaksAfter: 0, startsWithBreak: false },
  ...{ lastBatchNo: null, lastBookedMs: null, isOrderFinal: true, restarted: true },
});

/** A day without entries and without figures before it, that opens on the closing of an adopted statement of the day before, is not derived. */
async function asAdopted(figures: DayFigures, options: AccountInZone, known: KnownDays): Promise<DayFigures> {
  const closing = adoptedClosing(figures.day, options);
  const goesOn = closing !== undefined && compareAmounts(closing, figures.opening) === 0;
  return goesOn && (await known.before(figures.day)) === undefined
    ? { ...figures, restarted: false }
    : figures;
}

/**
 * Days without entries at the start of an account, before a day whose opening is derived from its first entry. Where all
 * the time up to that entry is proven, nothing moved on them: that opening is their balance too. The first of them is
 * marked as derived, as the day was.
 */
async function emptiedDaysBefore(
  chained: readonly DayFigures[],
  options: AccountInZone,
  known: KnownDays,
): Promise<DayFigures[]> {
  const derived = chained.find(({ restarted, lastBookedMs }) => restarted && lastBookedMs !== null);
  if (derived === undefined) return [];
  const quiet: DayFigures[] = [];
  const { opening, otherClosings } = derived;
  let day = await known.before(derived.day);
  for (; day?.lastBookedMs === null; day = await known.before(day.day)) {
    const endMs = await firstBookedMs(derived.day, options);
    const { beginMs } = dayWindow(day.day, options.zone);
    if (!(await options.isCertified({ beginMs, endMs: endMs! }))) break;
    quiet.unshift({ ...day, opening, closing: opening, restarted: false, otherClosings });
  }
  return quiet.map((day, index) => (index === 0 ? { ...day, restarted: true } : day));
}

const storedDiffers = (figures: DayFigures, stored: DayFigures): boolean =>
  !sameStated(figures, stored) ||
  (['lastBatchNo', 'lastBookedMs', 'isOrderFinal', 'startsWithBreak'] as const).some(
    (figure) => figures[figure] !== stored[figure],
  );
