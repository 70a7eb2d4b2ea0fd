/** Backfills where workers do them: one job a merchant on the lane of backfills, which does slice after slice. */
import { enqueue } from '../../queue/enqueue.ts';
import { merchantsWithJob, waitingOn } from '../../queue/job-table.ts';
import type { MerchantJob, Queue } from '../../queue/queue.ts';
import { openPart, partsToDo } from '../../store/backfills.ts';
import { EXIT, mostSevere, type ExitCode } from '../verdict/exit-codes.ts';
import { endBackfills } from './end.ts';
import type { BackfillSlices } from './slice-work.ts';

/** Merchants that are on the lane at the same time; the others follow. */
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
  const merchants = [...new Set(parts.map(({ merchantNo }) => merchantNo))];
  const taken = await merchantsWithJob(db, 'backfill', merchants);
  const jobs = merchants
    .filter((merchantNo) => !taken.has(merchantNo))
    .map((merchantNo) => parts.find((part) => part.merchantNo === merchantNo)!);
  if (jobs.length === 0) return 0;
  const sent = jobs.map(({ runId, merchantNo }) => ({ runId, merchantNo }));
  return db.transaction().execute(async (trx) => {
    const refused = await enqueue(queue, trx, 'backfill', sent);
    return sent.length - refused.length;
  });
}

/**
 * Does the slices of one merchant, one after the other, until none is left or one has failed. Between two slices it
 * ends as well if a job of the night waits: `enqueueBackfills` then brings the rest. Throws as `BackfillSlices.do`.
 */
export async function workOnBackfillJob(
  slices: BackfillSlices,
  queue: Pick<Queue, 'db'>,
  job: MerchantJob,
  { now, signal }: { readonly now: () => Date; readonly signal: AbortSignal },
): Promise<ExitCode> {
  const codes: ExitCode[] = [];
  for (;;) {
    const part = await openPart(queue.db, job);
    if (part === undefined || part.tryAt > now()) break;
    const { outcome, exitCode } = await slices.do(part, signal);
    if (outcome === 'failed') return EXIT.incomplete;
    codes.push(exitCode ?? EXIT.done);
    if (await waitingOn(queue.db, 'night')) break;
    signal.throwIfAborted();
  }
  return mostSevere(codes);
}
