/** Works out the days for which each merchant's ledger is read: the days asked for, or those that a night reads. */
import { addDays, dayOf, daysFromTo, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import {
  latenessAt,
  lookbackNeeded,
  lookbackDaysNeeded,
  SWEPT_SHARE,
  type LatenessMeasured,
} from '../ledger/lateness.ts';
import { ALL_TIME, subtractWindows } from '../ledger/window.ts';
import { changedDaysOfEach } from '../store/account-days.ts';
import { absentWindowsOf } from '../store/absent-entries.ts';
import { certifiedOfEach } from '../store/certificates.ts';
import { latenessMeasured, measuredOf } from '../store/lateness.ts';
import { openRequests } from '../store/requests.ts';
import { withoutBackfills } from './backfills.ts';
import { coverageOf, daysTouched, openRanges, daysOfBacklog } from './coverage.ts';
import {
  nightlyRange,
  outerRange,
  type DayRange,
  type MerchantDays,
  type ExtendedLookback,
} from './range.ts';
import { askInParts } from '../store/account-filter.ts';
import type { RunDeps, RunRequest } from './active-run.ts';

interface RangeOptions extends Pick<
  RunDeps,
  'db' | 'zone' | 'resweepDays' | 'resweepDaysMax' | 'lateSweepDays'
> {
  readonly now: Date;
}

async function askedDays(
  merchants: readonly string[],
  asked: DayRange,
  { db, zone, now }: RangeOptions,
): Promise<[string, MerchantDays][]> {
  const span = { beginMs: dayWindow(asked.from, zone).beginMs, endMs: dayWindow(asked.to, zone).endMs };
  const certifiedOf = await certifiedOfEach(db, merchants, span);
  const waitingOf = await changedDaysOfEach(db, merchants);
  const measured = await latenessMeasured(db, merchants, dayOf(now.getTime(), zone));
  return merchants.map((merchantNo, nth) => {
    const lateness = measuredOf(measured, merchantNo);
    const knownBefore = reconciled(certifiedOf[nth]!, waitingOf.get(merchantNo), zone);
    const nightly = { backlogDays: [], beforeProof: null, certifiedBefore: [], widerSweep: null };
    return [merchantNo, { ...asked, ...nightly, knownBefore, lateness }];
  });
}

async function nightlyDays(
  merchants: readonly string[],
  options: RangeOptions,
): Promise<[string, MerchantDays][]> {
  const { db, zone, resweepDays, now } = options;
  const today = dayOf(now.getTime(), zone);
  const requested = Map.groupBy(
    await openRanges(db, merchants, { zone, now }),
    ({ merchantNo }) => merchantNo,
  );
  const certifiedOf = await certifiedOfEach(db, merchants, ALL_TIME);
  const absentOf = await absentWindowsOf(db, merchants);
  const waitingOf = await changedDaysOfEach(db, merchants);
  const backfillsOf = Map.groupBy(
    await openRequests(db, 'backfill', merchants),
    ({ merchantNo }) => merchantNo,
  );
  const measured = await latenessMeasured(db, merchants, today);
  return merchants.map((merchantNo, nth) => {
    const certified = certifiedOf[nth]!;
    const lateness = measuredOf(measured, merchantNo);
    const widerSweep = extendedLookbackOf(lateness, options);
    const sweptFrom = (days: number) => firstRead(certified, addDays(today, -1 - days), zone);
    const known = withoutBackfills(certified, backfillsOf.get(merchantNo) ?? [], zone);
    const { provenThroughMs } = coverageOf(known, now.getTime());
    // A day is proven once its last instant is. So the day of the first unproven instant is read again.
    const firstUnread = provenThroughMs === null ? null : dayOf(provenThroughMs + 1, zone);
    const widerFrom = widerSweep === null ? null : sweptFrom(widerSweep.days);
    const lateFrom = sweptFrom(options.lateSweepDays ?? 0);
    const range = nightlyRange(today, resweepDays, firstUnread, lateFrom, widerFrom);
    const own = requested.get(merchantNo) ?? [];
    const beforeProof = daysBeforeProof(range, known, own, zone);
    const absent = (absentOf.get(merchantNo) ?? []).map((window) => daysTouched(window, zone));
    const backlogDays = daysOfBacklog(own, range, absent);
    const knownBefore = reconciled(certified, waitingOf.get(merchantNo), zone);
    const onwards = { beginMs: dayWindow(range.from, zone).beginMs, endMs: ALL_TIME.endMs };
    const certifiedBefore = subtractWindows(certified, [onwards]);
    const days = { ...range, backlogDays, beforeProof, knownBefore, certifiedBefore };
    return [merchantNo, { ...days, lateness, widerSweep }];
  });
}

/** How far lateness widens the lookback, within its bounds; null if it does not. Pure. */
function extendedLookbackOf(
  { late }: LatenessMeasured,
  { resweepDays: least, resweepDaysMax: most = least }: Pick<RangeOptions, 'resweepDays' | 'resweepDaysMax'>,
): ExtendedLookback | null {
  const lateness = latenessAt(late, SWEPT_SHARE);
  const days = lookbackDaysNeeded(late, { least, most });
  return lateness === null || days === least ? null : { days, asked: lookbackNeeded(lateness), lateness };
}

/**
 * The earliest day, not before `day`, that an earlier run has read. The sweep for late entries begins there, so that it
 * reads no day that no one asked for. Null if there is none. Pure.
 */
export function firstRead(certified: readonly Window[], day: BusinessDay, zone: string): BusinessDay | null {
  const { beginMs } = dayWindow(day, zone);
  const begins = certified.filter(({ endMs }) => endMs >= beginMs).map((window) => window.beginMs);
  return begins.length === 0 ? null : dayOf(Math.max(beginMs, Math.min(...begins)), zone);
}

/** The certified windows, without the days whose entries are still to be reconciled. Pure. */
const reconciled = (
  certified: readonly Window[],
  waiting: readonly BusinessDay[] | undefined,
  zone: string,
): Window[] =>
  subtractWindows(
    certified,
    (waiting ?? []).map((day) => dayWindow(day, zone)),
  );

/** The days of `range` before the first certified instant, without those that an open request covers already. Pure. */
function daysBeforeProof(
  { from, to }: DayRange,
  certified: readonly Window[],
  open: readonly DayRange[],
  zone: string,
): DayRange | null {
  const firstMs = Math.min(...certified.map(({ beginMs }) => beginMs));
  const days = daysFromTo(from, to).filter(
    (day) =>
      dayWindow(day, zone).beginMs < firstMs && !open.some((range) => range.from <= day && day <= range.to),
  );
  return days.length === 0 ? null : { from: days[0]!, to: days.at(-1)! };
}

/**
 * The days of a run: the range of each merchant, and one range around all of them to store with the run. Days that were
 * asked for are read alone, a night reads what is left of earlier requests as well. A few statements for some hundred merchants.
 */
export async function runRanges(
  { merchants, range }: Pick<RunRequest, 'merchants' | 'range'>,
  deps: Omit<RangeOptions, 'now'> & Pick<RunDeps, 'now'>,
): Promise<{ readonly ranges: ReadonlyMap<string, MerchantDays> } & DayRange> {
  const options = { ...deps, now: deps.now() };
  const merchantNos = merchants.map(({ merchantNo }) => merchantNo);
  const daysOf = (some: readonly string[]) =>
    range === null ? nightlyDays(some, options) : askedDays(some, range, options);
  const ranges = new Map(await askInParts(merchantNos, daysOf));
  return { ranges, ...outerRange(ranges, range, dayOf(options.now.getTime(), deps.zone)) };
}
