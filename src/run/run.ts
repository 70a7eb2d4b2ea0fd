/** One run, whole: the lease, then sync, reconcile, heal and publish, then the figures and the exit code. */
import type { Lease } from '../store/lease.ts';
import { finishRun, runsOfSlot, startRun } from '../store/runs.ts';
import type { DueJob } from './due.ts';
import { EXIT, Interrupted, exitCodeOf, isGoodEnd, type ExitCode } from './exit-codes.ts';
import { withFailures } from './isolation.ts';
import { underLease } from './lease.ts';
import { runRanges } from './merchant-ranges.ts';
import { publishStage } from './publish-stage.ts';
import { reconcileStage } from './reconcile-stage.ts';
import { figuresOf, judge, TIME_ZONE_ON_TRUST, type RunCommand, type RunReport } from './report.ts';
import { standingIn } from './standing.ts';
import { syncStage } from './sync-stage.ts';
import type { RunDeps, RunRequest, StageOutcome } from './work.ts';

type Stage = 'sync' | 'reconcile' | 'publish';
const STAGES: Readonly<Record<RunCommand, readonly Stage[]>> = {
  run: ['sync', 'reconcile', 'publish'],
  sync: ['sync'],
  reconcile: ['reconcile'],
  publish: ['publish'],
};

/**
 * Runs the stages of `request.command` under the lease and records the run.
 *
 * Throws before anything is read or written: `LeaseHeld` (another run works), `ObjectStoreRefused` and
 * `ObjectStoreUnreachable` (statements could not be stored anyway). Throws `TimeZoneWrong` before the first row.
 * Everything else a person can mend ends in the report, with exit code 3 or 4.
 */
export async function executeRun(request: RunRequest, deps: RunDeps): Promise<RunReport> {
  if (STAGES[request.command].includes('publish')) await deps.objects.check();
  return underLease(deps, (lease, signal) => runStages(request, deps, lease, signal));
}

/**
 * Runs a scheduled job unless its slot turns out to be done: another process may have run it between the question what
 * is due and the lease. Null then. Throws what `executeRun` throws.
 */
export async function executeScheduled(
  request: RunRequest & { readonly scheduled: DueJob },
  deps: RunDeps,
): Promise<RunReport | null> {
  await deps.objects.check();
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
  const stages = STAGES[request.command];
  const startedMs = performance.now();
  const { ranges, from, to } = await runRanges(request, deps);
  const runId = await startRun(deps.db, {
    command: request.scheduled?.job ?? request.command,
    slot: request.scheduled?.slot ?? null,
    holder: deps.holder,
    fromDay: from,
    toDay: to,
    now: deps.now(),
  });
  const outcome: StageOutcome = {
    sync: [],
    reconcile: null,
    healingReads: [],
    publish: null,
    failures: [],
  };
  const end = async (exitCode: ExitCode, found: readonly string[]): Promise<RunReport> => {
    const notes = deps.timeZoneTrusted === true ? [...found, TIME_ZONE_ON_TRUST] : found;
    const elapsedMs = Math.round(performance.now() - startedMs);
    const report: RunReport = {
      command: request.command,
      runId,
      from,
      to,
      exitCode,
      sync: outcome.sync,
      reconcile: outcome.reconcile,
      healingReads: outcome.healingReads,
      publish: outcome.publish,
      notes,
      elapsedMs,
    };
    await finishRun(deps.db, runId, { exitCode, figures: figuresOf(report), now: deps.now() });
    return report;
  };
  try {
    const work = { request, deps: { ...deps, signal }, lease, runId, ranges, from, to };
    if (stages.includes('sync')) await syncStage(work, outcome);
    signal.throwIfAborted();
    if (stages.includes('reconcile')) await reconcileStage(work, outcome);
    signal.throwIfAborted();
    if (stages.includes('publish')) await publishStage(work, outcome);
    const judged = judge(
      outcome.sync,
      outcome.publish,
      await standingIn(deps.db, {
        merchants: request.merchants.map(({ merchantNo }) => merchantNo),
        currencies: request.currencies,
        from,
        to,
        zone: deps.zone,
      }),
      [],
    );
    const { exitCode, notes } = withFailures(judged, outcome.failures);
    return await end(exitCode, notes);
  } catch (error) {
    const cause = deps.signal.aborted ? new Interrupted() : signal.aborted ? (signal.reason as Error) : error;
    const code = exitCodeOf(cause);
    if (code !== EXIT.incomplete) {
      await end(code, [cause instanceof Error ? cause.message : String(cause)]).catch(() => undefined);
      throw cause;
    }
    const judged = judge(outcome.sync, outcome.publish, { openBreaks: 0, quarantined: 0 }, [
      (cause as Error).message,
    ]);
    const { exitCode, notes } = withFailures(judged, outcome.failures);
    return end(exitCode, notes);
  }
}
