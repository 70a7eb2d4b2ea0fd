/** Compares a merchant's older days (before those a night reads) with the platform. */
import { isChecked } from '../../ledger/checks.ts';
import { addDays, dayOf } from '../../ledger/business-day.ts';
import type { BusinessDay, Window } from '../../ledger/entry.ts';
import { addMonths, periodFrom } from '../../ledger/lateness.ts';
import { lengthMs, mergeWindows, subtractWindows } from '../../ledger/window.ts';
import {
  countByFigures,
  countStored,
  firstSeenSince,
  uncountableSpans,
  type Days,
} from '../../store/historical-days.ts';
import { checkHistoricalDays, windowOf } from '../../sync/historical-days.ts';
import { nightsSince } from '../../sync/historical-round.ts';
import { type SyncReport, addSyncReports } from '../../sync/sync-report.ts';
import { daysTouched, completeDays, stretchesOf } from '../coverage.ts';
import type { HistoricalReport, MerchantOutcome } from '../report.ts';
import type { MerchantWork, RunDeps, RunRequest } from '../active-run.ts';

/** Share of a night's calls that may be used for windows of older entries. */
const CALLS_SHARE = 0.01;

/** Ranges next to the longest one that are compared at month end. */
const OTHERS_MAX = 12;

export const checksHistoricalDays = ({ range, currencies }: RunRequest, { checks }: RunDeps): boolean =>
  range === null && currencies === null && isChecked('wide', checks);

interface NightRead {
  readonly windows: readonly Window[];
  readonly report: SyncReport;
  /** Reads these days again, with certificates. */
  readonly readAnew: (days: readonly BusinessDay[]) => Promise<SyncReport>;
}

/**
 * Compares the merchant's older days with the platform, and reads again those that differ. Null if
 * there are no older days under certificate that can be compared. Notes in `outcome` what is recorded with the merchant's end.
 * Throws what `syncMerchant` throws.
 */
export async function historicalDaysOf(
  work: MerchantWork,
  outcome: MerchantOutcome,
  { windows, report, readAnew }: NightRead,
): Promise<HistoricalReport | null> {
  const { deps, merchant, merchantNo, zoneGate } = work;
  const older = await olderDays(work, windows);
  const recent = isAllProven(report, work) ? recentDays(work, older) : null;
  if (older.length === 0 && recent === null) return null;
  const lastMade = work.known.olderDays?.checkedAt ?? null;
  const nights = lastMade && nightsSince(lastMade, deps.now());
  // More replies of that kind would say no more of older days.
  if (report.uncertified.filter(({ isHeld }) => isHeld !== true).length > windows.length / 2) {
    const notMade = 'most days of this night could not be certified';
    return { kind: 'not made', notMade, requests: 0, nights };
  }
  const [days, ...others] = older;
  const ended = days === undefined ? [] : endedMonths(days, work);
  const check = await checkHistoricalDays({
    ...deps,
    merchant,
    older,
    recent,
    clockSkewMs: zoneGate.clockSkewMs(),
    round: work.known.olderDays?.round ?? null,
    windowsMax: Math.max(1, Math.floor(CALLS_SHARE * report.requests)),
    alsoCompared: ended.length === 0 ? [] : [daysOfMonth(ended.at(-1)!), ...others.slice(0, OTHERS_MAX)],
    now: deps.now(),
  });
  if ('notMade' in check) return { kind: 'not made', ...check, nights };
  const readFrom = deps.now();
  const again = check.differing.length === 0 ? null : await readAnew(check.differing);
  const windowsAgain = stretchesOf(check.differing).map((one) => windowOf(one, deps.zone));
  const late =
    again === null || again.inserted === 0
      ? []
      : await firstSeenSince(deps.db, merchantNo, windowsAgain, readFrom);
  const { from, to, total, stored, round } = check;
  const storedNow =
    again === null ? stored : await countStored(deps.db, merchantNo, windowOf({ from, to }, deps.zone));
  const isHeld = total === storedNow;
  if (days !== undefined) {
    const storedOlder =
      again === null
        ? check.storedOlder
        : await countByFigures(deps.db, merchantNo, days, windowOf(days, deps.zone));
    const olderTotal = Math.max(0, storedOlder + total - storedNow);
    outcome.historicalCompared = { ...days, total: olderTotal, isHeld, checkedAt: deps.now(), round };
    if (isHeld && from === days.from && check.alsoDiffering.length === 0 && round.refused === null)
      outcome.monthsHeld = { merchantNo, months: ended, sampledOn: dayOf(deps.now().getTime(), deps.zone) };
  }
  const sinceNights = round.refused === null ? 0 : nightsSince(round.refused.since, deps.now());
  return { kind: 'checked', check, recent, again, late, sinceNights, zone: deps.zone };
}

