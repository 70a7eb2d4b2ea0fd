/** The jobs that this worker has taken and not ended: it sends a heartbeat for them, and stops those that it lost. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { attemptOf, type ClaimedJob } from './enqueue.ts';
import { LANES, type Lane } from './lanes.ts';
import type { Queue } from './queue.ts';

/** Often enough that a worker is not taken for dead if some heartbeats are late (`HEARTBEAT_S` in lanes.ts). */
const HEARTBEAT_EVERY_MS = 5_000;

/** The job returned to the queue, as no heartbeat of this worker arrived for too long. Another worker may have it. */
class JobTakenBack extends ExpectedError {
  override readonly name = 'JobTakenBack';
  readonly exitCode = EXIT.incomplete;
}

export interface HeldJobs {
  /** How many there are; of one lane, if it is given. */
  readonly size: (lane?: Lane) => number;
  /** Adds a job that was taken. The signal aborts with `JobTakenBack` once the job is no longer this worker's. */
  readonly add: (job: ClaimedJob) => AbortSignal;
  readonly remove: (job: ClaimedJob) => void;
  /** Sends one heartbeat for all jobs now. */
  readonly beat: () => Promise<void>;
  /** Ends the heartbeats. */
  readonly close: () => void;
}

/** Begins the heartbeats. `onProblem` is called if one could not be sent; the next one is sent in any case. */
export function holdJobs({ boss }: Pick<Queue, 'boss'>, onProblem: (error: unknown) => void): HeldJobs {
  const held = new Map<string, { readonly job: ClaimedJob; readonly lost: AbortController }>();
  const beat = async (): Promise<void> => {
    for (const lane of LANES) {
      const jobs = [...held.values()].map(({ job }) => job).filter((job) => job.lane === lane);
      if (jobs.length === 0) continue;
      const response = await boss.touch(lane, jobs.map(attemptOf));
      const still = new Set((response as { readonly settled: readonly string[] }).settled);
      for (const { id, merchantNo } of jobs) {
        if (!still.has(id))
          held
            .get(id)
            ?.lost.abort(
              new JobTakenBack(
                `the job of ${merchantNo} returned to the queue, as no heartbeat arrived for too long; another worker does it.`,
              ),
            );
      }
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
    size: (lane) =>
      lane === undefined ? held.size : [...held.values()].filter(({ job }) => job.lane === lane).length,
    add: (job) => {
      const lost = new AbortController();
      held.set(job.id, { job, lost });
      return lost.signal;
    },
    remove: ({ id }) => void held.delete(id),
    beat,
    close: () => clearInterval(timer),
  };
}
