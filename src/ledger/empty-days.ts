/** Finds suspicious days without entries: their weekday was busy in each of the last weeks. Reads no database. */
import { addDays } from './business-day.ts';
import type { BusinessDay } from './entry.ts';

/** How many weeks back the same weekday is compared. */
const WEEKS = 4;
/** A weekday is busy if it had at least this many entries in each of those weeks, */
export const FEWEST_MIN = 5;
/** and at least this many on average. A busy day is then empty by chance less than once in 100,000 days. */
export const AVERAGE_MIN = 12;
/** How many days before a judged day must be known. */
export const USUAL_DAYS = 7 * (WEEKS + 1);

/** A busy day without entries, with the fewest and the most entries of its weekday in the weeks before. */
export interface EmptyDay {
  readonly day: BusinessDay;
  readonly fewest: number;
  readonly most: number;
}

/** Number of entries by day; a day that is missing has none. */
export type EntriesADay = ReadonlyMap<BusinessDay, number>;

/**
 * Those of `days` that are empty though their weekday is busy. Of several such days in a row only the first is
 * returned: a merchant who closes for a week is reported once, and so is a ledger that ends.
 */
export function emptyBusyDays(entries: EntriesADay, days: readonly BusinessDay[]): EmptyDay[] {
  return days.flatMap((day) => {
    const found = emptyDay(entries, day);
    return found === null || busyDayBefore(entries, day)?.isEmpty === true ? [] : [found];
  });
}

/** The fewest and the most entries of that weekday in the weeks before; null if the weekday is not busy. */
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

/** The last busy weekday within the week before: the day before, or the Friday before a Monday. */
function busyDayBefore(entries: EntriesADay, day: BusinessDay): { readonly isEmpty: boolean } | null {
  for (let back = 1; back <= 7; back += 1) {
    const before = addDays(day, -back);
    if (usual(entries, before) !== null) return { isEmpty: (entries.get(before) ?? 0) === 0 };
  }
  return null;
}
