/** Chains a day together with the days around it that its order of entries depends on, and with no others. */
import { daysChainedBefore } from '../ledger/chain/days-together.ts';
import { dayBefore } from '../ledger/business-day.ts';
import { sameFigures } from '../ledger/chain/figures.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { Currencies } from '../ledger/money.ts';
import type { DayFigures } from '../store/account-days.ts';
import {
  decidedByBegin,
  decisionOf,
  undecidedDaysBefore,
  chainDays,
  type ChainDaysOptions,
  type ChainedDays,
  markUndecided,
} from './chain-days.ts';
import {
  isProvenUpTo,
  isProvenUpToDay,
  readDay,
  type AccountInZone,
  type KnownDays,
} from './account-view.ts';

/** Whether a day goes on from an earlier one. */
type TakesUp = (earlier: DayFigures, day: BusinessDay) => Promise<boolean>;

/** The most days chained together. Where entries still trade places across midnight after so many, the chain is cut. */
const DAYS_TOGETHER_MAX = 8;

export interface StretchOptions extends AccountInZone {
  readonly clockToleranceS: number;
  readonly currencies: Currencies;
  readonly signal: AbortSignal;
}

/**
 * Chains `first` together with the days before it whose end is open, the days before it whose entries might heal a break
 * at its start or whose closing it decides, and the days after it while its own end is open. `closing`: see
 * `ChainDaysOptions`. The end of a day is open while its last entries may
 * still trade places with the first ones of the next day.
 */
export async function chainStretch(
  first: BusinessDay,
  waiting: ReadonlySet<BusinessDay>,
  options: StretchOptions,
  known: KnownDays,
  closing?: ChainDaysOptions['closing'],
): Promise<Stretch> {
  const { before } = known;
  const takesUp = (earlier: DayFigures, day: BusinessDay) => isProvenUpToDay(earlier, day, options);
  const earlier = await daysChainedBefore(first, { before, takesUp }, DAYS_TOGETHER_MAX - 1);
  const days = [...earlier.map(({ day }) => day), first];
  const decided: BusinessDay[] = [];
  const isFull = (more: number): boolean => days.length - decided.length + more > DAYS_TOGETHER_MAX;
  for (;;) {
    const isBrokenAfter = await jumpsAfter(days.at(-1)!, known);
    const asked = { ...optionsOf(options), days, before: await known.before(days[0]!) };
    const { decides, others } = await decisionOf(asked);
    if (decides) {
      decided.push(...(await withOpenDays(await undecidedDaysBefore(days[0]!, known), takesUp, known)));
      days.unshift(...decided);
    }
    const together = await chainTogether(days, { ...options, isBrokenAfter, closing }, known);
    const chained =
      others.length === 0 ? together : { ...together, days: markUndecided(together.days, others) };
    if (chained.brokenAtStart) {
      const more = await daysThatMightHeal(days[0]!, takesUp, known);
      if (more.length > 0 && !isFull(more.length)) {
        days.unshift(...more);
        continue;
      }
    }
    const last = chained.days.at(-1);
    const full = isFull(1) && last !== undefined;
    if (last !== undefined && !last.isOrderFinal && !full) {
      const next = await dayAfter(last.day, waiting, known);
      if (next !== undefined && (await takesUp(last, next))) {
        days.push(next);
        continue;
      }
    }
    const ended = full ? [...chained.days.slice(0, -1), { ...last, isOrderFinal: true }] : chained.days;
    const trueEnds = await withTrueEnds(ended, options, known);
    return { days, chained: { ...chained, days: await decidedByBegin(trueEnds, options) } };
  }
}

export type Stretch = Readonly<{ days: readonly BusinessDay[]; chained: ChainedDays }>;

/** The closing of the day before by a statement that was adopted and not read. */
export const adoptedClosing = (day: BusinessDay, { read, zone }: AccountInZone): string | undefined =>
  read?.statements.find((one) => one.day === dayBefore(day, zone))?.closing;

