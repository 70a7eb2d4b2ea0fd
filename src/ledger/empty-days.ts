/** Which days without entries are odd: those whose weekday was busy in each of the last weeks. Pure. */
import { addDays } from './business-day.ts';
import type { BusinessDay } from './entry.ts';

/** Weeks whose same weekday says what is usual. */
const WEEKS = 4;
/** That weekday had so many entries in every one of them, */
const FEWEST_MIN = 5;
/** and so many on average: a day that only happens to be empty is then rarer than one in 100,000. */
const AVERAGE_MIN = 12;
/** Days before a judged one whose entries have to be known. */
export const USUAL_DAYS = 7 * (WEEKS + 1);

/** A busy day without entries, and how many entries its weekday had in the weeks before it. */
export interface EmptyDay {
  readonly day: BusinessDay;
  readonly fewest: number;
  readonly most: number;
}

/** Entries by day; a day that is not in it has none. */
export type EntriesADay = ReadonlyMap<BusinessDay, number>;

/**
 * Of `days`, those that have no entries though they usually do. Of empty busy days in a row only the first: whoever
 * closes for a week is told of once, and so is a ledger that ends.
 */
export function emptyBusyDays(entries: EntriesADay, days: readonly BusinessDay[]): EmptyDay[] {
  return days.flatMap((day) => {
    const found = emptyDay(entries, day);
    return found === null || busyDayBefore(entries, day)?.isEmpty === true ? [] : [found];
  });
}

/** How many entries the day's weekday had in the weeks before; null where that was not busy. */
function usual(entries: EntriesADay, day: BusinessDay): Pick<EmptyDay, 'fewest' | 'most'> | null {
  const counts = Array.from({ length: WEEKS }, (_, week) => entries.get(addDays(day, -7 * (week + 1))) ?? 0);
  const fewest = Math.min(...counts);
  const all = counts.reduce((a, b) => a + b, 0);
  return fewest < FEWEST_MIN || all < AVERAGE_MIN * WEEKS ? null : { fewest, most: Math.max(...counts) };
}

function emptyDay(entries: EntriesADay, day: BusinessDay): EmptyDay | null {
  if ((entries.get(day) ?? 0) > 0) return null;
  const range = usual(entries, day);
  return range && { day, ...range };
}

/** The last day within a week before that is usually busy: the day before, or the Friday before a Monday. */
function busyDayBefore(entries: EntriesADay, day: BusinessDay): { readonly isEmpty: boolean } | null {
  for (let back = 1; back <= 7; back += 1) {
    const before = addDays(day, -back);
    if (usual(entries, before) !== null) return { isEmpty: (entries.get(before) ?? 0) === 0 };
  }
  return null;
}
