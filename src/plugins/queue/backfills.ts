/** Backfills on the queue: the jobs of their merchants, and the slices that one job does. */
import { endBackfills } from '../../run/backfill/end.ts';
import type { SliceWorker } from '../../run/backfill/slice-worker.ts';
import { openPart, partsToDo } from '../../run/backfill/tasks.ts';
import { EXIT, mostSevere, type ExitCode } from '../../run/verdict/exit-codes.ts';
import type { Db } from '../../store/engine/database.ts';
import { enqueue, merchantsWithJob, waitingOn } from './jobs.ts';
import type { MerchantJob, Queue } from './queue.ts';

/** Merchants of backfills that are on their lane at the same time; the others follow. */
const QUEUED_MAX = 1_000;

/**
 * Puts merchants with slices to do on the lane of backfills, those left out that are on it. Any process may call it, as
 * often as it likes. Returns how many it put there.
 */
export async function enqueueBackfills(
  queue: Queue,
  { now, zone }: { readonly now: () => Date; readonly zone: string },
): Promise<number> {
  const { db } = queue;
  await endBackfills({ db, now, zone });
  const parts = await partsToDo(db, { now: now(), limit: QUEUED_MAX });
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

interface SlicesOptions {
  readonly worker: SliceWorker;
  readonly db: Db;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/**
 * Does the slices of one merchant, one after the other, until none is left or one has failed. Between two slices it
 * ends as well if a job of the night waits: `enqueueBackfills` then brings the rest. Throws as the worker's
 * `doSlice`.
 */
export async function doSlices(
  job: MerchantJob,
  { worker, db, now, signal }: SlicesOptions,
): Promise<ExitCode> {
  const codes: ExitCode[] = [];
  for (;;) {
    const part = await openPart(db, job);
    if (part === undefined || part.tryAt > now()) break;
    const { outcome, exitCode } = await worker.doSlice(part, signal);
    if (outcome === 'failed') return EXIT.incomplete;
    codes.push(exitCode ?? EXIT.done);
    if (await waitingOn(db, 'night')) break;
    signal.throwIfAborted();
  }
  return mostSevere(codes);
}
