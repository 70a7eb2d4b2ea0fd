/**
 * Decides which days of an account must be chained in one go.
 *
 * Entries of two days may trade places around midnight. Such days have no order of their own, so figures and
 * statements must both take them together. Reconcile and publish both ask this file. It reads no database.
 */
import type { BusinessDay } from '../entry.ts';

/** What a chained day passes on to the next one. */
export interface DayEnd {
  readonly day: BusinessDay;
  /** False if the chain cannot be cut between this day and the next one. */
  readonly isOrderFinal: boolean;
}

/** How to find the days of an account. */
export interface DayWalk<Day extends DayEnd> {
  /** The last day before `day` that has figures. */
  readonly before: (day: BusinessDay) => Promise<Day | undefined>;
  /** Whether `day` continues from `before`. It does not if the time between them is not proven. */
  readonly takesUp: (before: Day, day: BusinessDay) => Promise<boolean>;
}

/**
 * Whether two neighbouring days are chained in one go: the second continues from the first, and no clean cut is
 * between.
 */
export const chainedTogether = (before: DayEnd, takesUp: boolean): boolean => !before.isOrderFinal && takesUp;

/** The days right before `day` that are chained in one go with it, in order; at most `daysMax`. */
export async function daysChainedBefore<Day extends DayEnd>(
  day: BusinessDay,
  { before, takesUp }: DayWalk<Day>,
  daysMax = Number.POSITIVE_INFINITY,
): Promise<Day[]> {
  const together: Day[] = [];
  for (let first = day; together.length < daysMax; first = together[0]!.day) {
    const earlier = await before(first);
    if (earlier === undefined || earlier.isOrderFinal) break;
    if (!chainedTogether(earlier, await takesUp(earlier, first))) break;
    together.unshift(earlier);
  }
  return together;
}
