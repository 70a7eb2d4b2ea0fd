/** Puts work on the queue for workers: a run with its merchants in one transaction, and merchants with slices to do. */
import type { Transaction } from 'kysely';
import { enqueue, merchantsWithJob } from '../queue/jobs.ts';
import type { MerchantJob, Queue } from '../queue/queue.ts';
import type { DB } from '../store/engine/schema.ts';
import { lockSlot, openRunOfSlot } from '../store/runs.ts';
import { endTasks, queueTasks, type TaskEnd } from '../store/tasks.ts';
import type { QueuedRequest, RunDeps, RunRequest } from './active-run.ts';
import { endBackfills } from './backfill/backfills.ts';
import { partsToDo } from './backfill/tasks.ts';
import { taskEndOf } from './merchant-ends.ts';
import { runRanges } from './merchant-ranges.ts';
import type { DayRange } from './range.ts';
import { isSlotDone, notDoneInSlot, recordStart } from './run.ts';
import type { DueJob } from './schedule/due.ts';
import { EXIT } from './verdict/exit-codes.ts';

interface QueueingDeps extends RunDeps {
  /** Sends the jobs in the transaction. Returns those that were refused, as their merchant has another one. */
  readonly enqueue: (trx: Transaction<DB>, jobs: readonly MerchantJob[]) => Promise<readonly MerchantJob[]>;
}

/**
 * Puts a due slot on the queue, once, however many processes try: with the merchants that are not done in it yet. If a
 * queued run of the slot is open, returns that one. Null if the slot is done. A merchant with a job of an earlier run is
 * busy in this one.
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

async function begin(
  request: RunRequest,
  days: DayRange,
  deps: QueueingDeps,
  trx: Transaction<DB>,
): Promise<number> {
  const { command, range, currencies, scheduled = null, notRead = [] } = request;
  const { holder, now, lateSweepDays = null } = deps;
  const runId = await recordStart(request, { ...deps, db: trx }, days);
  const merchants = request.merchants.map(({ merchantNo }) => merchantNo);
  const asked: QueuedRequest = { command, range, currencies, scheduled, lateSweepDays, notRead };
  await queueTasks(trx, runId, asked, merchants);
  const jobs = merchants.map((merchantNo) => ({ runId, merchantNo }));
  const refused = await deps.enqueue(trx, jobs);
  const ends = refused.map(({ merchantNo }) => busyEnd(merchantNo));
  await endTasks(trx, ends, { runId, holder, now: now(), ifWaiting: true });
  return runId;
}

/** The end of a merchant whose job of an earlier run is still open. */
const busyEnd = (merchantNo: string): TaskEnd =>
  taskEndOf({
    exitCode: EXIT.incomplete,
    what: `${merchantNo} is busy: its job of an earlier run is still on the queue`,
    todo: 'the schedule comes back to it; `daybook jobs list` shows whether workers are at work',
    merchantNo,
  });

/** Merchants of backfills that are on their lane at the same time; the others follow. */
const QUEUED_MAX = 1_000;

/**
 * Puts merchants with slices to do on the lane of backfills, those left out that are on it. Any process may call it, as
 * often as it likes. Returns how many it put there.
 */
export async function enqueueBackfills(queue: Queue, now: Date): Promise<number> {
  const { db } = queue;
  await endBackfills(db, now);
  const parts = await partsToDo(db, { now, limit: QUEUED_MAX });
  if (parts.length === 0) return 0;
  const runOf = new Map(parts.toReversed().map(({ merchantNo, runId }) => [merchantNo, runId]));
  const merchants = [...new Set(parts.map(({ merchantNo }) => merchantNo))];
  const taken = await merchantsWithJob(db, 'backfill', merchants);
  const sent = merchants
    .filter((merchantNo) => !taken.has(merchantNo))
    .map((merchantNo) => ({ runId: runOf.get(merchantNo)!, merchantNo }));
  if (sent.length === 0) return 0;
  return db.transaction().execute(async (trx) => {
    const refused = await enqueue(queue, trx, 'backfill', sent);
    return sent.length - refused.length;
  });
}
