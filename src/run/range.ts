/** Works out which business days a run covers. Pure: the clock and what is stored are parameters. */
import { addDays, dayOf, daysFromTo, dayWindow, hasDay } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import type { DaysLate, LatenessMeasured } from '../ledger/lateness.ts';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from '../platform/wire.ts';
import { UsageError } from './verdict/exit-codes.ts';

/** Most days that one run covers; a longer range is more likely a typing mistake. */
const RANGE_DAYS_MAX = 3_660;

export interface DayRange {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

/** A lookback that reaches further back than the settings ask for, as entries were measured to come late. */
export interface ExtendedLookback {
  /** Days before yesterday that it reads again, as far as the ledger was read before. */
  readonly days: number;
  /** As many as lateness asks for. They are more than `days` where a setting allows no more. */
  readonly asked: number;
  /** How late the entries came that it is to find. */
  readonly lateness: DaysLate;
}

export interface MerchantDays extends DayRange {
  /** Further days: from ranges that were asked for earlier and are not finished, and those of absent entries. */
  readonly backlogDays: readonly DayRange[];
  /**
   * Days of the nightly range before the first certified instant. If this run fails to read them, no gap between
   * certified days shows it, so a later run would never come back to them. They are therefore recorded as a requested
   * range. Null if there are none.
   */
  readonly beforeProof: DayRange | null;
  /**
   * Windows that were certified and reconciled before this run: all of them or, if days were asked for, those inside
   * these days.
   */
  readonly knownBefore: readonly Window[];
  /** Windows before these days that were certified before this run; empty if days were asked for. */
  readonly certifiedBefore: readonly Window[];
  readonly lateness: LatenessMeasured;
  readonly widerSweep: ExtendedLookback | null;
}

/** The first and the last day for which the platform can be asked in full, as its timestamps have 13 digits. */
export function askableDays(zone: string): DayRange {
  const [from, to] = [dayOf(INSTANT_MS_MIN, zone), dayOf(INSTANT_MS_MAX, zone)];
  return {
    from: dayWindow(from, zone).beginMs >= INSTANT_MS_MIN ? from : addDays(from, 1),
    to: dayWindow(to, zone).endMs <= INSTANT_MS_MAX ? to : addDays(to, -1),
  };
}

/**
 * Throws `UsageError` for a day outside the time that the platform can be asked about. `flag` names the option that the
 * day came from.
 */
export function assertAskable(flag: string, day: BusinessDay, zone: string): void {
  const askable = askableDays(zone);
  const asked = `${flag} ${day} cannot be asked for:`;
  const why = "as the platform's timestamps have 13 digits";
  if (day < askable.from) throw new UsageError(`${asked} the earliest day is ${askable.from}, ${why}.`);
  if (day > askable.to) throw new UsageError(`${asked} the latest day is ${askable.to}, ${why}.`);
}

/**
 * Checks the range asked for, of which one end may be left out: `--from D` alone ends yesterday, `--to D` alone is
 * that one day. Null without dates, as then each merchant has its own nightly range. Throws `UsageError`.
 */
export function askedRange(
  asked: { readonly from?: BusinessDay | undefined; readonly to?: BusinessDay | undefined },
  today: BusinessDay,
  zone: string,
): DayRange | null {
  if (asked.from !== undefined) assertAskable('--from', asked.from, zone);
  if (asked.to !== undefined) assertAskable('--to', asked.to, zone);
  if (asked.from === undefined && asked.to === undefined) return null;
  const to = asked.to ?? (asked.from !== undefined && asked.from >= today ? asked.from : addDays(today, -1));
  const from = asked.from ?? to;
  if (from > to)
    throw new UsageError(`--from ${from} lies after --to ${to}; give the earlier day as --from.`);
  if (to > today)
    throw new UsageError(`--to ${to} has not begun yet: today is ${today} in the platform's time zone.`);
  if (!daysFromTo(from, to).some((day) => hasDay(day, zone)))
    throw new UsageError(
      `there was no ${from} in the time zone ${zone}, which skipped it; name another day.`,
    );
  if (daysFromTo(from, to).length > RANGE_DAYS_MAX)
    throw new UsageError(`${from} to ${to} is more than ${RANGE_DAYS_MAX} days; split it into several runs.`);
  return { from, to };
}

/**
 * The nightly range of one merchant: yesterday and the `resweepDays` days before it. It begins earlier if one of the
 * `earlier` days lies before that: the first day that was not read because of downtime, so that the next night
 * catches up; or the first day of a wider sweep for late entries. A null among `earlier` is ignored.
 */
export function nightlyRange(
  today: BusinessDay,
  resweepDays: number,
  ...earlier: readonly (BusinessDay | null)[]
): DayRange {
  const to = addDays(today, -1);
  const froms = earlier.filter((day) => day !== null);
  return { from: froms.reduce((first, day) => (day < first ? day : first), addDays(to, -resweepDays)), to };
}

/**
 * The range around all merchants' ranges, to store with the run. If there are no merchants: `fallback`, or else
 * yesterday.
 */
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
