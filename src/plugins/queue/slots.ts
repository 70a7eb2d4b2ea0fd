/** Slots of the schedule on the queue: each is put there once, and workers do it. */
import type { Logger } from 'pino';
import { ledgerRequest } from '../../../jobs/all.ts';
import { logEnd } from '../../cli/keep-running.ts';
import { messageOf } from '../../ledger/text.ts';
import type { RunDeps, RunRequest } from '../../run/active-run.ts';
import { runDeps, type PlatformApp } from '../../run/app.ts';
import { runRanges } from '../../run/merchant-ranges.ts';
import type { DayRange } from '../../run/range.ts';
import { notesOf } from '../../run/run-state.ts';
import { isSlotDone, notDoneInSlot, recordStart } from '../../run/run.ts';
import type { DueJob } from '../../run/schedule/due.ts';
import type { Trx } from '../../store/engine/database.ts';
import { runById } from '../../store/runs.ts';
import type { QueuedSlots } from '../../run/work-queue.ts';
import { finishQueuedRun } from './end-run.ts';
import { enqueue } from './jobs.ts';
import { withQueue, type MerchantJob, type Queue } from './queue.ts';
import { joinEarlierJobs, lockSlot, openRunOfSlot, openRunSince, queueMerchants } from './stored.ts';

/** Calls `work` with the slots, while the queue is open. */
export async function withSlots(
  app: PlatformApp,
  log: Logger,
  work: (slots: QueuedSlots) => Promise<void>,
): Promise<void> {
  const onProblem = (error: unknown): void => log.error({ problem: messageOf(error) }, 'the queue failed');
  await withQueue(app, { supervises: false, onProblem }, (queue) => work(slotsOver(queue, app, log)));
}

/** A job that comes due waits this long for the run before it: until then its merchants still have their jobs. */
const WAITS_FOR_OTHERS_MS = 3_600_000;

function slotsOver(queue: Queue, app: PlatformApp, log: Logger): QueuedSlots {
  const { db } = app.database;
  /** Runs on the queue whose end is not reported yet. */
  const open = new Map<number, DueJob>();
  return {
    put: async (due, job, signal) => {
      if ((await openRunOfSlot(db, due.job, due.slot)) === undefined) {
        const other = await openRunSince(db, new Date(app.now().getTime() - WAITS_FOR_OTHERS_MS));
        if (other !== undefined) {
          log.info({ ...due, run: other }, 'job waits until this run has ended');
          return;
        }
      }
      const deps = { ...runDeps(app, signal), ...job.lookback?.(app.settings) };
      const run = await queueSlot(await ledgerRequest(app, due), {
        ...deps,
        enqueue: (trx, merchants) => enqueue(queue, trx, merchants),
      });
      if (run === null) {
        log.info(due, 'job done by another process');
        return;
      }
      if (open.has(run)) return;
      open.set(run, due);
      log.info({ ...due, run }, 'job is on the queue');
      // If no merchant could be queued, no worker will end the run.
      await finishQueuedRun(run, deps);
    },
    tellEnds: async () => {
      for (const [run, due] of open) {
        const row = await runById(db, run);
        if (row?.exitCode === null) continue;
        open.delete(run);
        if (row === undefined) continue;
        const { exitCode, figures } = row;
        logEnd(log, due, { run, exitCode, notes: notesOf(figures), elapsedMs: figures['elapsedMs'] });
      }
    },
  };
}

interface QueueingDeps extends RunDeps {
  /** Sends the jobs in the transaction. Returns those that were refused, as their merchant has another one. */
  readonly enqueue: (trx: Trx, jobs: readonly MerchantJob[]) => Promise<readonly MerchantJob[]>;
}

/**
 * Puts a due slot on the queue, once, however many processes try: with the merchants that are not done in it yet. If a
 * queued run of the slot is open, returns that one. Null if the slot is done. A merchant whose job of an earlier run is still
 * on the queue joins that job.
 */
export async function queueSlot(
  request: RunRequest & { readonly scheduled: DueJob },
  deps: QueueingDeps,
): Promise<number | null> {
  const { job, slot } = request.scheduled;
  const open = await openRunOfSlot(deps.db, job, slot);
  if (open !== undefined) return open;
  const days = await runRanges(request, deps);
  return deps.db.transaction().execute(async (trx) => {
    await lockSlot(trx, job, slot);
    const begun = await openRunOfSlot(trx, job, slot);
    if (begun !== undefined) return begun;
    if (await isSlotDone(trx, request.scheduled)) return null;
    const merchants = await notDoneInSlot(request, { ...deps, db: trx });
    return begin({ ...request, merchants }, days, deps, trx);
  });
}

async function begin(request: RunRequest, days: DayRange, deps: QueueingDeps, trx: Trx): Promise<number> {
  const { command, range, currencies, scheduled = null, notRead = [] } = request;
  const { lateSweepDays = null } = deps;
  const runId = await recordStart(request, { ...deps, db: trx }, days);
  const merchants = request.merchants.map(({ merchantNo }) => merchantNo);
  await queueMerchants(
    trx,
    runId,
    { command, range, currencies, scheduled, lateSweepDays, notRead },
    merchants,
  );
  const jobs = merchants.map((merchantNo) => ({ runId, merchantNo }));
  const refused = await deps.enqueue(trx, jobs);
  const joining = refused.map(({ merchantNo }) => merchantNo);
  await joinEarlierJobs(trx, runId, joining);
  return runId;
}
