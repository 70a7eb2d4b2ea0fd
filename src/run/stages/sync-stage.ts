/** Reads the windows of all merchants at the same time. The reader limits how many calls are under way. */
import { dayOf } from '../../ledger/business-day.ts';
import { isChecked } from '../../ledger/checks.ts';
import type { Window } from '../../ledger/entry.ts';
import type { MerchantAccess } from '../../platform/ledger-reader.ts';
import { recordRequestedRanges } from '../../store/requested-ranges.ts';
import { truerFailure } from '../../sync/other-ledger.ts';
import { planWindows } from '../../sync/windows-of-days.ts';
import { NOTHING_SYNCED, syncMerchant, type SyncReport } from '../../sync/sync.ts';
import { concernsAll } from './isolation.ts';
import { frontierWindows } from './frontier.ts';
import { createJoining, type Joining } from '../join-merchants.ts';
import { looksAtOlderDays, olderDaysOf, stretchesOf, withOlderDays } from './older-days.ts';
import type { DayRange } from '../range.ts';
import type { MerchantSync } from '../report.ts';
import type { ActiveRun, StageOutcome } from '../active-run.ts';

/**
 * Syncs the range of each merchant and adds each report to `outcome` as it ends. A merchant that is only known has to
 * join first. Trouble of one merchant, even a fault of daybook, is put into its own report, and the others go on.
 * What concerns all (`TimeZoneWrong`, `LeaseLost`, a database that is away) stops them all and is thrown.
 */
export async function syncStage(run: ActiveRun, outcome: StageOutcome): Promise<void> {
  const { request, deps } = run;
  const stop = new AbortController();
  const signal = AbortSignal.any([deps.signal, stop.signal]);
  const join = await createJoining(request.merchants, { ...deps, signal });
  await Promise.all(
    request.merchants.map(async (merchant) => {
      try {
        const synced = await syncOne(merchant, { run, join, signal });
        outcome.sync = [...outcome.sync, synced];
      } catch (error) {
        stop.abort(error);
      }
    }),
  );
  outcome.sync = [...outcome.sync].sort((a, b) => (a.merchantNo < b.merchantNo ? -1 : 1));
  if (stop.signal.aborted) throw stop.signal.reason;
  if (isChecked('shared', deps.checks)) outcome.sync = await inTruerWords(outcome.sync, deps.db);
}

const inTruerWords = (all: readonly MerchantSync[], db: ActiveRun['deps']['db']): Promise<MerchantSync[]> =>
  Promise.all(
    all.map(async (one) => {
      const failure = await truerFailure(db, one.merchantNo, one.report.failure);
      return failure === one.report.failure ? one : { ...one, report: { ...one.report, failure } };
    }),
  );

/** What the merchants of one stage share. */
interface Shared {
  readonly run: ActiveRun;
  readonly join: Joining;
  readonly signal: AbortSignal;
}

/** Syncs one merchant. Throws what concerns all. */
async function syncOne(merchant: MerchantAccess, shared: Shared): Promise<MerchantSync> {
  const { run, join, signal } = shared;
  const { request, deps, ranges, zoneGate } = run;
  const { merchantNo } = merchant;
  const { beforeProof, ...range } = ranges.get(merchantNo)!;
  const days = { merchantNo, from: range.from, to: range.to, takenUp: range.takenUp };
  let report = NOTHING_SYNCED;
  try {
    const windowsOf = windowPlanner(deps);
    const planned = windowsOf([range, ...range.takenUp]);
    const notJoined = await join(merchant);
    if (notJoined !== null) return { ...days, report, notJoined };
    const windows = [...planned, ...(await frontierWindows(merchantNo, request, deps))];
    if (beforeProof !== null) await keepAskedFor(beforeProof, merchantNo, run);
    const options = syncOptionsOf(merchant, shared);
    report = await syncMerchant({
      ...options,
      windows,
      provesNewest: isChecked('zone', deps.checks),
      onProgress: (progress) => deps.onProgress({ stage: 'sync', ...progress }),
    });
    const olderDays =
      looksAtOlderDays(request, deps) && report.failure === null && !report.interrupted
        ? await olderDaysOf({
            run,
            merchant,
            windows,
            requests: report.requests,
            slackMs: zoneGate.slackMs(),
            signal,
            readAnew: (days) => syncMerchant({ ...options, windows: windowsOf(stretchesOf(days)) }),
          })
        : null;
    if (olderDays === null) return { ...days, report, ...unsettledOf(report, deps.zone) };
    report = withOlderDays(report, olderDays);
    return { ...days, report, ...unsettledOf(report, deps.zone), olderDays };
  } catch (error) {
    if (concernsAll(error, signal)) throw error;
    const failure = error instanceof Error ? error : new Error(String(error));
    return { ...days, report: { ...report, failure } };
  }
}

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
  merchantNo: string,
  { request, deps, runId }: ActiveRun,
): Promise<void> {
  const asked = { merchants: [merchantNo], currencies: request.currencies, ...days };
  await recordRequestedRanges(deps.db, { ...asked, runId, now: deps.now() });
}

const syncOptionsOf = (merchant: MerchantAccess, { run, signal }: Shared) => ({
  reader: run.deps.reader,
  db: run.deps.db,
  lease: run.lease,
  settleDelayMs: run.deps.settleDelayMs,
  merchant,
  zone: run.deps.zone,
  zoneGate: run.zoneGate,
  currencies: run.request.currencies,
  runId: run.runId,
  now: run.deps.now,
  signal,
});

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
