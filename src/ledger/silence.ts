/**
 * Finds accounts that have been silent for longer than they ever were. A platform that answers from a frozen state shows no new
 * entry, and contradicts nothing: only the account's own habit tells. Reads no database.
 */
import { addDays, daysFromTo } from './business-day.ts';
import { AVERAGE_MIN, FEWEST_MIN } from './empty-days.ts';
import type { BusinessDay } from './entry.ts';

/** How many days of an account's life are compared. */
export const HABIT_DAYS = 400;
/** Fewer days, or days of fewer weekdays, are no habit. */
const HABIT_DAYS_MIN = 3;
/** Accounts of a merchant may rest together, so that together they need to have lived through more. */
export const HABIT_DAYS_TOGETHER_MIN = 7;
/** The averages of so many of its last days are both as many as a busy day's. */
const AVERAGED_DAYS = [7, 28];
/** An account may be silent this many times longer than it ever was. */
const LONGER_FACTOR = 2;
/** After so many days a silence is believed: an account may have ended. A frozen state is found by people before that. */
export const SILENT_DAYS_MAX = 14;
const WEEKEND = new Set([0, 6]);

/** A shorter time without entries at the end of a day is never odd. */
export const TAIL_MS_MIN = 3_600_000;
/** An honest day of an account seems to be cut less than once in so many. */
const CUT_ONCE_IN = 100_000;
/** The daily counts say as much of the rate at the end of the day as so many days' ends. */
const DAYS_BY_COUNT = 4;
const DAY_MS = 86_400_000;
const FRIDAY = 5;

/** A day with entries. */
export interface ActiveDay {
  readonly count: number;
  /** From its last entry to its end; null where that is not known. */
  readonly tailMs: number | null;
}
/** Days that are missing have no entries. */
export type ActiveDays = ReadonlyMap<BusinessDay, ActiveDay>;

export interface Silence {
  /** The last day with entries. What comes after its last entry may be lacking. */
  readonly newestDay: BusinessDay;
  /** Days since then on which entries were due, and the most of them in a row before. */
  readonly days: number;
  readonly longest: number;
  /** If the newest day itself ends too early: the longest time without entries at the end of such a day before. Otherwise null. */
  readonly usualTailMs: number | null;
}

/**
 * The silence of an account up to `through`, if it is busy and was never silent for nearly as long; null otherwise. Weekdays on
 * which it never has entries do not count, and neither does a weekend that it has not lived through yet.
 */
export function silenceOf(
  active: ActiveDays,
  through: BusinessDay,
  habitDaysMin = HABIT_DAYS_MIN,
): Silence | null {
  const [first, newestDay] = [
    [...active.keys()].reduce(earlier, through),
    [...active.keys()].reduce(later, ''),
  ];
  if (active.size === 0 || newestDay > through || addDays(newestDay, SILENT_DAYS_MAX) < through) return null;
  const known = daysFromTo(later(first, addDays(newestDay, -HABIT_DAYS)), newestDay);
  const isDue = dueOn(known, active);
  const habit = known.filter(isDue);
  if (habit.length < habitDaysMin || !isBusy(habit, active)) return null;
  const days = daysFromTo(addDays(newestDay, 1), through).filter(isDue).length;
  const longest = longestEmpty(habit, active);
  const usualTailMs = usualTailOfCut(habit, active);
  const isSilent = days > LONGER_FACTOR * longest;
  return isSilent || usualTailMs !== null ? { newestDay, days, longest, usualTailMs } : null;
}

const earlier = (one: BusinessDay, other: BusinessDay): BusinessDay => (one < other ? one : other);
const later = (one: BusinessDay, other: BusinessDay): BusinessDay => (one > other ? one : other);
const weekdayOf = (day: BusinessDay): number => new Date(day).getUTCDay();

function dueOn(known: readonly BusinessDay[], days: ActiveDays): (day: BusinessDay) => boolean {
  const lived = new Set(known.map(weekdayOf));
  const active = new Set(known.filter((day) => days.has(day)).map(weekdayOf));
  return (day) => {
    const weekday = weekdayOf(day);
    return active.has(weekday) || (!lived.has(weekday) && !WEEKEND.has(weekday));
  };
}

