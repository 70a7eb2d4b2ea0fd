/** The loop of a worker: takes jobs, works on some of them side by side, and takes the next ones. */
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, ExpectedError, exitCodeOf } from '../../ledger/ending.ts';
import { DatabaseNewer } from '../../store/engine/errors.ts';
import { LeaseHeld } from '../../store/engine/lease.ts';
import { type ClaimedJob, attemptOf, affectedBy, claimed, giveBack, isEmpty } from './jobs.ts';
import { NIGHT, type Queue } from './queue.ts';

const ASK_EVERY_MS = 300;
const MAINTENANCE_EVERY_MS = 10_000;
/** Of a worker's time, at most this part goes into it: it reads all that waits. */
const MAINTENANCE_SHARE = 1 / 20;

/** How long it rests after it took so long. */
export const maintenancePauseMs = (tookMs: number): number =>
  Math.max(MAINTENANCE_EVERY_MS, tookMs / MAINTENANCE_SHARE);
/** A stopping worker may finish its jobs within this time. The others go back to the queue. */
const FINISH_WITHIN_MS = 10_000;

export interface WorkerOptions<Result> {
  readonly atOnce: number;
  readonly work: Work<Result>;
  /**
   * Called now and then, and after each failed attempt: ends work that waits for a job that was given up.
   */
  readonly endAbandoned: () => Promise<void>;
  readonly onEnd: (end: JobEnd<Result>) => void;
  /** Called with errors outside the work itself. The worker goes on. */
  readonly onProblem: (error: unknown) => void;
  readonly signal: AbortSignal;
  /** If true, it also ends once no job is waiting or at work, in any worker. */
  readonly untilEmpty?: boolean;
  readonly finishWithinMs?: number;
}

/**
 * Takes jobs and works on them until `signal` aborts. When it ends, no job is at work, and unfinished jobs are back
 * on the queue. Throws `DatabaseNewer` once the database refuses this program: others do its jobs.
 */
export async function keepWorking<Result>(queue: Queue, options: WorkerOptions<Result>): Promise<void> {
  const { atOnce, signal, endAbandoned, onProblem } = options;
  const held = holdJobs(queue, onProblem);
  const stop = new AbortController();
  const refused = new AbortController();
  const atWork = new Set<Promise<void>>();
  const begin = (job: ClaimedJob): void => {
    const how = { ...options, lost: held.add(job), stop: stop.signal, refused };
    const working = workOn(queue, job, how).finally(() => {
      held.remove(job);
      atWork.delete(working);
    });
    atWork.add(working);
  };
  let maintainFromMs = -Infinity;
  try {
    while (!signal.aborted && !refused.signal.aborted) {
      try {
        const beganMs = performance.now();
        if (beganMs >= maintainFromMs) {
          await endAbandoned();
          const endedMs = performance.now();
          maintainFromMs = endedMs + maintenancePauseMs(endedMs - beganMs);
        }
        const jobs = await take(queue, atOnce - held.size(), onProblem);
        jobs.forEach(begin);
        if (options.untilEmpty === true && held.size() === 0 && (await isEmpty(queue.db))) break;
      } catch (error) {
        onProblem(error);
      }
      await nextChange(atWork, signal, held.size() < atOnce);
    }
    await finish(atWork, stop, options.finishWithinMs ?? FINISH_WITHIN_MS);
    refused.signal.throwIfAborted();
    await endAbandoned().catch(onProblem);
  } finally {
    held.close();
  }
}

async function take(
  queue: Queue,
  batchSize: number,
  onProblem: (error: unknown) => void,
): Promise<ClaimedJob[]> {
  if (batchSize <= 0) return [];
  const taken: ClaimedJob[] = [];
  for (const job of await queue.boss.fetch(NIGHT, { batchSize })) {
    const one = await claimed(queue, job, onProblem).catch(onProblem);
    if (one != null) taken.push(one);
  }
  return taken;
}