/** Whether everything that was read is proven and can be counted. */
const isAllProven = ({ uncertified, heldBack, quarantined }: SyncReport, { known }: MerchantWork): boolean =>
  uncertified.length + heldBack.length + quarantined === 0 && !known.hasUnreadable;

function recentDays({ deps, days: { from, to } }: MerchantWork, [older]: readonly Days[]): Days | null {
  const isOver = windowOf({ from: to, to }, deps.zone).endMs < deps.now().getTime() - deps.settleDelayMs;
  const follows = older === undefined || addDays(older.to, 1) === from;
  return isOver && from <= to && follows ? { from, to } : null;
}

/**
 * Ranges of complete certified days, before those a night reads, whose totals can be compared with what is stored, the
 * longest first. A night compares that one, as each takes a call. The others are compared at month end.
 */
async function olderDays(
  { deps, days, merchantNo, known }: MerchantWork,
  windows: readonly Window[],
): Promise<Days[]> {
  const { db, zone } = deps;
  const endMs = windowOf(days, zone).beginMs - 1;
  const certified = subtractWindows(days.certifiedBefore, windows);
  const outer = mergeWindows(certified);
  if (outer.length === 0) return [];
  const span = { beginMs: outer[0]!.beginMs, endMs };
  // Days that were taken up may have brought some in this run.
  const mayHaveSome = known.hasUnreadable || days.backlogDays.length > 0;
  const uncountable = mayHaveSome ? await uncountableSpans(db, merchantNo, span) : [];
  const left = subtractWindows(
    outer,
    uncountable.map((one) => windowOf(daysTouched(one, zone), zone)),
  );
  return left
    .flatMap((window) => completeDays(window, zone) ?? [])
    .map((days) => ({ days, ms: lengthMs(windowOf(days, zone)) }))
    .sort((a, b) => b.ms - a.ms)
    .map(({ days }) => days);
}

/**
 * At a month end, the months that lie in these days and still count for the measure of lateness, oldest first; otherwise
 * none. A month ends when the lookback no longer reaches its last day, and it is over once it was found to hold.
 */
function endedMonths(days: Days, { days: { lateness }, deps }: MerchantWork): BusinessDay[] {
  const last = addMonths(addDays(days.to, 1), -1);
  if (lateness.watched.some(({ month, sampledOn }) => month >= last && sampledOn > month)) return [];
  const counting = periodFrom(dayOf(deps.now().getTime(), deps.zone));
  const months: BusinessDay[] = [];
  for (let month = counting; month <= last; month = addMonths(month, 1))
    if (month >= days.from) months.push(month);
  return months;
}

const daysOfMonth = (month: BusinessDay): Days => ({ from: month, to: addDays(addMonths(month, 1), -1) });

export function withHistoricalDays(night: SyncReport, olderDays: HistoricalReport): SyncReport {
  const checked = olderDays.kind === 'checked' ? olderDays.check : olderDays;
  const again = olderDays.kind === 'checked' ? olderDays.again : null;
  const both = again === null ? night : addSyncReports(night, again);
  return { ...both, requests: both.requests + checked.requests };
}
