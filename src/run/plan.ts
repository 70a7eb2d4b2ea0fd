/** Finds out what `run` with the same flags would do: does it all on the database, rolls it back, and reports it. */
import { addDays, dayOf } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { BreakRow } from '../store/breaks/breaks.ts';
import { rehearse } from '../store/engine/rehearsal.ts';
import { startRun } from '../store/runs.ts';
import { checkedBy } from './checked.ts';
import { REHEARSAL_TTL_MS, underLease } from './lease.ts';
import { runRanges } from './merchant-ranges.ts';
import { noticeFigures, noticeShared } from './stages/notice-stage.ts';
import { plannedDays, type PlannedDay } from './plan-days.ts';
import { reconcileStage } from './stages/reconcile-stage.ts';
import type { MerchantSync, MerchantTrouble } from './report.ts';
import { syncStage } from './stages/sync-stage.ts';
import {
  accountsAsked,
  nothingDone,
  runZoneGate,
  type RunDeps,
  type RunRequest,
  type ActiveRun,
} from './active-run.ts';

export interface PlanReport {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  /** What reading brought, with the number of calls; `run` would make as many. */
  readonly sync: readonly MerchantSync[];
  /** Account days whose figures or rows would change, before and after, with the revision that would be published. */
  readonly daysChanged: readonly PlannedDay[];
  readonly breaksOpened: readonly BreakRow[];
  readonly breaksHealed: readonly BreakRow[];
  /** Merchants whose figures could not be worked out. */
  readonly troubles: readonly MerchantTrouble[];
}

/**
 * Reads the platform as `run` would and works out all figures, but keeps no row and no object. Holds the lease
 * meanwhile, so that no other run changes what it works with. Throws what `executeRun` throws.
 */
export function planRun(request: Omit<RunRequest, 'command'>, deps: RunDeps): Promise<PlanReport> {
  return underLease({ ...deps, ttlMs: REHEARSAL_TTL_MS }, (lease, signal) =>
    rehearse(deps.db, async (db) => {
      const rehearsal: RunDeps = { ...deps, db, signal };
      const yesterday = addDays(dayOf(deps.now().getTime(), deps.zone), -1);
      const asked: RunRequest = { ...request, command: 'run' };
      const { ranges, from, to } = await runRanges(asked, rehearsal);
      const runId = await startRun(db, {
        command: 'plan',
        holder: deps.holder,
        fromDay: from,
        toDay: to,
        now: deps.now(),
      });
      const zoneGate = runZoneGate(deps);
      const checked = checkedBy(asked, rehearsal);
      const run: ActiveRun = {
        ...{ request: asked, deps: rehearsal, lease, runId, zoneGate, ranges, from, to, checked },
      };
      const outcome = nothingDone();
      await syncStage(run, outcome);
      await reconcileStage(run, outcome);
      await noticeFigures(run, outcome);
      await noticeShared(run);
      return {
        from,
        to,
        sync: outcome.sync,
        daysChanged: await plannedDays(outcome.reconcile?.daysChanged ?? [], {
          ...rehearsal,
          accounts: accountsAsked(request),
          // A day that is not over has no final figures yet. It is left out, unless it was asked for by date.
          toDay: to > yesterday ? to : yesterday,
        }),
        breaksOpened: outcome.reconcile?.opened ?? [],
        breaksHealed: outcome.reconcile?.healed ?? [],
        troubles: outcome.troubles,
      };
    }),
  );
}
