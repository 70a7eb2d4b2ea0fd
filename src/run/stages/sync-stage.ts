/** Reads a merchant's windows. */
import { dayOf, dayWindow } from '../../ledger/business-day.ts';
import { isChecked } from '../../ledger/checks.ts';
import type { Window } from '../../ledger/entry.ts';
import { LeaseLost } from '../../store/engine/lease.ts';
import { recordRequests } from '../../store/requests.ts';
import { explainFailure } from '../../sync/zone-gate.ts';
import { planWindows } from '../../sync/wide-windows.ts';
import { NOTHING_SYNCED, type SyncReport } from '../../sync/sync-report.ts';
import { syncMerchant } from '../../sync/sync.ts';
import {
  frontierEndMs,
  type ActiveRun,
  type MerchantWork,
  type RunDeps,
  type RunRequest,
  concernsAll,
} from '../active-run.ts';
import { checksHistoricalDays, historicalDaysOf, withHistoricalDays } from './historical-days.ts';
import { stretchesOf } from '../coverage.ts';
import type { DayRange } from '../range.ts';
import type { MerchantOutcome, MerchantSync } from '../report.ts';
import { PAGE_SIZE_MAX } from '../../platform/wire.ts';
import { sql, type Kysely } from 'kysely';
import type { DB } from '../../store/engine/schema.ts';

/**
 * Syncs the merchant's days. A merchant that is only known has to join first. Trouble of this merchant, even a fault of
 * daybook, is put into its report. Throws what concerns every merchant (`TimeZoneWrong`, a database that is away), and
 * `LeaseLost`.
 */
export async function syncStage(work: MerchantWork, outcome: MerchantOutcome): Promise<void> {
  const { request, deps, merchant, merchantNo } = work;
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
    if (beforeProof !== null) {
      // Later nightly runs begin after the first proven day and would never return to these days. So they are recorded as
      // a requested range, as if somebody had asked for them by date.
      const asked = { askedBy: 'run', merchants: [merchantNo], ...beforeProof } as const;
      await recordRequests(deps.db, { ...asked, runId: work.runId, now: deps.now() });
    }
    const options = syncOptionsOf(work);
    report = await syncMerchant({
      ...options,
      windows,
      provesNewest: isChecked('zone', deps.checks),
      onProgress: (progress) => deps.onProgress({ stage: 'sync', ...progress }),
    });
    const olderDays =
      checksHistoricalDays(request, deps) &&
      report.failure === null &&
      !report.interrupted &&
      report.otherLedgers.length === 0
        ? await historicalDaysOf(work, outcome, {
            windows,
            report,
            readAnew: (days) => syncMerchant({ ...options, windows: windowsOf(stretchesOf(days)) }),
          })
        : null;
    if (olderDays !== null) report = withHistoricalDays(report, olderDays);
    outcome.sync = {
      ...{ ...days, report },
      ...(await contradictedOf(report, work)),
      ...unsettledOf(report, deps.zone),
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
      const { merchantNo, report } = one;
      const failure = await explainFailure(db, merchantNo, report.failure);
      if (failure === report.failure && report.otherLedgers.length === 0) return one;
      const otherLedgers = report.otherLedgers.map(async ({ currency, problem }) => ({
        ...{ currency, problem: (await explainFailure(db, merchantNo, problem)) ?? problem },
      }));
      return { ...one, report: { ...report, failure, otherLedgers: await Promise.all(otherLedgers) } };
    }),
  );

function windowPlanner({ now, settleDelayMs, zone }: ActiveRun['deps']) {
  const latestMs = now().getTime() - settleDelayMs;
  return (asked: readonly DayRange[]): Window[] =>
    asked.flatMap(({ from, to }) => planWindows({ fromDay: from, toDay: to, zone, latestMs }));
}

const syncOptionsOf = ({ deps, lease, runId, zoneGate, merchant }: MerchantWork) => ({
  ...{ reader: deps.reader, db: deps.db, lease, merchant, zone: deps.zone, zoneGate, runId },
  ...{ settleDelayMs: deps.settleDelayMs, now: deps.now, signal: deps.signal },
  ...(deps.observer && { trace: deps.observer.trace, onSplit: deps.observer.onSplit }),
});

