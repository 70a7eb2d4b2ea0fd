/** The loop of the schedule: each tick asks the database what is due and runs it. */
import cron from 'node-cron';
import type { SlotEnd } from '../../store/runs.ts';
import { dueJobs, lastSlot, type DueJob, type ScheduledJob } from './due.ts';

/** The database is asked at each full minute. When a job runs is in its own cron expression. */
const TICK = '* * * * *';
/** If no tick comes for this long, one is made. */
const TICK_MISSED_MS = 75_000;

export interface ScheduleOptions {
  readonly jobs: readonly ScheduledJob[];
  readonly zone: string;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  /** The recorded ends of these slots, as `slotEnds` of the store returns them. */
  readonly slotEnds: (slots: readonly DueJob[], now: Date) => Promise<readonly SlotEnd[]>;
  /** Runs one job to its end. If another run is at work, the job stays due. */
  readonly runJob: (due: DueJob) => Promise<void>;
  /** Called with what went wrong; with `job` if it concerns one job only. */
  readonly onFault: (error: unknown, job?: string) => void;
}

/**
 * One tick: runs everything that is due now, one job after the other. If a job throws, this is reported, and the
 * others still run.
 */
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
 * Ticks now and then every minute, until the signal aborts. Resolves when the job at work has ended.
 *
 * node-cron fires at each full minute, but it waits for a time of day: if the clock is set back, it would not fire
 * until that time comes again. A timer, which does not depend on the clock, then makes the missing tick.
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
