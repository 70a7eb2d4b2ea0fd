/** Works on one job, and reports its end to the queue. */
import { exitCodeOf } from '../ledger/ending.ts';
import { LeaseHeld } from '../store/engine/lease.ts';
import { affectedBy, attemptOf, giveBack, type ClaimedJob } from './enqueue.ts';
import type { Queue } from './queue.ts';

/** When to try again a merchant on whom another process is at work. */
const BUSY_AGAIN_S = 15;

/**
 * - `done`: the work is done, and the job with it
 * - `busy`: another process is at work on the merchant; the job is taken again later
 * - `given-back`: the worker was asked to stop; the job may be taken by another one
 * - `failed`: it is tried again after a pause, or was the last attempt
 * - `lost`: the job was no longer this worker's
 */
export type JobOutcome = 'done' | 'busy' | 'given-back' | 'failed' | 'lost';

export interface JobEnd<Result> {
  readonly job: ClaimedJob;
  readonly outcome: JobOutcome;
  /** What the work returned; null unless `done`. */
  readonly result: Result | null;
  /** Why it did not get done. */
  readonly error?: unknown;
  readonly ms: number;
}

/**
 * Does the work of one job. It is called again for the same job if its end could not be reported to the queue, so it must
 * skip finished work. Once `signal` aborts it has to end soon, and may throw anything. Throws
 * `LeaseHeld` if another process is at work on the merchant.
 */
export type Work<Result> = (job: ClaimedJob, signal: AbortSignal) => Promise<Result>;

export interface Attempt<Result> {
  readonly work: Work<Result>;
  /** Aborts when the job is no longer this worker's. */
  readonly lost: AbortSignal;
  /** Aborts when this worker has to stop. */
  readonly stop: AbortSignal;
}

/** Works on the job, and reports to the queue. Throws only the error of that report: the job then comes back by itself. */
export async function attempt<Result>(
  queue: Queue,
  job: ClaimedJob,
  { work, lost, stop }: Attempt<Result>,
): Promise<JobEnd<Result>> {
  const { boss } = queue;
  const beganMs = performance.now();
  const ended = (outcome: JobOutcome, more: { result?: Result; error?: unknown } = {}): JobEnd<Result> => ({
    job,
    outcome,
    result: null,
    ...more,
    ms: performance.now() - beganMs,
  });
  try {
    const result = await work(job, AbortSignal.any([lost, stop]));
    const completed = await boss.complete(job.lane, attemptOf(job));
    return affectedBy(completed) > 0 ? ended('done', { result }) : ended('lost');
  } catch (error) {
    if (lost.aborted) return ended('lost', { error });
    if (stop.aborted) {
      await giveBack(queue, job, 0);
      return ended('given-back');
    }
    if (error instanceof LeaseHeld) {
      await giveBack(queue, job, BUSY_AGAIN_S);
      return ended('busy', { error });
    }
    const { message } = error instanceof Error ? error : { message: String(error) };
    await boss.fail(job.lane, attemptOf(job), { message, exitCode: exitCodeOf(error) });
    return ended('failed', { error });
  }
}
