/** The loop of a worker: takes jobs, works on some of them side by side, and takes the next ones. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClaimedJob } from './enqueue.ts';
import { holdJobs, type HeldJobs } from './held-jobs.ts';
import { isEmpty } from './job-table.ts';
import { LANES, type Lane, type MerchantJob } from './lanes.ts';
import type { Queue } from './queue.ts';
import { attempt, type JobEnd, type Work } from './work.ts';

/** How often a worker with free places asks for jobs. */
const ASK_EVERY_MS = 1_000;
/** How often a worker ends abandoned work. */
const MAINTENANCE_EVERY_MS = 10_000;
/** A stopping worker may finish its jobs within this time. The others go back to the queue. */
const FINISH_WITHIN_MS = 10_000;

export interface WorkerOptions<Result> {
  /** Most jobs at work at the same time. */
  readonly atOnce: number;
  readonly work: Work<Result>;
  /**
   * Called now and then, and after each failed attempt: ends work that waits for a job that was given up.
   */
  readonly endAbandoned: () => Promise<void>;
  readonly onEnd: (end: JobEnd<Result>) => void;
  /** Called with errors outside the work itself. The worker goes on. */
  readonly onProblem: (error: unknown) => void;
  /** Aborts when the worker has to stop. */
  readonly signal: AbortSignal;
  /** If true, it also ends once no job is waiting or at work, in any worker. */
  readonly untilEmpty?: boolean;
  /** Default `FINISH_WITHIN_MS`. */
  readonly finishWithinMs?: number;
}

/**
 * Takes jobs and works on them until `signal` aborts. The daily run goes first: jobs of a backfill are taken only where
 * none of its jobs waits, and for half of the places at most. When it resolves, no job is at work, and unfinished jobs
 * are back on the queue.
 */
export async function keepWorking<Result>(queue: Queue, options: WorkerOptions<Result>): Promise<void> {
  const { atOnce, signal, endAbandoned, onProblem } = options;
  const held = holdJobs(queue, onProblem);
  const stop = new AbortController();
  const atWork = new Set<Promise<void>>();
  const begin = (job: ClaimedJob): void => {
    const working = workOn(queue, job, { ...options, lost: held.add(job), stop: stop.signal }).finally(() => {
      held.remove(job);
      atWork.delete(working);
    });
    atWork.add(working);
  };
  let maintainedMs = -Infinity;
  try {
    while (!signal.aborted) {
      try {
        if (performance.now() - maintainedMs >= MAINTENANCE_EVERY_MS) {
          await endAbandoned();
          maintainedMs = performance.now();
        }
        const jobs = await take(queue, placesFor(atOnce, held));
        jobs.forEach(begin);
        if (options.untilEmpty === true && held.size() === 0 && (await isEmpty(queue.db))) break;
      } catch (error) {
        onProblem(error);
      }
      await nextChange(atWork, signal, held.size() < atOnce);
    }
    await finish(atWork, stop, options.finishWithinMs ?? FINISH_WITHIN_MS);
    await endAbandoned().catch(onProblem);
  } finally {
    held.close();
  }
}

/** How many jobs of a lane may be taken now, after `justTaken` of another one. */
type Places = (lane: Lane, justTaken: number) => number;

/** Half of the places are never given to backfills, so that a daily run starts at once. A single place is for both. */
const placesFor =
  (atOnce: number, held: HeldJobs): Places =>
  (lane, justTaken) => {
    const free = atOnce - held.size() - justTaken;
    if (lane === 'night') return free;
    return Math.min(free, Math.max(1, Math.floor(atOnce / 2)) - held.size('backfill'));
  };

/** As many jobs as there are free places, those of the daily run first. */
async function take({ boss }: Queue, places: Places): Promise<ClaimedJob[]> {
  const taken: ClaimedJob[] = [];
  for (const lane of LANES) {
    const batchSize = places(lane, taken.length);
    if (batchSize <= 0) continue;
    const jobs = await boss.fetch<MerchantJob>(lane, { batchSize });
    taken.push(
      ...jobs.map(({ id, retryCount, data: { runId, merchantNo } }) => ({
        lane,
        id,
        retryCount,
        runId,
        merchantNo,
      })),
    );
  }
  return taken;
}

async function workOn<Result>(
  queue: Queue,
  job: ClaimedJob,
  {
    work,
    lost,
    stop,
    endAbandoned,
    onEnd,
    onProblem,
  }: WorkerOptions<Result> & { readonly lost: AbortSignal; readonly stop: AbortSignal },
): Promise<void> {
  try {
    const end = await attempt(queue, job, { work, lost, stop });
    onEnd(end);
    if (end.outcome === 'failed') await endAbandoned();
  } catch (error) {
    onProblem(error);
  }
}

/** Waits until a job ends, until the worker has to stop, or, with free places, until it is time to ask again. */
async function nextChange(
  atWork: ReadonlySet<Promise<void>>,
  signal: AbortSignal,
  hasCapacity: boolean,
): Promise<void> {
  const waits = new AbortController();
  const pause = sleep(hasCapacity ? ASK_EVERY_MS : MAINTENANCE_EVERY_MS, undefined, {
    signal: AbortSignal.any([signal, waits.signal]),
  }).catch(() => undefined);
  await Promise.race([pause, ...atWork]);
  waits.abort();
}

/** Lets the jobs at work end within this time, then stops those that are left. */
async function finish(
  atWork: ReadonlySet<Promise<void>>,
  stop: AbortController,
  withinMs: number,
): Promise<void> {
  const timer = setTimeout(() => stop.abort(), withinMs);
  await Promise.all(atWork);
  clearTimeout(timer);
}
