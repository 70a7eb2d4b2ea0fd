/** The end of a run that workers did, which is made of the ends of its merchants. */
import { firstNamed } from '../../ledger/text.ts';
import { checkedBy, isNightlyRun, STAGES, type RunDeps } from '../../run/active-run.ts';
import { endOfReason } from '../../run/merchant-ends.ts';
import { merchantFigures, zeroFigures } from '../../run/report.ts';
import { ON_TRUST, recordEnd } from '../../run/run-end.ts';
import { noticeShared } from '../../run/stages/notice-stage.ts';
import { mostSevere, type ExitCode, type Reason } from '../../run/verdict/exit-codes.ts';
import { reasonOfNotRead } from '../../run/verdict/finding-reasons.ts';
import { reasonsOfNotices, reasonsOfShared } from '../../run/verdict/notice-reasons.ts';
import { markEventsReported } from '../../store/events.ts';
import { noticeEvent, unreportedNotices } from '../../store/notices.ts';
import { recordEnds, runsToFinish } from '../../store/run-merchants.ts';
import { lostMerchants } from './jobs.ts';
import { queuedRun, runReasons, runTotals, type MerchantsReason } from './stored.ts';

/** Different reasons that the summary of a queued run names. The merchants' ends have all. */
const REASONS_MAX = 500;
const MERCHANTS_NAMED = 5;

type FinishDeps = Pick<
  RunDeps,
  'db' | 'now' | 'zone' | 'settleDelayMs' | 'checks' | 'timeZoneTrusted' | 'holder' | 'alerts'
>;

/** Ends a run that workers did if none of its merchants waits any more, and it has no end yet. Returns whether it did. */
export async function finishQueuedRun(runId: number, deps: FinishDeps): Promise<boolean> {
  const { db, now } = deps;
  const run = await queuedRun(db, runId);
  if (run === undefined || run.exitCode !== null || run.isWaiting) return false;
  const { request } = run;
  const { command } = request;
  const totals = await runTotals(db, runId);
  const { merchants } = totals;
  if (STAGES[command].includes('sync')) await noticeShared(deps, { runId, merchants });
  const notices = await unreportedNotices(db, merchants);
  const reported = await runReasons(db, runId, { limit: REASONS_MAX, named: MERCHANTS_NAMED });
  const reasons = [
    ...reasonsOfShared(notices),
    ...reasonsOfNotices(notices),
    ...(request.notRead ?? []).map(reasonOfNotRead),
    ...reported.map(reasonOfMerchants),
    ...(deps.timeZoneTrusted === true ? [ON_TRUST] : []),
  ];
  const exitCode = mostSevere([...reasons.map((one) => one.exitCode), ...(totals.exitCodes as ExitCode[])]);
  const { platformBehindMs = 0, platformAheadMs = 0 } = totals.largest;
  const figures = {
    ...merchantFigures(merchants, totals.merchantsDone),
    ...zeroFigures(),
    ...totals.sums,
    ...{ platformBehindMs, platformAheadMs },
    checked: checkedBy(request, deps),
    elapsedMs: now().getTime() - run.startedAt.getTime(),
    reasons,
    notes: reasons.map(({ what }) => what),
  };
  const ended = {
    ...{ runId, command, exitCode, reasons, from: run.from, to: run.to, interrupted: false },
    ...{ isNightly: isNightlyRun(request), job: request.scheduled?.job ?? command, busy: 0, leftOut: 0 },
  };
  const isFinished = await recordEnd(deps, ended, figures, { ifOpen: true });
  if (isFinished)
    await db.transaction().execute((trx) => markEventsReported(trx, notices.map(noticeEvent), now()));
  return isFinished;
}

/** Ends merchants whose job will not come, and the runs of which nothing waits. Returns the runs it ended. */
export async function finishWaitingRuns(deps: FinishDeps): Promise<number[]> {
  const { db, now } = deps;
  const lost = Map.groupBy(await lostMerchants(db), ({ runId }) => runId);
  for (const [runId, merchants] of lost) {
    const ends = merchants.map(({ merchantNo, problem: what, exitCode }) => {
      const todo = 'fix the cause, then send it back with `daybook jobs redrive`';
      return endOfReason({ exitCode, what: `${merchantNo}: ${what}`, todo, merchantNo });
    });
    await db.transaction().execute(async (trx) => {
      const end = { runId, holder: deps.holder, now: now() };
      await recordEnds(trx, ends, { ...end, ifWaiting: true });
      // Their workers may have found breaks before they died, which are noted to be reported.
      await deps.alerts?.noteBreaks(
        trx,
        ends.map(({ merchantNo }) => merchantNo),
        end,
      );
    });
  }
  const finished: number[] = [];
  for (const id of await runsToFinish(db)) if (await finishQueuedRun(id, deps)) finished.push(id);
  return finished;
}

/** The reason as the run names it: with the merchants, if its sentence does not name the one. */
function reasonOfMerchants(one: MerchantsReason): Reason {
  const { what, todo, isNamed, count, merchants } = one;
  const exitCode = one.exitCode as ExitCode;
  const awaits = one.awaitsPerson && { awaitsPerson: true as const };
  return isNamed
    ? { exitCode, what, todo, merchantNo: merchants[0]!, ...awaits }
    : { exitCode, what: `${firstNamed(merchants, merchants.length, count)}: ${what}`, todo, ...awaits };
}
