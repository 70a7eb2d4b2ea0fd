/** Finds out what `run` with the same flags would do: does it all on the database, rolls it back, and reports it. */
import { addDays, dayOf } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { BreakRow } from '../store/breaks/breaks.ts';
import { rehearse } from '../store/engine/rehearsal.ts';
import { startRun } from '../store/runs.ts';
import { checkedBy } from './checked.ts';
import { REHEARSAL_TTL_MS, underLeases, type HeldLeases } from './leases.ts';
import { runRanges } from './merchant-ranges.ts';
import { outcomeOfAll } from './outcomes.ts';
import { plannedDays, type PlannedDay } from './plan-days.ts';
import type { MerchantSync, MerchantTrouble } from './report.ts';
import { workOnAll } from './work-on-all.ts';
import { accountsAsked, runZoneGate, type ActiveRun, type RunDeps, type RunRequest } from './active-run.ts';

export interface PlanReport {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  /** What reading brought, with the number of calls. `run` makes as many, but for proofs of the time zone. */
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
  const merchants = request.merchants.map(({ merchantNo }) => merchantNo);
  return underLeases(merchants, { ...deps, ttlMs: REHEARSAL_TTL_MS }, (held) => {
    const [busy] = held.busy.values();
    if (busy !== undefined) throw busy;
    return rehearse(deps.db, (db) => planAll(request, { ...deps, db, signal: held.signal }, held));
  });
}

async function planAll(
  request: Omit<RunRequest, 'command'>,
  deps: RunDeps,
  held: HeldLeases,
): Promise<PlanReport> {
  const asked: RunRequest = { ...request, command: 'run' };
  const { ranges, from, to } = await runRanges(asked, deps);
  const now = deps.now();
  const runId = await startRun(deps.db, {
    ...{ command: 'plan', holder: deps.holder, fromDay: from, toDay: to, now },
  });
  const checked = checkedBy(asked, deps);
  const run: ActiveRun = { request: asked, deps, runId, zoneGate: runZoneGate(deps), from, to, checked };
  const outcomes = await workOnAll(run, { held, ranges, stages: ['sync', 'reconcile'] });
  const { sync, reconcile, troubles } = outcomeOfAll([...outcomes.values()]);
  const yesterday = addDays(dayOf(now.getTime(), deps.zone), -1);
  return {
    from,
    to,
    sync,
    daysChanged: await plannedDays(reconcile?.daysChanged ?? [], {
      ...deps,
      accounts: accountsAsked(request),
      // A day that is not over has no final figures yet. It is left out, unless it was asked for by date.
      toDay: to > yesterday ? to : yesterday,
    }),
    breaksOpened: reconcile?.opened ?? [],
    breaksHealed: reconcile?.healed ?? [],
    troubles,
  };
}
