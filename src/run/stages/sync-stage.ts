/** Reads the windows of all merchants at the same time. The reader limits how many calls are under way. */
import { dayOf } from '../../ledger/business-day.ts';
import { isChecked } from '../../ledger/checks.ts';
import type { Window } from '../../ledger/entry.ts';
import type { MerchantAccess } from '../../platform/ledger-reader.ts';
import { recordRequestedRanges } from '../../store/requested-ranges.ts';
import { truerFailure } from '../../sync/other-ledger.ts';
import { planWindows } from '../../sync/windows-of-days.ts';
import { NOTHING_SYNCED, syncMerchant } from '../../sync/sync.ts';
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
export async function syncStage(work: ActiveRun, outcome: StageOutcome): Promise<void> {
  const { request, deps } = work;
  const stop = new AbortController();
  const signal = AbortSignal.any([deps.signal, stop.signal]);
  const join = await createJoining(request.merchants, { ...deps, signal });
  await Promise.all(
    request.merchants.map(async (merchant) => {
      try {
        const synced = await syncOne(merchant, { work, join, signal });
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

/** Syncs one merchant. Throws what concerns all. */
async function syncOne(
  merchant: MerchantAccess,
  {
    work,
    join,
    signal,
  }: {
    readonly work: ActiveRun;
    readonly join: Joining;
    readonly signal: AbortSignal;
  },
): Promise<MerchantSync> {
  const { request, deps, lease, runId, ranges, zoneGate } = work;
  const { merchantNo } = merchant;
  const { beforeProof, from: fromDay, to: toDay, takenUp } = ranges.get(merchantNo)!;
  const range = { from: fromDay, to: toDay, takenUp };
  const days = { merchantNo, ...range };
  let report = NOTHING_SYNCED;
  try {
    const latestMs = deps.now().getTime() - deps.settleDelayMs;
    const windowsOf = (asked: readonly DayRange[]): Window[] =>
      asked.flatMap(({ from, to }) => planWindows({ fromDay: from, toDay: to, zone: deps.zone, latestMs }));
    const planned = windowsOf([range, ...range.takenUp]);
    const notJoined = await join(merchant);
    if (notJoined !== null) return { ...days, report: NOTHING_SYNCED, notJoined };
    const windows = [...planned, ...(await frontierWindows(merchantNo, request, deps))];
    if (beforeProof !== null) {
      // Later nights begin after the first proven day. So the days before it are recorded as asked for, as if by
      // date.
      const asked = { merchants: [merchantNo], currencies: request.currencies, ...beforeProof };
      await recordRequestedRanges(deps.db, { ...asked, runId, now: deps.now() });
    }
    const options = {
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
      signal,
    };
    report = await syncMerchant({
      ...options,
      windows,
      provesNewest: isChecked('zone', deps.checks),
      onProgress: (progress) => deps.onProgress({ stage: 'sync', ...progress }),
    });
    const olderDays =
      looksAtOlderDays(request, deps) && report.failure === null && !report.interrupted
        ? await olderDaysOf({
            work,
            merchant,
            windows,
            requests: report.requests,
            slackMs: zoneGate.slackMs(),
            signal,
            readAnew: (days) => syncMerchant({ ...options, windows: windowsOf(stretchesOf(days)) }),
          })
        : null;
    if (olderDays !== null) report = withOlderDays(report, olderDays);
    const unsettled = report.heldBack.filter(({ endMs }) => isEndOfDay(endMs, deps.zone));
    return {
      ...days,
      report,
      ...(unsettled.length === 0 ? {} : { unsettled }),
      ...(olderDays === null ? {} : { olderDays }),
    };
  } catch (error) {
    if (concernsAll(error, signal)) throw error;
    const failure = error instanceof Error ? error : new Error(String(error));
    return { ...days, report: { ...report, failure } };
  }
}

/**
 * Whether the instant is the end of a day. Only days that are over are planned to their end; today is planned up to
 * what is settled.
 */
const isEndOfDay = (ms: number, zone: string): boolean => dayOf(ms, zone) !== dayOf(ms + 1, zone);
