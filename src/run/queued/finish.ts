/** The end of a queued run, once none of its merchants waits: one exit code and one summary for all of them. */
import type { ExitCode } from '../../ledger/ending.ts';
import { lostMerchants, runsToFinish } from '../../queue/enqueue.ts';
import { markEventsReported } from '../../store/events.ts';
import { noticeEvent, unreportedNotices } from '../../store/notices.ts';
import {
  endWaiting,
  finishQueued,
  queuedRun,
  runReasons,
  runTotals,
  waitingInRun,
  type MerchantsReason,
  type UndoneEnd,
} from '../../store/queued-runs.ts';
import { noteBreaks } from '../alerts/alert-events.ts';
import { finishAlerting } from '../alerts/at-end.ts';
import { isNightlyRun, type RunDeps } from '../active-run.ts';
import { zeroFigures } from '../outcomes.ts';
import { checkedBy } from '../checked.ts';
import { merchantFigures, TIME_ZONE_ON_TRUST } from '../report.ts';
import { STAGES } from '../stages/stages-of.ts';
import { noticeShared } from '../stages/notice-stage.ts';
import { EXIT, mostSevere, awaitsPerson, type Reason } from '../verdict/exit-codes.ts';
import { reasonsOfNotices, reasonsOfShared } from '../verdict/notice-reasons.ts';
import { reasonOfNotRead } from '../verdict/finding-reasons.ts';
import type { QueuedRequest } from './queued-run.ts';

/** Different reasons that the summary tells. The merchants' rows have all. */
const REASONS_MAX = 500;
/** Merchants that a reason names. */
const MERCHANTS_NAMED = 5;

type FinishDeps = Pick<
  RunDeps,
  'db' | 'now' | 'zone' | 'settleDelayMs' | 'checks' | 'timeZoneTrusted' | 'holder' | 'alerts'
>;

/** Ends the run if none of its merchants waits any more, and it has no end yet. Returns whether it did. */
export async function finishQueuedRun(runId: number, deps: FinishDeps): Promise<boolean> {
  const { db, now } = deps;
  if ((await waitingInRun(db, runId)) > 0) return false;
  const run = await queuedRun(db, runId);
  if (run?.exitCode !== null) return false;
  const request = run.request as unknown as QueuedRequest;
  const totals = await runTotals(db, runId);
  const { merchants } = totals;
  if (STAGES[request.command].includes('sync')) await noticeShared(deps, { runId, merchants });
  const notices = await unreportedNotices(db, merchants);
  const reported = await runReasons(db, runId, { limit: REASONS_MAX, named: MERCHANTS_NAMED });
  const reasons = [
    ...reasonsOfShared(notices),
    ...reasonsOfNotices(notices),
    ...(request.notRead ?? []).map(reasonOfNotRead),
    ...reported.map(reasonOfMerchants),
    ...(deps.timeZoneTrusted === true ? [{ exitCode: EXIT.done, what: TIME_ZONE_ON_TRUST, todo: null }] : []),
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
    interrupted: false,
    ...(awaitsPerson(exitCode, reasons) && { awaitsPerson: true }),
  };
  const finish = (on: FinishDeps['db']): Promise<boolean> =>
    finishQueued(on, runId, { exitCode, figures, now: now() });
  const isFinished =
    deps.alerts === undefined
      ? await finish(db)
      : await finishAlerting(
          deps,
          {
            ...{ runId, command: request.command, exitCode, reasons, from: run.from, to: run.to },
            ...{
              interrupted: false,
              ...{ busy: 0, leftOut: 0 },
              isNightly: isNightlyRun(request),
            },
          },
          { finish },
        );
  if (isFinished)
    await db.transaction().execute((trx) => markEventsReported(trx, notices.map(noticeEvent), now()));
  return isFinished;
}

/** Ends merchants whose job will not come, and the runs that wait for no one. Returns the runs it ended. */
export async function finishWaitingRuns(deps: FinishDeps): Promise<number[]> {
  const { db } = deps;
  const lost = Map.groupBy(await lostMerchants(db), ({ runId }) => runId);
  for (const [runId, merchants] of lost) {
    const ends = merchants.map(({ merchantNo, problem: what, exitCode }) => {
      const todo = 'fix the cause, then send it back with `daybook jobs redrive`';
      const reason: Reason = { exitCode, what: `${merchantNo}: ${what}`, todo, merchantNo };
      return { merchantNo, exitCode, figures: { reasons: [reason] } };
    });
    await endLost(deps, ends, runId);
  }
  const finished: number[] = [];
  for (const runId of await runsToFinish(db)) if (await finishQueuedRun(runId, deps)) finished.push(runId);
  return finished;
}

/** Ends them. Their workers may have found breaks before they died, which are noted to be reported. */
async function endLost(
  { db, holder, now, alerts }: FinishDeps,
  ends: readonly UndoneEnd[],
  runId: number,
): Promise<void> {
  if ((alerts?.targets.length ?? 0) === 0) return endWaiting(db, ends, { runId, holder, now: now() });
  await db.transaction().execute(async (trx) => {
    await endWaiting(trx, ends, { runId, holder, now: now() });
    const merchants = ends.map(({ merchantNo }) => merchantNo);
    await noteBreaks(trx, merchants, { runId, now: now() });
  });
}

/** The reason as the run tells it: with the merchants, if its sentence does not name the one. */
function reasonOfMerchants(one: MerchantsReason): Reason {
  const { exitCode, what, todo, isNamed, count, merchants } = one;
  const [merchantNo] = merchants;
  const code = exitCode as ExitCode;
  const awaits = one.awaitsPerson ? { awaitsPerson: true as const } : {};
  if (isNamed) return { exitCode: code, what, todo, merchantNo: merchantNo!, ...awaits };
  const more = count - merchants.length;
  return {
    exitCode: code,
    what: `${merchants.join(', ')}${more > 0 ? ` and ${more} more` : ''}: ${what}`,
    todo,
    ...awaits,
  };
}