async function workOn<Result>(
  queue: Queue,
  job: ClaimedJob,
  { endAbandoned, onEnd, onProblem, ...how }: WorkerOptions<Result> & Attempt<Result>,
): Promise<void> {
  try {
    const end = await attempt(queue, job, how);
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

/** Often enough that a worker is not taken for dead if some heartbeats are late (`HEARTBEAT_S` in queue.ts). */
const HEARTBEAT_EVERY_MS = 5_000;

/** The job returned to the queue, as no heartbeat of this worker arrived for too long. Another worker may have it. */
class JobTakenBack extends ExpectedError {
  override readonly name = 'JobTakenBack';
  readonly exitCode = EXIT.incomplete;
}

/** Begins the heartbeats. `onProblem` is called if one could not be sent; the next one is sent in any case. */
function holdJobs({ boss }: Pick<Queue, 'boss'>, onProblem: (error: unknown) => void) {
  const held = new Map<string, { readonly job: ClaimedJob; readonly lost: AbortController }>();
  const beat = async (): Promise<void> => {
    const jobs = [...held.values()].map(({ job }) => job);
    if (jobs.length === 0) return;
    const response = await boss.touch(NIGHT, jobs.map(attemptOf));
    const still = new Set((response as { readonly settled: readonly string[] }).settled);
    for (const { id, merchantNo } of jobs.filter((job) => !still.has(job.id))) {
      const what = `the job of ${merchantNo} returned to the queue, as no heartbeat arrived for too long; another worker does it.`;
      held.get(id)?.lost.abort(new JobTakenBack(what));
    }
  };
  let isBeating = false;
  const timer = setInterval(() => {
    if (isBeating) return;
    isBeating = true;
    void beat()
      .catch(onProblem)
      .finally(() => (isBeating = false));
  }, HEARTBEAT_EVERY_MS);
  return {
    size: (): number => held.size,
    /** Adds a job that was taken. The signal aborts with `JobTakenBack` once the job is no longer this worker's. */
    add: (job: ClaimedJob): AbortSignal => {
      const lost = new AbortController();
      held.set(job.id, { job, lost });
      return lost.signal;
    },
    remove: ({ id }: ClaimedJob): void => void held.delete(id),
    close: (): void => clearInterval(timer),
  };
}

/** When to try again a merchant on whom another process is at work. */
const BUSY_AGAIN_S = 15;

/**
 * - `done`: the work is done, and the job with it
 * - `busy`: another process is at work on the merchant; the job is taken again later
 * - `given-back`: the worker was asked to stop, or is refused; the job may be taken by another one
 * - `failed`: it is tried again after a pause, or was the last attempt
 * - `lost`: the job was no longer this worker's
 */
type JobOutcome = 'done' | 'busy' | 'given-back' | 'failed' | 'lost';

export interface JobEnd<Result> {
  readonly job: ClaimedJob;
  readonly outcome: JobOutcome;
  /** What the work returned; null unless `done`. */
  readonly result: Result | null;
  readonly error?: unknown;
  readonly ms: number;
}

/**
 * Does the work of one job. It is called again for the same job if its end could not be reported to the queue, so it must
 * skip finished work. Once `signal` aborts it has to end soon, and may throw anything. Throws
 * `LeaseHeld` if another process is at work on the merchant.
 */
type Work<Result> = (job: ClaimedJob, signal: AbortSignal) => Promise<Result>;

interface Attempt<Result> extends Pick<WorkerOptions<Result>, 'work'> {
  /** Aborts when the job is no longer this worker's. */
  readonly lost: AbortSignal;
  readonly stop: AbortSignal;
  /** Aborted once the database refuses this program. */
  readonly refused: AbortController;
}

/** Works on the job, and reports to the queue. Throws only the error of that report: the job then comes back by itself. */
async function attempt<Result>(
  queue: Queue,
  job: ClaimedJob,
  { work, lost, stop, refused }: Attempt<Result>,
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
    const completed = await boss.complete(NIGHT, attemptOf(job));
    return affectedBy(completed) > 0 ? ended('done', { result }) : ended('lost');
  } catch (error) {
    if (lost.aborted) return ended('lost', { error });
    if (error instanceof DatabaseNewer) refused.abort(error);
    if (stop.aborted || error instanceof DatabaseNewer) {
      await giveBack(queue, job, 0);
      return ended('given-back');
    }
    if (error instanceof LeaseHeld) {
      await giveBack(queue, job, BUSY_AGAIN_S);
      return ended('busy', { error });
    }
    const { message } = error instanceof Error ? error : { message: String(error) };
    await boss.fail(NIGHT, attemptOf(job), { message, exitCode: exitCodeOf(error) });
    return ended('failed', { error });
  }
}