async function contradictedOf(
  { contradictions }: SyncReport,
  { deps, runId, merchantNo }: MerchantWork,
): Promise<Pick<MerchantSync, 'nightsContradicted'>> {
  if (contradictions === 0) return {};
  const { count, of } = await contradictedNightsBefore(deps.db, { merchantNo, runId, zone: deps.zone });
  return { nightsContradicted: { count: count + 1, of: of + 1 } };
}

/** Ends of days that are over by this machine's clock but, by the platform's clock, still too recent to be read. */
function unsettledOf({ heldBack }: SyncReport, zone: string): Pick<MerchantSync, 'unsettled'> {
  const unsettled = heldBack.filter(({ endMs }) => dayOf(endMs, zone) !== dayOf(endMs + 1, zone));
  return unsettled.length === 0 ? {} : { unsettled };
}

/** Today is read at least this far, if that much has passed. At night this is all of today so far. */
const FRONTIER_MIN_MS = 2 * 3_600_000;
const DAY_MS = 86_400_000;

/**
 * The windows of today that a run without dates reads as well. They cover two hours, or longer if, at the rate of the
 * busiest recent day, one page covers more time than that. So this costs one call, unless two hours hold more than a
 * page. None if the check is off or if dates were asked for, as then only those days are read.
 */
export function frontierWindows(
  { range }: Pick<RunRequest, 'range'>,
  deps: Pick<RunDeps, 'zone' | 'now' | 'settleDelayMs' | 'checks'>,
  busiestDay: number,
): Window[] {
  if (range !== null || !isChecked('frontier', deps.checks)) return [];
  const { zone } = deps;
  const nowMs = deps.now().getTime();
  const today = dayOf(nowMs, zone);
  const { beginMs } = dayWindow(today, zone);
  const settledMs = frontierEndMs(nowMs, deps);
  const isShort = settledMs - beginMs <= FRONTIER_MIN_MS;
  const lengthMs = isShort ? FRONTIER_MIN_MS : lengthOfAPage(busiestDay);
  const latestMs = Math.min(settledMs, beginMs + Math.max(FRONTIER_MIN_MS, lengthMs) - 1);
  return planWindows({ fromDay: today, toDay: today, zone, latestMs });
}

const lengthOfAPage = (busiestDay: number): number => (DAY_MS * PAGE_SIZE_MAX) / Math.max(busiestDay, 1);

const NIGHTS_MAX = 30;

type Nights = NonNullable<MerchantSync['nightsContradicted']>;

/**
 * Nights before this run, by the calendar of the zone; the run's own is left out. Goes along the key of run_merchant, from the
 * newest run.
 */
async function contradictedNightsBefore(
  db: Kysely<DB>,
  { merchantNo, runId, zone }: Readonly<{ merchantNo: string; runId: number; zone: string }>,
): Promise<Nights> {
  const { rows } = await sql<{ readonly is: boolean }>`
    WITH own AS (SELECT (started_at AT TIME ZONE ${zone})::date AS night FROM run WHERE id = ${runId}),
    recent AS (
      SELECT (run.started_at AT TIME ZONE ${zone})::date AS night, coalesce((m.figures->>'contradictions')::int, 0) AS count
      FROM run_merchant AS m JOIN run ON run.id = m.run_id
      WHERE m.merchant_no = ${merchantNo} AND m.run_id < ${runId} AND m.reads AND run.is_night IS NOT FALSE
      ORDER BY m.run_id DESC LIMIT ${NIGHTS_MAX}
    )
    SELECT max(count) > 0 AS is FROM recent, own WHERE recent.night < own.night
    GROUP BY recent.night ORDER BY recent.night DESC`.execute(db);
  // A single steady night between two others may be chance, as where the last page is full by then.
  const end = rows.findIndex(({ is }, at) => !is && rows[at + 1]?.is !== true);
  const nights = end === -1 ? rows : rows.slice(0, end);
  return { count: nights.filter(({ is }) => is).length, of: nights.length };
}