async function chainTogether(
  days: readonly BusinessDay[],
  options: StretchOptions & Pick<ChainDaysOptions, 'isBrokenAfter' | 'closing'>,
  known: KnownDays,
  before?: DayFigures,
): Promise<ChainedDays> {
  const { account, isBrokenAfter, closing, zone, signal } = options;
  return chainDays({
    ...optionsOf(options),
    ...{ account, days, isBrokenAfter, closing, zone, signal },
    before: before ?? (await known.before(days[0]!)),
    adoptedClosing: (day) => adoptedClosing(day, options),
    minorUnits: options.currencies.minorUnits(account.currency),
  });
}

const optionsOf = (options: StretchOptions) => ({
  joins: (earlier: DayFigures, firstMs: number) => isProvenUpTo(earlier, firstMs, options),
  read: (day: BusinessDay) => readDay(day, options),
  clockToleranceS: options.clockToleranceS,
});

async function daysThatMightHeal(
  day: BusinessDay,
  takesUp: TakesUp,
  known: KnownDays,
): Promise<readonly BusinessDay[]> {
  const { before } = known;
  const days: BusinessDay[] = [];
  for (let earlier = await before(day); earlier !== undefined; earlier = await before(earlier.day)) {
    days.unshift(earlier.day);
    if (earlier.creditCount + earlier.debitCount > 0 || days.length >= DAYS_TOGETHER_MAX) break;
  }
  return withOpenDays(days, takesUp, known);
}

async function withOpenDays(
  days: readonly BusinessDay[],
  takesUp: TakesUp,
  { before }: KnownDays,
): Promise<readonly BusinessDay[]> {
  if (days[0] === undefined) return [];
  const open = await daysChainedBefore(days[0], { before, takesUp }, DAYS_TOGETHER_MAX);
  return [...open.map((one) => one.day), ...days];
}

/**
 * Marks a clean end as open where the days after it get other figures when they are chained alone: publishing chains the
 * days between two clean ends alone, and has to come to the same figures.
 */
async function withTrueEnds(
  days: readonly DayFigures[],
  options: StretchOptions,
  known: KnownDays,
): Promise<readonly DayFigures[]> {
  const ends = [...days];
  for (let at = ends.length - 1; at > 0; at -= 1) {
    const before = ends[at - 1]!;
    if (!before.isOrderFinal || ends[at]!.restarted) continue;
    const open = ends.findIndex(({ isOrderFinal }, index) => index >= at && isOrderFinal);
    const together = ends.slice(at, open === -1 ? ends.length : open + 1);
    const isBrokenAfter = await jumpsAfter(together.at(-1)!.day, known, ends);
    const alone = await chainTogether(
      together.map(({ day }) => day),
      { ...options, isBrokenAfter, closing: { balance: together.at(-1)!.closing, isCertain: false } },
      known,
      before,
    );
    const same = alone.days.every((figures, index) => sameFigures(figures, together[index]!));
    if (!same) ends[at - 1] = { ...before, isOrderFinal: false };
  }
  return ends;
}

/**
 * Whether the first entry after `day` does not start from the balance that `day` ends on. This was found when that
 * entry's own day was chained. `made` are days of this pass that are not among the known ones yet.
 */
export async function jumpsAfter(
  day: BusinessDay,
  known: KnownDays,
  made: readonly DayFigures[] = [],
): Promise<boolean> {
  for (let at = day; ;) {
    const next = made.find((one) => one.day > at) ?? (await known.after(at));
    if (next === undefined) return false;
    if (next.creditCount + next.debitCount > 0) return next.startsWithBreak && !next.restarted;
    at = next.day;
  }
}

async function dayAfter(
  day: BusinessDay,
  waiting: ReadonlySet<BusinessDay>,
  known: KnownDays,
): Promise<BusinessDay | undefined> {
  const stored = (await known.storedAfter(day))?.day;
  const changed = earliest([...waiting].filter((one) => one > day));
  return earliest([stored, changed].filter((one) => one !== undefined));
}

export const earliest = (days: Iterable<BusinessDay>): BusinessDay | undefined => {
  let first: BusinessDay | undefined;
  for (const day of days) if (first === undefined || day < first) first = day;
  return first;
};
