/** The schedule's loop: a tick asks the database what is due, runs it, and waits for the next tick. */
import cron from 'node-cron';
import { latestRuns, type RunRow } from '../store/runs.ts';
import { dueJobs, type DueJob, type ScheduledJob } from './due.ts';

/** How often the database is asked; the jobs' own times are in their cron expressions. */
const TICK = '* * * * *';
const RUNS_LOOKED_AT_MAX = 500;

export interface ScheduleOptions {
  readonly jobs: readonly ScheduledJob[];
  readonly zone: string;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly recentRuns: () => Promise<readonly RunRow[]>;
  /** Runs one job to its end. A job that finds another run at work simply stays due. */
  readonly runJob: (due: DueJob) => Promise<void>;
  readonly onFault: (error: unknown) => void;
}

/** Of the schedule's own: a person's runs, however many, do not push them out of sight. */
export const recentRuns = (db: Parameters<typeof latestRuns>[0]): Promise<readonly RunRow[]> =>
  latestRuns(db, { limit: RUNS_LOOKED_AT_MAX, scheduled: true });

/** One tick: everything due now, one after the other. */
export async function tick(options: ScheduleOptions): Promise<void> {
  const due = dueJobs(options.jobs, options.zone, options.now(), await options.recentRuns());
  for (const job of due) {
    if (options.signal.aborted) return;
    await options.runJob(job);
  }
}

/** Ticks now and every minute until the signal; resolves when the job at work has ended. */
export async function keepSchedule(options: ScheduleOptions): Promise<void> {
  let working: Promise<void> = Promise.resolve();
  let isWorking = false;
  const work = (): void => {
    if (isWorking || options.signal.aborted) return;
    isWorking = true;
    working = tick(options)
      .catch(options.onFault)
      .finally(() => (isWorking = false));
  };
  const ticking = cron.schedule(TICK, work, { timezone: options.zone });
  work();
  await new Promise<void>((resolve) => {
    if (options.signal.aborted) resolve();
    else options.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await ticking.destroy();
  await working;
}
