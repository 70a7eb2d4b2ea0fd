/** Runs that are on record and whose merchants are worked on one by one: what is known of such a run, and the work on one merchant. */
import type { ZoneGate } from '../sync/zone-gate.ts';
import { checkedBy, STAGES, type ActiveRun, type RunDeps, type RunRequest } from './active-run.ts';
import type { HeldLeases } from './leases.ts';
import { runRanges } from './merchant-ranges.ts';
import { nothingDoneFor, workOnAll } from './merchant-work.ts';
import type { DayRange } from './range.ts';
import type { MerchantOutcome } from './report.ts';
import { prepare } from './run.ts';
import { watchOwner } from '../statements/store-owner.ts';

/** Runs that a process remembers: it proves the time zone and checks the object store once for each. */
const RUNS_REMEMBERED = 8;

/** What a process knows of the runs that it was last at work on. */
export class RunMemory<Known> {
  readonly #runs = new Map<number, Known>();

  /** What is known of the run; at first what `learn` tells. */
  async of(runId: number, learn: () => Known | Promise<Known>): Promise<Known> {
    const known = this.#runs.get(runId) ?? (await learn());
    // Another merchant of the run may have been faster.
    const kept = this.#runs.get(runId) ?? known;
    this.#runs.set(runId, kept);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > RUNS_REMEMBERED) this.#runs.delete(oldest!);
    return kept;
  }
}

export interface RecordedRun extends DayRange {
  readonly id: number;
  readonly zoneGate: ZoneGate;
  /** Set once the object store was checked (`ActiveRun`). */
  ownsStore: ActiveRun['ownsStore'] | null;
}

/** Does the stages for the request's one merchant. Throws what `workOnAll` throws. */
export async function workOnStages(
  recorded: RecordedRun,
  request: RunRequest,
  ownDeps: RunDeps,
  held: HeldLeases,
): Promise<{ readonly run: ActiveRun; readonly outcome: MerchantOutcome }> {
  const deps = { ...ownDeps, signal: held.signal };
  const { ranges } = await runRanges(request, deps);
  const { id: runId, from, to, zoneGate } = recorded;
  const prepared = { request, deps, runId, zoneGate, from, to, checked: checkedBy(request, deps) };
  if (recorded.ownsStore === null) await prepare(prepared, held);
  recorded.ownsStore ??= watchOwner(deps);
  const run: ActiveRun = { ...prepared, ownsStore: recorded.ownsStore };
  const outcomes = await workOnAll(run, { held, ranges, stages: STAGES[request.command] });
  const [merchantNo] = held.merchants;
  return { run, outcome: outcomes.get(merchantNo!) ?? nothingDoneFor(merchantNo!) };
}
