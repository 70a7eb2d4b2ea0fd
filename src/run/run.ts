/** One complete run: many merchants side by side, each from reading to published under its own lease, and one report. */
import type { MerchantAccess } from '../platform/ledger-reader.ts';
import { addDays, dayOf } from '../ledger/business-day.ts';
import { recordRequests } from '../store/requests.ts';
import { merchantsDoneInSlot } from '../store/run-merchants.ts';
import { leaseFence } from '../statements/publish-options.ts';
import { claimStore, watchOwner } from '../statements/store-owner.ts';
import { runsOfSlot, startRun } from '../store/runs.ts';
import { BACKFILL_COMMAND } from './backfills.ts';
import { isLong, workInSlices, workOnSlice } from './slices.ts';
import {
  checkedBy,
  UNOBSERVED,
  accountsAsked,
  isNightlyRun,
  runZoneGate,
  type ActiveRun,
  type RunDeps,
  type RunRequest,
  STAGES,
} from './active-run.ts';
import { underLeases, type HeldLeases } from './leases.ts';
import { MerchantEnds } from './merchant-ends.ts';
import { runRanges } from './merchant-ranges.ts';
import type { DayRange, MerchantDays } from './range.ts';
import type { MerchantOutcome, RunReport } from './report.ts';
import { endRun, failureOf, type RunMerchants } from './run-end.ts';
import type { DueJob } from './schedule/due.ts';
import { noticeShared } from './stages/notice-stage.ts';
import { EXIT, isGoodEnd } from './verdict/exit-codes.ts';
import { workOnAll, workOnMerchant } from './merchant-work.ts';

/**
 * Runs the stages of `request.command` for each merchant whose lease is free, and records the run. Merchants that
 * another run is at work on are tried once more at the end, and otherwise reported as busy.
 *
 * Throws `LeaseHeld` if all of them are busy; nothing is written then. Throws `ObjectStoreRefused` (statements
 * could not be stored) and `TimeZoneWrong` before the first row of the ledger is written; the run is then recorded as
 * failed. An internal error that does not belong to a single merchant is thrown after the report of what was done is
 * stored. Everything else ends in the report: what a person can correct with exit code 3 or 4, a fault of one
 * merchant with 70.
 */
export const executeRun = (request: RunRequest, deps: RunDeps): Promise<RunReport> =>
  underLeases(numbersOf(request.merchants), deps, (held) => runAll(request, deps, held));

/**
 * Runs a scheduled job for the merchants that are not done in its slot yet. Null if all of the slot is done by now:
 * another process may have run it after this one asked what is due and before it got the leases. Throws what
 * `executeRun` throws.
 */
export async function executeScheduled(
  request: RunRequest & { readonly scheduled: DueJob },
  deps: RunDeps,
): Promise<RunReport | null> {
  const left = await notDoneInSlot(request, deps);
  return underLeases(numbersOf(left), deps, async (held) =>
    (await isSlotDone(deps.db, request.scheduled))
      ? null
      : runAll(
          { ...request, merchants: await notDoneInSlot({ ...request, merchants: left }, deps) },
          deps,
          held,
        ),
  );
}

const numbersOf = (merchants: readonly MerchantAccess[]): string[] =>
  merchants.map(({ merchantNo }) => merchantNo);

/** Whether the slot is done: a run of it ended well, or another try would end as this one did. */
export async function isSlotDone(db: RunDeps['db'], { job, slot }: DueJob): Promise<boolean> {
  const runs = await runsOfSlot(db, job, slot);
  return runs.some(({ exitCode, figures }) => isGoodEnd(exitCode) || figures['awaitsPerson'] === true);
}

/** The merchants that no run of the slot has ended well for. If there are none left, all: the slot ended otherwise. */
export async function notDoneInSlot(
  { merchants, scheduled: { job, slot } }: RunRequest & { readonly scheduled: DueJob },
  { db }: RunDeps,
): Promise<readonly MerchantAccess[]> {
  const done = await merchantsDoneInSlot(db, job, slot);
  const left = merchants.filter(({ merchantNo }) => !done.has(merchantNo));
  return left.length === 0 ? merchants : left;
}

interface Merchants extends RunMerchants {
  readonly access: ReadonlyMap<string, MerchantAccess>;
  readonly outcomes: Map<string, MerchantOutcome>;
}

function runAll(request: RunRequest, deps: RunDeps, held: HeldLeases): Promise<RunReport> {
  const { trace } = deps.observer ?? UNOBSERVED;
  const command = request.scheduled?.job ?? request.command;
  const attributes = { 'daybook.command': command, 'daybook.merchants': held.merchants.length };
  return trace('run', attributes, async (tell) => {
    const report = await runTraced(request, deps, held);
    tell({ 'daybook.run': report.runId, 'daybook.exit_code': report.exitCode });
    return report;
  });
}

