/** One run, whole: the lease, then sync, reconcile, heal and publish, then the figures and the exit code. */
import type { Kysely } from 'kysely';
import { dayOf } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { Currencies } from '../ledger/money.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import type { PublishReport } from '../statements/publish.ts';
import type { ReconcileReport } from '../reconcile/reconcile.ts';
import type { Lease } from '../store/lease.ts';
import { finishRun, startRun } from '../store/runs.ts';
import type { DB } from '../store/schema.ts';
import { EXIT, Interrupted, exitCodeOf, type ExitCode } from './exit-codes.ts';
import { underLease } from './lease.ts';
import type { Progress } from './progress.ts';
import { merchantRanges } from './merchant-ranges.ts';
import { publishStage } from './publish-stage.ts';
import { outerRange, type DayRange } from './range.ts';
import { reconcileStage } from './reconcile-stage.ts';
import {
  figuresOf,
  judge,
  type HealingRead,
  type MerchantSync,
  type RunCommand,
  type RunReport,
} from './report.ts';
import { standingIn } from './standing.ts';
import { syncStage } from './sync-stage.ts';

/** Everything a run touches, opened and owned by the caller. */
export interface RunDeps {
  readonly db: Kysely<DB>;
  readonly reader: LedgerReader;
  readonly objects: ObjectStore;
  readonly currencies: Currencies;
  /** IANA zone of the platform's timestamps and of business days. */
  readonly zone: string;
  readonly settleDelayMs: number;
  readonly resweepDays: number;
  readonly clockToleranceS: number;
  /** What the run takes for now: decides days and settled windows; a rehearsal may set it. */
  readonly now: () => Date;
  /** Real time: leases live by it. */
  readonly clock: () => Date;
  readonly holder: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

export interface RunRequest {
  readonly command: RunCommand;
  /** Null: each merchant's nightly default. */
  readonly range: DayRange | null;
  readonly merchants: readonly MerchantAccess[];
  /** Null: every currency. */
  readonly currencies: readonly string[] | null;
  /** Set where the schedule runs it: the job, and the wall-clock time it was due at. */
  readonly scheduled?: { readonly job: string; readonly slot: string };
}

type Stage = 'sync' | 'reconcile' | 'publish';
const STAGES: Readonly<Record<RunCommand, readonly Stage[]>> = {
  run: ['sync', 'reconcile', 'publish'],
  sync: ['sync'],
  reconcile: ['reconcile'],
  publish: ['publish'],
};

/** What the stages did, gathered while they do it, so that a failure half-way still reports what is kept. */
export interface StageOutcome {
  sync: readonly MerchantSync[];
  reconcile: ReconcileReport | null;
  healingReads: readonly HealingRead[];
  publish: PublishReport | null;
}

/**
 * Runs the stages of `request.command` under the lease and records the run.
 *
 * Throws before anything is read or written: `LeaseHeld` (another run works), `ObjectStoreRefused` and
 * `ObjectStoreUnreachable` (statements could not be stored anyway). Throws `TimeZoneWrong` before the first row.
 * Everything else a person can mend ends in the report, with exit code 3 or 4.
 */
export async function executeRun(request: RunRequest, deps: RunDeps): Promise<RunReport> {
  const stages = STAGES[request.command];
  if (stages.includes('publish')) await deps.objects.check();
  return underLease(deps, async (lease, signal) => {
    const startedMs = performance.now();
    const ranges = await merchantRanges({
      ...deps,
      merchants: request.merchants.map(({ merchantNo }) => merchantNo),
      asked: request.range,
      now: deps.now(),
    });
    const { from, to } = outerRange(ranges, request.range, dayOf(deps.now().getTime(), deps.zone));
    const runId = await startRun(deps.db, {
      command: request.scheduled?.job ?? request.command,
      slot: request.scheduled?.slot ?? null,
      holder: deps.holder,
      fromDay: from,
      toDay: to,
      now: deps.now(),
    });
    const outcome: StageOutcome = { sync: [], reconcile: null, healingReads: [], publish: null };
    const end = async (exitCode: ExitCode, notes: readonly string[]): Promise<RunReport> => {
      const elapsedMs = Math.round(performance.now() - startedMs);
      const report: RunReport = {
        command: request.command,
        runId,
        from,
        to,
        exitCode,
        ...outcome,
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
      const { exitCode, notes } = judge(
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
      return await end(exitCode, notes);
    } catch (error) {
      const cause = deps.signal.aborted
        ? new Interrupted()
        : signal.aborted
          ? (signal.reason as Error)
          : error;
      const code = exitCodeOf(cause);
      if (code !== EXIT.incomplete) {
        await end(code, [cause instanceof Error ? cause.message : String(cause)]).catch(() => undefined);
        throw cause;
      }
      const { exitCode, notes } = judge(outcome.sync, outcome.publish, { openBreaks: 0, quarantined: 0 }, [
        (cause as Error).message,
      ]);
      return end(exitCode, notes);
    }
  });
}

/** One run at work: what was asked, with what, under which lease. */
export interface RunWork {
  readonly request: RunRequest;
  readonly deps: RunDeps;
  readonly lease: Lease;
  readonly runId: number;
  readonly ranges: ReadonlyMap<string, DayRange>;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}
