/**
 * One whole run: takes the lease, then sync, reconcile, heal and publish, then stores the figures and the exit code.
 */
import { LeaseLost, type Lease } from '../store/engine/lease.ts';
import { recordRequestedRanges } from '../store/requested-ranges.ts';
import { leaseFence } from '../statements/publish-day.ts';
import { claimStore } from '../statements/store-owner.ts';
import { StoreUnreachable } from '../store/engine/errors.ts';
import { clocksSeenBefore, finishRun, runsOfSlot, startRun } from '../store/runs.ts';
import { noticesTold } from '../store/notices.ts';
import { forgetUntold } from '../store/untold-changes.ts';
import { forgetUntoldRevisions } from '../store/statements/untold-revisions.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { isForPerson } from './clock-text.ts';
import { checkedBy } from './checked.ts';
import type { DueJob } from './schedule/due.ts';
import { EXIT, Interrupted, exitCodeOf, isGoodEnd } from './verdict/exit-codes.ts';
import { underLease } from './lease.ts';
import { runRanges } from './merchant-ranges.ts';
import { publishStage } from './stages/publish-stage.ts';
import { reconcileStage } from './stages/reconcile-stage.ts';
import { judge, type RunFailure } from './verdict/judge.ts';
import { noticeFigures, noticeShared } from './stages/notice-stage.ts';
import type { DayRange } from './range.ts';
import { figuresOf, TIME_ZONE_ON_TRUST, type RunCommand, type RunReport, type Standing } from './report.ts';
import { NOTHING_STANDS, standingOf } from './standing.ts';
import { sumOfSync } from './stages/sync-tally.ts';
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

type Stage = 'sync' | 'reconcile' | 'publish';
const STAGES: Readonly<Record<RunCommand, readonly Stage[]>> = {
  run: ['sync', 'reconcile', 'publish'],
  sync: ['sync'],
  reconcile: ['reconcile'],
  publish: ['publish'],
};

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
  const { ranges, from, to } = await runRanges(request, deps);
  const runId = await beginRun(request, deps, { from, to });
  const outcome = nothingDone();
  const checked = checkedBy(request, deps);
  const end = async (
    failures: readonly RunFailure[],
    causes: readonly unknown[] = [],
  ): Promise<RunReport> => {
    // If the database did not answer before, it is not asked again, as each question would wait in vain. The same
    // goes for a lease that could not be renewed, which mostly has the same cause.
    const isAway = causes.some((cause) => cause instanceof StoreUnreachable || cause instanceof LeaseLost);
    const standing = isAway ? NOTHING_STANDS : await standingAfter(request, deps, runId, failures.length > 0);
    const wereClocksApart = !isAway && (await clocksWereApart(deps.db, runId, outcome.sync));
    const run = { id: runId, failures, zone: deps.zone, wereClocksApart };
    const { exitCode, reasons: judged } = judge(outcome, standing, run);
    const reasons =
      deps.timeZoneTrusted === true
        ? [...judged, { exitCode: EXIT.done, what: TIME_ZONE_ON_TRUST, todo: null }]
        : judged;
    const report: RunReport = {
      command: request.command,
      runId,
      from,
      to,
      exitCode,
      ...outcome,
      checked,
      standing,
      reasons,
      notes: reasons.map(({ what }) => what),
      elapsedMs: Math.round(performance.now() - startedMs),
    };
    const figures = {
      ...figuresOf(report),
      interrupted: causes.some((cause) => cause instanceof Interrupted),
    };
    const finished = finishRun(deps.db, runId, { exitCode, figures, now: deps.now() });
    await (isAway ? finished.catch(() => undefined) : finished);
    if (hasToldOf(standing)) await forgetTold(request, deps, lease, standing);
    return report;
  };
  try {
    const zoneGate = runZoneGate(deps);
    const work: ActiveRun = {
      ...{ request, deps: { ...deps, signal }, lease, runId, zoneGate, ranges, from, to, checked },
    };
    const stages = STAGES[request.command];
    if (stages.includes('publish')) {
      await deps.objects.check();
      await claimStore({ ...deps, fence: leaseFence({ ...deps, lease }) });
    }
    if (stages.includes('sync')) {
      await syncStage(work, outcome);
      await noticeShared(work);
    }
    signal.throwIfAborted();
    if (stages.includes('reconcile')) {
      await reconcileStage(work, outcome);
      await noticeFigures(work, outcome);
    }
    signal.throwIfAborted();
    if (stages.includes('publish')) await publishStage(work, outcome);
  } catch (error) {
    const cause = deps.signal.aborted ? new Interrupted() : signal.aborted ? (signal.reason as Error) : error;
    const failure = { exitCode: exitCodeOf(cause), message: messageOf(cause) };
    if (failure.exitCode === EXIT.incomplete) return end([failure], [cause, error]);
    // The report is stored first, as the caller may drop the error. If storing it fails, the original error is still
    // thrown.
    await end([failure]).catch(() => undefined);
    throw cause;
  }
  return end([]);
}

/** Only asked if the clocks differ by much now. If the database does not answer, the difference counts as new. */
async function clocksWereApart(
  db: RunDeps['db'],
  runId: number,
  sync: StageOutcome['sync'],
): Promise<boolean> {
  if (!isForPerson(sumOfSync(sync))) return false;
  const before = await clocksSeenBefore(db, runId).catch(() => null);
  return before !== null && isForPerson(before);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Records the start of the run, and the days asked for by date, which stay open until they are proven. */
async function beginRun(request: RunRequest, deps: RunDeps, days: DayRange): Promise<number> {
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

const hasToldOf = ({ untold, revised, notices }: Standing): boolean =>
  untold.amended + untold.vanished + revised.length + notices.length > 0;

/** Marks changes as reported, once the report is stored. If this fails, a later run reports them again. */
async function forgetTold(
  request: RunRequest,
  deps: RunDeps,
  lease: Lease,
  { notices }: Standing,
): Promise<void> {
  const { merchants: told } = accountsAsked(request);
  const forget = writeTransaction(deps.db, lease, async (trx) => {
    await forgetUntold(trx, told);
    await forgetUntoldRevisions(trx, told);
    await noticesTold(trx, notices, told, deps.now());
  });
  await forget.catch(() => undefined);
}

/**
 * What is open after the run. If the run failed already, a database that cannot answer does not count as a second
 * failure.
 */
async function standingAfter(
  request: RunRequest,
  deps: RunDeps,
  runId: number,
  failed: boolean,
): Promise<Standing> {
  const asked = standingOf(deps.db, {
    ...accountsAsked(request),
    runId,
    reads: STAGES[request.command].includes('sync'),
    zone: deps.zone,
    now: deps.now(),
  });
  return failed ? asked.catch(() => NOTHING_STANDS) : asked;
}
