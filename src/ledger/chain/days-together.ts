/**
 * Which days of an account are chained in one go. Entries of two days may trade places around midnight; such days have
 * no order of their own, and figures and statements must come from the same ones together. Pure: both ask this.
 */
import type { BusinessDay } from '../entry.ts';

/** What a chained day leaves to the next one. */
export interface DayEnd {
  readonly day: BusinessDay;
  /** False where the chain cannot be taken up between this day and the next. */
  readonly cleanEnd: boolean;
}

/** How to walk an account's days. */
export interface DayWalk<Day extends DayEnd> {
  /** The last day with figures before `day`. */
  readonly before: (day: BusinessDay) => Promise<Day | undefined>;
  /** Whether `day` takes up from `before`, rather than beginning anew after a stretch that is not proven. */
  readonly takesUp: (before: Day, day: BusinessDay) => Promise<boolean>;
}

/** Whether two neighbouring days are chained in one go: the first is open at its end, and the second takes up from it. */
export const chainedTogether = (before: DayEnd, takesUp: boolean): boolean => !before.cleanEnd && takesUp;

/** The days right before `day` that it is chained together with, in order; at most `daysMax`. */
export async function daysChainedBefore<Day extends DayEnd>(
  day: BusinessDay,
  { before, takesUp }: DayWalk<Day>,
  daysMax = Number.POSITIVE_INFINITY,
): Promise<Day[]> {
  const together: Day[] = [];
  for (let first = day; together.length < daysMax; first = together[0]!.day) {
    const earlier = await before(first);
    if (earlier === undefined || earlier.cleanEnd) break;
    if (!chainedTogether(earlier, await takesUp(earlier, first))) break;
    together.unshift(earlier);
  }
  return together;
}
