/** Which business days a run covers. Pure: the clock and what is stored come in. */
import { addDays, daysFromTo } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { UsageError } from './exit-codes.ts';

/** Longest range one run takes; a longer one is a slip more often than a wish. */
export const RANGE_DAYS_MAX = 3_660;

export interface DayRange {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

/**
 * The range asked for, checked: both ends or one (`--from D` alone ends yesterday, `--to D` alone is that one day).
 * Null without dates: the default of each merchant applies. Throws `UsageError`.
 */
export function askedRange(
  asked: { readonly from?: BusinessDay | undefined; readonly to?: BusinessDay | undefined },
  today: BusinessDay,
): DayRange | null {
  if (asked.from === undefined && asked.to === undefined) return null;
  const to = asked.to ?? (asked.from !== undefined && asked.from >= today ? asked.from : addDays(today, -1));
  const from = asked.from ?? to;
  if (from > to)
    throw new UsageError(`--from ${from} lies after --to ${to}; give the earlier day as --from.`);
  if (to > today) {
    throw new UsageError(`--to ${to} has not begun yet: today is ${today} in the platform's time zone.`);
  }
  if (daysFromTo(from, to).length > RANGE_DAYS_MAX) {
    throw new UsageError(`${from} to ${to} is more than ${RANGE_DAYS_MAX} days; split it into several runs.`);
  }
  return { from, to };
}

/**
 * The nightly default of one merchant: yesterday, the re-sweep before it, and whatever downtime left unread, so that
 * a missed night is caught up by the next one.
 */
export function nightlyRange(
  today: BusinessDay,
  resweepDays: number,
  firstUnread: BusinessDay | null,
): DayRange {
  const to = addDays(today, -1);
  const swept = addDays(to, -resweepDays);
  return { from: firstUnread !== null && firstUnread < swept ? firstUnread : swept, to };
}

/** The one range that holds every merchant's, for the record; `fallback` or yesterday where there is none. */
export function outerRange(
  ranges: ReadonlyMap<string, DayRange>,
  fallback: DayRange | null,
  today: BusinessDay,
): DayRange {
  const all = [...ranges.values()];
  if (all.length === 0) return fallback ?? { from: addDays(today, -1), to: addDays(today, -1) };
  return {
    from: all.map(({ from }) => from).reduce((a, b) => (a < b ? a : b)),
    to: all.map(({ to }) => to).reduce((a, b) => (a > b ? a : b)),
  };
}
