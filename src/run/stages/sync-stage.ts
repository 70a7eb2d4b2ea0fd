/** Reads a merchant's windows. */
import { dayOf } from '../../ledger/business-day.ts';
import { isChecked } from '../../ledger/checks.ts';
import type { Window } from '../../ledger/entry.ts';
import { LeaseLost } from '../../store/engine/lease.ts';
import { contradictedNightsBefore } from '../../store/contradicted-nights.ts';
import { recordRequestedRanges } from '../../store/tasks.ts';
import { explainFailure } from '../../sync/other-ledger.ts';
import { planWindows } from '../../sync/windows-of-days.ts';
import { NOTHING_SYNCED, syncMerchant, type SyncReport } from '../../sync/sync.ts';
import { concernsAll } from './isolation.ts';
import { frontierWindows } from './frontier.ts';
import {
  checksHistoricalDays,
  historicalDaysOf,
  stretchesOf,
  withHistoricalDays,
} from './historical-days.ts';
import type { DayRange } from '../range.ts';
import type { MerchantOutcome, MerchantSync } from '../report.ts';
import type { ActiveRun, MerchantWork } from '../active-run.ts';

/**
 * Syncs the merchant's days. A merchant that is only known has to join first. Trouble of this merchant, even a fault of
 * daybook, is put into its report. Throws what concerns every merchant (`TimeZoneWrong`, a database that is away), and
 * `LeaseLost`.
 */
export async function syncStage(work: MerchantWork, outcome: MerchantOutcome): Promise<void> {
  const { request, deps, merchant, merchantNo, zoneGate } = work;
  const { beforeProof, ...range } = work.days;
  const days = {
    ...{ merchantNo, from: range.from, to: range.to, backlogDays: range.backlogDays },
    ...(range.widerSweep !== null && { widerSweep: range.widerSweep }),
  };
  let report = NOTHING_SYNCED;
  try {
    const windowsOf = windowPlanner(deps);
    const planned = windowsOf([range, ...range.backlogDays]);
    const notJoined = await work.join(merchant);
    if (notJoined !== null) {
      outcome.sync = { ...days, report, notJoined };
      return;
    }
    const windows = [...planned, ...frontierWindows(request, deps, work.known.busiestDay)];
    if (beforeProof !== null) await keepAskedFor(beforeProof, work);
    const options = syncOptionsOf(work);
    report = await syncMerchant({
      ...options,
      windows,
      provesNewest: isChecked('zone', deps.checks),
      onProgress: (progress) => deps.onProgress({ stage: 'sync', ...progress }),
    });
    const olderDays =
      checksHistoricalDays(request, deps) && report.failure === null && !report.interrupted
        ? await historicalDaysOf({
            work,
            windows,
            requests: report.requests,
            isMostUnproven:
              report.uncertified.filter(({ isHeld }) => isHeld !== true).length > windows.length / 2,
            isAllProven:
              report.uncertified.length + report.heldBack.length + report.quarantined === 0 &&
              !work.known.hasUnreadable,
            clockSkewMs: zoneGate.clockSkewMs(),
            readAnew: (days) => syncMerchant({ ...options, windows: windowsOf(stretchesOf(days)) }),
            onCompared: (comparison) => {
              outcome.historicalCompared = comparison;
            },
            onMonthsHeld: (months) => {
              outcome.monthsHeld = months;
            },
          })
        : null;
    if (olderDays !== null) report = withHistoricalDays(report, olderDays);
    const unsettled = unsettledOf(report, deps.zone);
    const contradicted = await contradictedOf(report, work);
    outcome.sync = {
      ...days,
      report,
      ...contradicted,
      ...unsettled,
      ...(olderDays !== null && { olderDays }),
    };
  } catch (error) {
    if (error instanceof LeaseLost || concernsAll(error, deps.signal)) throw error;
    const failure = error instanceof Error ? error : new Error(String(error));
    outcome.sync = { ...days, report: { ...report, failure } };
  }
}

/** The reports, with words for failures that can only be reported once all merchants are read. */
export const withExplainedFailure = (
  all: readonly MerchantSync[],
  db: ActiveRun['deps']['db'],
): Promise<MerchantSync[]> =>
  Promise.all(
    all.map(async (one) => {
      const failure = await explainFailure(db, one.merchantNo, one.report.failure);
      return failure === one.report.failure ? one : { ...one, report: { ...one.report, failure } };
    }),
  );

/** The windows of days, up to what is settled now. */
function windowPlanner({ now, settleDelayMs, zone }: ActiveRun['deps']) {
  const latestMs = now().getTime() - settleDelayMs;
  return (asked: readonly DayRange[]): Window[] =>
    asked.flatMap(({ from, to }) => planWindows({ fromDay: from, toDay: to, zone, latestMs }));
}

/**
 * Later nightly runs begin after the first proven day and would never return to these days. So they are recorded as a
 * requested range, as if somebody had asked for them by date.
 */
async function keepAskedFor(
  days: DayRange,
  { request, deps, runId, merchantNo }: MerchantWork,
): Promise<void> {
  const asked = { merchants: [merchantNo], currencies: request.currencies, ...days };
  await recordRequestedRanges(deps.db, { ...asked, runId, now: deps.now() });
}

const syncOptionsOf = ({ request, deps, lease, runId, zoneGate, merchant }: MerchantWork) => ({
  reader: deps.reader,
  db: deps.db,
  lease,
  settleDelayMs: deps.settleDelayMs,
  merchant,
  zone: deps.zone,
  zoneGate,
  currencies: request.currencies,
  runId,
  now: deps.now,
  signal: deps.signal,
  ...(deps.observer && { trace: deps.observer.trace, onSplit: deps.observer.onSplit }),
});

async function contradictedOf(
  { contradictions }: SyncReport,
  { deps, runId, merchantNo }: MerchantWork,
): Promise<Pick<MerchantSync, 'nightsContradicted'>> {
  if (contradictions === 0) return {};
  const before = await contradictedNightsBefore(deps.db, { merchantNo, runId, zone: deps.zone });
  return { nightsContradicted: before + 1 };
}

/**
 * Ends of days that are over by this machine's clock but, by the platform's clock, still too recent to be read. Left
 * out if there are none.
 */
function unsettledOf({ heldBack }: SyncReport, zone: string): Pick<MerchantSync, 'unsettled'> {
  const unsettled = heldBack.filter(({ endMs }) => isEndOfDay(endMs, zone));
  return unsettled.length === 0 ? {} : { unsettled };
}

/**
 * Whether the instant is the end of a day. Only days that are over are planned to their end; today is planned up to
 * what is settled.
 */
const isEndOfDay = (ms: number, zone: string): boolean => dayOf(ms, zone) !== dayOf(ms + 1, zone);