async function runTraced(request: RunRequest, deps: RunDeps, held: HeldLeases): Promise<RunReport> {
  const startedMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedMs;
  const taken = new Set(held.merchants);
  const own = request.merchants.filter(({ merchantNo }) => taken.has(merchantNo));
  const { run, ranges } = await beginRun({ ...request, merchants: own }, { ...deps, signal: held.signal });
  const merchants: Merchants = {
    access: new Map(request.merchants.map((merchant) => [merchant.merchantNo, merchant])),
    held,
    outcomes: new Map(),
    ends: new MerchantEnds(run, held.giveBack),
  };
  let cause: unknown = null;
  try {
    await prepare(run, held);
    await work(run, merchants, ranges);
    await tryBusy(run, merchants);
    if (STAGES[request.command].includes('sync'))
      await noticeShared(deps, { runId: run.runId, merchants: numbersOf(request.merchants) });
  } catch (error) {
    cause = error;
  }
  if (cause === null) return endRun(run, merchants, { failures: [], causes: [], elapsedMs });
  const reported = failureOf(cause, deps.signal, held.signal);
  const isIncomplete = reported.failure.exitCode === EXIT.incomplete;
  const causes = isIncomplete ? [reported.cause, cause] : [];
  const ended = endRun(run, merchants, { failures: [reported.failure], causes, elapsedMs });
  if (isIncomplete) return ended;
  // The report is stored first, as the caller may drop the error. If storing it fails, the original error is still
  // thrown.
  await ended.catch(() => undefined);
  throw reported.cause;
}

/** Makes sure that statements can be published before anything is read. */
export async function prepare({ request, deps }: ActiveRun, held: HeldLeases): Promise<void> {
  if (!STAGES[request.command].includes('publish')) return;
  await deps.objects.check();
  const lease = held.leaseOf(held.merchants[0]!);
  await claimStore({ ...deps, fence: leaseFence({ ...deps, lease }) });
}

/** Works on those merchants that were busy and are free now. Those asked for by name are reported as busy at once. */
async function tryBusy(run: ActiveRun, merchants: Merchants): Promise<void> {
  if (run.request.isByName === true) return;
  const free = await merchants.held.takeBusy();
  if (free.length === 0) return;
  const request = { ...run.request, merchants: free.map((merchantNo) => merchants.access.get(merchantNo)!) };
  const { ranges } = await runRanges(request, run.deps);
  await recordAsked(request, run.deps, run.runId);
  await work({ ...run, request }, merchants, ranges);
}

/** Works on the run's merchants side by side, and ends each. Throws what concerns all of them. */
async function work(
  run: ActiveRun,
  { held, outcomes, ends }: Merchants,
  ranges: ReadonlyMap<string, MerchantDays>,
): Promise<void> {
  await workOnAll(run, {
    held,
    work: run.request.isSlice === true ? workOnSlice : isLong(run.request) ? workInSlices : workOnMerchant,
    ranges,
    stages: STAGES[run.request.command],
    outcomes,
    onDone: (outcome) => ends.add({ outcome, lease: held.leaseOf(outcome.merchantNo) }),
  });
}

async function beginRun(request: RunRequest, deps: RunDeps) {
  const { ranges, from, to } = await runRanges(request, deps);
  const runId = await recordStart(request, deps, { from, to });
  const checked = checkedBy(request, deps);
  const ownsStore = watchOwner(deps);
  const run = { request, deps, runId, zoneGate: runZoneGate(deps), from, to, checked, ownsStore };
  return { run, ranges };
}

/** Records the start of the run, and the days asked for by date, which stay open until they are proven. */
export async function recordStart(request: RunRequest, deps: RunDeps, days: DayRange): Promise<number> {
  const runId = await startRun(deps.db, {
    command: request.isSlice === true ? BACKFILL_COMMAND : (request.scheduled?.job ?? request.command),
    slot: request.scheduled?.slot ?? null,
    holder: deps.holder,
    fromDay: days.from,
    toDay: days.to,
    now: deps.now(),
    isNightly: isNightlyRun(request),
  });
  await recordAsked(request, deps, runId);
  return runId;
}

/** Of a long run, the days that are over are recorded as a backfill: what it leaves is done as one. */
async function recordAsked(request: RunRequest, { db, now, zone }: RunDeps, runId: number): Promise<void> {
  const { range } = request;
  if (range === null || request.isSlice === true || !STAGES[request.command].includes('sync')) return;
  const { merchants } = accountsAsked(request);
  if (merchants.length === 0) return;
  const asked = { merchants, runId, now: now() };
  const today = dayOf(asked.now.getTime(), zone);
  const yesterday = addDays(today, -1);
  const isBackfill = isLong(request);
  if (isBackfill) {
    const to = range.to < yesterday ? range.to : yesterday;
    await recordRequests(db, { ...asked, askedBy: 'backfill', from: range.from, to });
  }
  const from = isBackfill ? today : range.from;
  if (from <= range.to) await recordRequests(db, { ...asked, askedBy: 'run', from, to: range.to });
}
