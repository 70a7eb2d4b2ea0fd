/** The schedule's loop: a tick asks the database what is due, runs it, and waits for the next tick. */
import cron from 'node-cron';
import type { SlotEnd } from '../../store/runs.ts';
import { dueJobs, lastSlot, type DueJob, type ScheduledJob } from './due.ts';

/** The database is asked at each full minute; the jobs' own times are in their cron expressions. */
const TICK = '* * * * *';
/** A tick that has not come this long after the one before is made up for. */
const TICK_MISSED_MS = 75_000;

export interface ScheduleOptions {
  readonly jobs: readonly ScheduledJob[];
  readonly zone: string;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  /** What the database has on record of these slots: `slotEnds` of the store. */
  readonly slotEnds: (slots: readonly DueJob[], now: Date) => Promise<readonly SlotEnd[]>;
  /** Runs one job to its end. A job that finds another run at work simply stays due. */
  readonly runJob: (due: DueJob) => Promise<void>;
  /** Told what went wrong; `job` where it was one job's own trouble. */
  readonly onFault: (error: unknown, job?: string) => void;
}

/** One tick: everything due now, one after the other. What one job throws is told, and keeps no other job from its turn. */
export async function tick(options: ScheduleOptions): Promise<void> {
  const { jobs, zone, now, signal, slotEnds, runJob, onFault } = options;
  const at = now();
  const slots = jobs.flatMap(({ job, when }): DueJob[] => {
    try {
      return [{ job, slot: lastSlot(when, zone, at) }];
    } catch (error) {
      onFault(error, job);
      return [];
    }
  });
  for (const due of dueJobs(slots, at, await slotEnds(slots, at))) {
    if (signal.aborted) return;
    try {
      await runJob(due);
    } catch (error) {
      onFault(error, due.job);
    }
  }
}

/**
 * Ticks now and every minute until the signal; resolves when the job at work has ended. node-cron beats at the full
 * minute, but waits for a time of day: a clock set back would silence it until that time comes again. So a timer, which
 * no clock change moves, stands in for a beat that is missing.
 */
export async function keepSchedule(options: ScheduleOptions): Promise<void> {
  const { signal, onFault } = options;
  let working: Promise<void> = Promise.resolve();
  let isWorking = false;
  let standIn: NodeJS.Timeout | undefined;
  const beat = (): void => {
    clearTimeout(standIn);
    if (signal.aborted) return;
    standIn = setTimeout(beat, TICK_MISSED_MS);
    if (isWorking) return;
    isWorking = true;
    working = tick(options)
      .catch(onFault)
      .finally(() => (isWorking = false));
  };
  const ticking = cron.schedule(TICK, beat, { timezone: 'UTC', suppressMissedWarning: true });
  beat();
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  clearTimeout(standIn);
  await ticking.destroy();
  await working;
}
