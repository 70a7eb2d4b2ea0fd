/**
 * Finds accounts that have been silent for longer than they ever were. A platform that answers from a frozen state shows no new
 * entry, and contradicts nothing: only the account's own habit tells. Reads no database.
 */
import { addDays, daysFromTo } from './business-day.ts';
import { AVERAGE_MIN, FEWEST_MIN, type EntriesADay } from './empty-days.ts';
import type { BusinessDay } from './entry.ts';

/** How many days of an account's life are compared. */
export const HABIT_DAYS = 400;
/** Fewer days, or days of fewer weekdays, are no habit. */
const HABIT_DAYS_MIN = 3;
/** The averages of so many of its last days are both as many as a busy day's. */
const AVERAGED_DAYS = [7, 28];
/** An account may be silent this many times longer than it ever was. */
const LONGER_FACTOR = 2;
/** After so many days a silence is believed: an account may have ended. A frozen state is found by people before that. */
export const SILENT_DAYS_MAX = 14;
const WEEKEND = new Set([0, 6]);

export interface Silence {
  /** The last day with entries. */
  readonly newestDay: BusinessDay;
  /** The first day after it on which entries were due. */
  readonly from: BusinessDay;
  /** Days since then on which entries were due, and the most of them in a row before. */
  readonly days: number;
  readonly longest: number;
}

/**
 * The silence of an account up to `through`, if it is busy and was never silent for nearly as long; null otherwise. Weekdays on
 * which it never has entries do not count, and neither does a weekend that it has not lived through yet.
 */
export function silenceOf(entries: EntriesADay, through: BusinessDay): Silence | null {
  const active = [...entries].filter(([, count]) => count > 0).map(([day]) => day);
  const [first, newestDay] = [active.reduce(earlier, through), active.reduce(later, '')];
  if (active.length === 0 || newestDay >= through) return null;
  if (addDays(newestDay, SILENT_DAYS_MAX) < through) return null;
  const known = daysFromTo(later(first, addDays(newestDay, -HABIT_DAYS)), newestDay);
  const isDue = dueOn(known, entries);
  const habit = known.filter(isDue);
  if (!isBusy(habit, entries)) return null;
  const due = daysFromTo(addDays(newestDay, 1), through).filter(isDue);
  const longest = longestEmpty(habit, entries);
  return due.length === 0 || due.length <= LONGER_FACTOR * longest
    ? null
    : { newestDay, from: due[0]!, days: due.length, longest };
}

const earlier = (one: BusinessDay, other: BusinessDay): BusinessDay => (one < other ? one : other);
const later = (one: BusinessDay, other: BusinessDay): BusinessDay => (one > other ? one : other);
const weekdayOf = (day: BusinessDay): number => new Date(day).getUTCDay();

function dueOn(known: readonly BusinessDay[], entries: EntriesADay): (day: BusinessDay) => boolean {
  const lived = new Set(known.map(weekdayOf));
  const active = new Set(known.filter((day) => (entries.get(day) ?? 0) > 0).map(weekdayOf));
  return (day) => {
    const weekday = weekdayOf(day);
    return active.has(weekday) || (!lived.has(weekday) && !WEEKEND.has(weekday));
  };
}

/** By chance, a day of such an account is empty less than once in 100,000 days. */
function isBusy(habit: readonly BusinessDay[], entries: EntriesADay): boolean {
  const counts = habit.map((day) => entries.get(day) ?? 0);
  const recent = counts.slice(-Math.max(...AVERAGED_DAYS)).filter((count) => count > 0);
  return (
    habit.length >= HABIT_DAYS_MIN &&
    new Set(habit.map(weekdayOf)).size >= HABIT_DAYS_MIN &&
    Math.min(...recent) >= FEWEST_MIN &&
    AVERAGED_DAYS.every((days) => average(counts.slice(-days)) >= AVERAGE_MIN)
  );
}

const average = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0) / counts.length;

function longestEmpty(habit: readonly BusinessDay[], entries: EntriesADay): number {
  let [longest, here] = [0, 0];
  for (const day of habit) {
    here = (entries.get(day) ?? 0) > 0 ? 0 : here + 1;
    longest = Math.max(longest, here);
  }
  return longest;
}
