/**
 * One whole run: takes the lease, then sync, reconcile, heal and publish, then stores the figures and the exit code.
 */
import type { Lease } from '../store/engine/lease.ts';
import { recordRequestedRanges } from '../store/requested-ranges.ts';
import { leaseFence } from '../statements/publish-options.ts';
import { claimStore } from '../statements/store-owner.ts';
import { runsOfSlot, startRun } from '../store/runs.ts';
import { checkedBy } from './checked.ts';
import type { DueJob } from './schedule/due.ts';
import { EXIT, Interrupted, exitCodeOf, isGoodEnd } from './verdict/exit-codes.ts';
import { underLease } from './lease.ts';
import { runRanges } from './merchant-ranges.ts';
import { publishStage } from './stages/publish-stage.ts';
import { reconcileStage } from './stages/reconcile-stage.ts';
import { noticeFigures, noticeShared } from './stages/notice-stage.ts';
import type { DayRange } from './range.ts';
import type { RunReport } from './report.ts';
import { endRun } from './run-end.ts';
import { STAGES } from './stages/stages-of.ts';
import { syncStage } from './stages/sync-stage.ts';
import {
  accountsAsked,
  nothingDone,
  runZoneGate,
  type RunDeps,
  type RunRequest,
  type ActiveRun,
  type StageOutcome,
} from './active-run.ts';

/**
 * Runs the stages of `request.command` under the lease, and records the run.
 *
 * Throws `LeaseHeld` if another run is at work; nothing is written then. Throws `ObjectStoreRefused` (statements
 * could not be stored) and `TimeZoneWrong` before the first row of the ledger is written; the run is then recorded as
 * failed. A fault in daybook that does not belong to a single merchant is thrown after the report of what was done is
 * stored. Everything else ends in the report: what a person can correct with exit code 3 or 4, a fault of one
 * merchant with 70.
 */
export async function executeRun(request: RunRequest, deps: RunDeps): Promise<RunReport> {
  return underLease(deps, (lease, signal) => runStages(request, deps, lease, signal));
}

/**
 * Runs a scheduled job, unless its slot is done by now: another process may have run it after this one asked what is
 * due and before it got the lease. Null then. Throws what `executeRun` throws.
 */
export async function executeScheduled(
  request: RunRequest & { readonly scheduled: DueJob },
  deps: RunDeps,
): Promise<RunReport | null> {
  return underLease(deps, async (lease, signal) =>
    (await hasGoodRun(deps.db, request.scheduled)) ? null : runStages(request, deps, lease, signal),
  );
}

async function hasGoodRun(db: RunDeps['db'], { job, slot }: DueJob): Promise<boolean> {
  const runs = await runsOfSlot(db, job, slot);
  return runs.some(({ exitCode }) => isGoodEnd(exitCode));
}

async function runStages(
  request: RunRequest,
  deps: RunDeps,
  lease: Lease,
  signal: AbortSignal,
): Promise<RunReport> {
  const startedMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedMs;
  const run = await beginRun(request, { ...deps, signal }, lease);
  const outcome = nothingDone();
  try {
    await doStages(run, outcome);
  } catch (error) {
    const cause = deps.signal.aborted ? new Interrupted() : signal.aborted ? (signal.reason as Error) : error;
    const failure = { exitCode: exitCodeOf(cause), message: messageOf(cause) };
    if (failure.exitCode === EXIT.incomplete) {
      return endRun(run, { outcome, failures: [failure], causes: [cause, error], elapsedMs });
    }
    // The report is stored first, as the caller may drop the error. If storing it fails, the original error is still
    // thrown.
    await endRun(run, { outcome, failures: [failure], causes: [], elapsedMs }).catch(() => undefined);
    throw cause;
  }
  return endRun(run, { outcome, failures: [], causes: [], elapsedMs });
}

/**
 * Does the stages of the command, each into `outcome`. Throws errors that concern all merchants, and the abort signal's
 * reason.
 */
async function doStages(run: ActiveRun, outcome: StageOutcome): Promise<void> {
  const { request, deps, lease } = run;
  const stages = STAGES[request.command];
  if (stages.includes('publish')) {
    await deps.objects.check();
    await claimStore({ ...deps, fence: leaseFence({ ...deps, lease }) });
  }
  if (stages.includes('sync')) await syncStage(run, outcome);
  deps.signal.throwIfAborted();
  if (stages.includes('reconcile')) {
    await reconcileStage(run, outcome);
    await noticeFigures(run, outcome);
  }
  if (stages.includes('sync')) await noticeShared(run);
  deps.signal.throwIfAborted();
  if (stages.includes('publish')) await publishStage(run, outcome);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Works out the days of the run, and records its start. */
async function beginRun(request: RunRequest, deps: RunDeps, lease: Lease): Promise<ActiveRun> {
  const { ranges, from, to } = await runRanges(request, deps);
  const runId = await recordStart(request, deps, { from, to });
  const zoneGate = runZoneGate(deps);
  return { request, deps, lease, runId, zoneGate, ranges, from, to, checked: checkedBy(request, deps) };
}

/** Records the start of the run, and the days asked for by date, which stay open until they are proven. */
async function recordStart(request: RunRequest, deps: RunDeps, days: DayRange): Promise<number> {
  const now = deps.now();
  const runId = await startRun(deps.db, {
    command: request.scheduled?.job ?? request.command,
    slot: request.scheduled?.slot ?? null,
    holder: deps.holder,
    fromDay: days.from,
    toDay: days.to,
    now,
  });
  if (request.range !== null && STAGES[request.command].includes('sync')) {
    await recordRequestedRanges(deps.db, { ...accountsAsked(request), ...request.range, runId, now });
  }
  return runId;
}
