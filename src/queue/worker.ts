/** The loop of a worker: takes jobs, works on some of them side by side, and takes the next ones. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClaimedJob } from './enqueue.ts';
import { holdJobs, type HeldJobs } from './held-jobs.ts';
import { isEmpty } from './job-table.ts';
import { LANES, type Lane, type MerchantJob } from './lanes.ts';
import type { Queue } from './queue.ts';
import { attempt, type JobEnd, type Work } from './work.ts';

/** How often a worker with room asks for jobs. */
const ASK_EVERY_MS = 1_000;
/** How often a worker looks for what is left undone. */
const LOOK_EVERY_MS = 10_000;
/** A worker that is told to stop may finish what it has begun within this time. What is left goes back. */
const FINISH_WITHIN_MS = 10_000;

export interface WorkerOptions<Result> {
  /** Most jobs at work at the same time. */
  readonly atOnce: number;
  readonly work: Work<Result>;
  /**
   * Called now and then, and after each attempt that failed: ends what waits for a job that will not come again, because
   * it was given up.
   */
  readonly lookAfter: () => Promise<void>;
  readonly onEnd: (end: JobEnd<Result>) => void;
  /** Called with what failed beside the work itself. The worker goes on. */
  readonly onProblem: (error: unknown) => void;
  /** Aborts when the worker has to stop. */
  readonly signal: AbortSignal;
  /** If true, it also ends once no job is waiting or at work, in any worker. */
  readonly untilEmpty?: boolean;
  /** Default `FINISH_WITHIN_MS`. */
  readonly finishWithinMs?: number;
}

/**
 * Takes jobs and works on them until `signal` aborts. Nightly work goes first: jobs of a backfill are only taken where no
 * job of the night waits, and for half of the places at most. When it resolves, no job is at work, and those that were not finished are on the queue again.
 */
export async function keepWorking<Result>(queue: Queue, options: WorkerOptions<Result>): Promise<void> {
  const { atOnce, signal, lookAfter, onProblem } = options;
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
  let lookedMs = -Infinity;
  try {
    while (!signal.aborted) {
      try {
        if (performance.now() - lookedMs >= LOOK_EVERY_MS) {
          await lookAfter();
          lookedMs = performance.now();
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
    await lookAfter().catch(onProblem);
  } finally {
    held.close();
  }
}

/** How many jobs of a lane may be taken now, besides so many that were just taken of another one. */
type Places = (lane: Lane, justTaken: number) => number;

/** Half of the places are never given to backfills, so that a night finds room at once. A single place is for both. */
const placesFor =
  (atOnce: number, held: HeldJobs): Places =>
  (lane, justTaken) => {
    const free = atOnce - held.size() - justTaken;
    if (lane === 'night') return free;
    return Math.min(free, Math.max(1, Math.floor(atOnce / 2)) - held.size('backfill'));
  };

/** As many jobs as there are places for, those of the night first. */
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
    lookAfter,
    onEnd,
    onProblem,
  }: WorkerOptions<Result> & { readonly lost: AbortSignal; readonly stop: AbortSignal },
): Promise<void> {
  try {
    const end = await attempt(queue, job, { work, lost, stop });
    onEnd(end);
    if (end.outcome === 'failed') await lookAfter();
  } catch (error) {
    onProblem(error);
  }
}

/** Waits until a job ends, until the worker has to stop, or, if it has room, until it is time to ask again. */
async function nextChange(
  atWork: ReadonlySet<Promise<void>>,
  signal: AbortSignal,
  hasRoom: boolean,
): Promise<void> {
  const waits = new AbortController();
  const pause = sleep(hasRoom ? ASK_EVERY_MS : LOOK_EVERY_MS, undefined, {
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