/** By chance, a day of such an account is empty less than once in 100,000 days. */
function isBusy(habit: readonly BusinessDay[], active: ActiveDays): boolean {
  const counts = completeOnes(habit).map((day) => active.get(day)?.count ?? 0);
  const recent = counts.slice(-Math.max(...AVERAGED_DAYS)).filter((count) => count > 0);
  return (
    habit.length >= HABIT_DAYS_MIN &&
    new Set(habit.map(weekdayOf)).size >= HABIT_DAYS_MIN &&
    Math.min(...recent) >= FEWEST_MIN &&
    AVERAGED_DAYS.every((days) => average(counts.slice(-days)) >= AVERAGE_MIN)
  );
}

/**
 * The days whose counts are the account's habit. What froze may have cut the newest one, and the account may have begun in the
 * middle of its first one. Where only so few days are known that the others are no habit, these count, too.
 */
const completeOnes = (habit: readonly BusinessDay[]): readonly BusinessDay[] =>
  [habit.slice(1, -1), habit.slice(0, -1)].find((days) => days.length >= HABIT_DAYS_MIN) ?? habit;

const average = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0) / counts.length;

function longestEmpty(habit: readonly BusinessDay[], active: ActiveDays): number {
  let [longest, here] = [0, 0];
  for (const day of habit) {
    here = active.has(day) ? 0 : here + 1;
    longest = Math.max(longest, here);
  }
  return longest;
}

interface KnownDay {
  readonly count: number;
  readonly tailMs: number;
}

/**
 * If the last of these days, the newest one, ends so early that it was cut: the longest tail before. Compared are all days, and those of the same
 * weekday alone, as some end early. Friday and the weekend are never judged by other weekdays alone.
 */
function usualTailOfCut(habit: readonly BusinessDay[], active: ActiveDays): number | null {
  const newestDay = habit.at(-1)!;
  const tailMs = active.get(newestDay)?.tailMs ?? null;
  if (tailMs === null || tailMs < TAIL_MS_MIN) return null;
  const weekday = weekdayOf(newestDay);
  const before = habit.slice(1, -1).flatMap((day) => {
    const { count = 0, tailMs = null } = active.get(day) ?? {};
    return tailMs === null ? [] : [{ count, tailMs, weekday: weekdayOf(day) }];
  });
  const same = before.filter((day) => day.weekday === weekday);
  const mayBeShort = weekday === FRIDAY || WEEKEND.has(weekday);
  const compared = mayBeShort && same.length === 0 ? [] : [before, same];
  const cutBy = compared.find((days) => days.length >= HABIT_DAYS_MIN && isCut(tailMs, days));
  return cutBy === undefined ? null : longestTail(cutBy);
}

const longestTail = (days: readonly KnownDay[]): number => Math.max(...days.map((day) => day.tailMs));

/**
 * Whether a tail is more than twice the longest before, and by chance no honest day has it. How often entries come at the end of a day is
 * not known, only when the last ones came: those times are taken to be exponential, in units of the time in which such a day has one
 * entry on average. With a gamma prior that says that evenings are like the rest of the day, the next one is
 * distributed as Lomax's law says, the more widely the fewer days are known.
 */
function isCut(tailMs: number, days: readonly KnownDay[]): boolean {
  const longest = longestTail(days);
  if (tailMs <= LONGER_FACTOR * longest) return false;
  const recent = days.slice(-Math.max(...AVERAGED_DAYS));
  const shortest = Math.min(...recent.map((day) => day.tailMs));
  const waited = recent.reduce((sum, day) => sum + ((day.tailMs - shortest) * day.count) / DAY_MS, 0);
  // The account may become less busy.
  const fewest = Math.min(...recent.slice(-Math.min(...AVERAGED_DAYS)).map(({ count }) => count));
  const expected = ((tailMs - longest) * fewest) / DAY_MS;
  const shape = DAYS_BY_COUNT + recent.length - 1;
  return (1 + expected / (DAYS_BY_COUNT + waited)) ** shape > CUT_ONCE_IN;
}
