/** The loop of the schedule: each tick asks the database what is due and runs it. */
import { once } from 'node:events';
import cron from 'node-cron';
import type { SlotEnd } from '../../store/runs.ts';
import { Interrupted } from '../verdict/exit-codes.ts';
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
  /**
   * Does a piece of work that gives way to every job, and returns false if there is none now. It is called while no job
   * is due; the signal aborts once one is. Left out: there is no such work.
   */
  readonly background?: (signal: AbortSignal) => Promise<boolean>;
  /** Called with what went wrong; with `job` if it concerns one job only. */
  readonly onFault: (error: unknown, job?: string) => void;
}

/**
 * One tick: runs everything that is due now, one job after the other. If a job throws, this is reported, and the
 * others still run.
 */
export async function tick(options: ScheduleOptions): Promise<void> {
  const { signal, runJob, onFault } = options;
  for (const due of await dueNow(options)) {
    if (signal.aborted) return;
    try {
      await runJob(due);
    } catch (error) {
      onFault(error, due.job);
    }
  }
}

async function dueNow({ jobs, zone, now, slotEnds, onFault }: ScheduleOptions): Promise<DueJob[]> {
  const at = now();
  const slots = jobs.flatMap(({ job, when }): DueJob[] => {
    try {
      return [{ job, slot: lastSlot(when, zone, at) }];
    } catch (error) {
      onFault(error, job);
      return [];
    }
  });
  return dueJobs(slots, at, await slotEnds(slots, at));
}

interface BackgroundWork {
  /** Stops the piece at work if a job is due. Resolves once none is at work then. */
  readonly giveWay: () => Promise<void>;
  readonly goOn: () => void;
  readonly stop: () => Promise<void>;
}

/**
 * Does the work of `options.background` piece by piece, until there is none or a job is due. Before each piece it is asked
 * what is due, so no job waits for more than the piece at work, and that one is asked to stop by `giveWay`.
 */
export function createBackgroundWork(options: ScheduleOptions): BackgroundWork {
  const { background, signal, onFault } = options;
  let stopPiece = new AbortController();
  let working: Promise<void> | null = null;
  const work = async (): Promise<void> => {
    const piece = AbortSignal.any([signal, stopPiece.signal]);
    try {
      while (!piece.aborted && (await dueNow(options)).length === 0) if (!(await background!(piece))) return;
    } catch (error) {
      if (!piece.aborted) onFault(error);
    }
  };
  const stop = async (): Promise<void> => {
    stopPiece.abort(new Interrupted());
    await working;
  };
  return {
    giveWay: async () => {
      if (working !== null && (await dueNow(options)).length > 0) await stop();
    },
    goOn: () => {
      if (background === undefined || working !== null) return;
      stopPiece = new AbortController();
      working = work().finally(() => (working = null));
    },
    stop,
  };
}

/**
 * Ticks now and then every minute, until the signal aborts. Resolves when the job at work has ended.
 *
 * node-cron fires at each full minute, but it waits for a time of day: if the clock is set back, it would not fire
 * until that time comes again. A timer, which does not depend on the clock, then makes the missing tick.
 */
export async function keepSchedule(options: ScheduleOptions): Promise<void> {
  const { signal, onFault } = options;
  const background = createBackgroundWork(options);
  let working: Promise<void> = Promise.resolve();
  let isWorking = false;
  let standIn: NodeJS.Timeout | undefined;
  const beat = (): void => {
    clearTimeout(standIn);
    if (signal.aborted) return;
    standIn = setTimeout(beat, TICK_MISSED_MS);
    if (isWorking) return;
    isWorking = true;
    working = background
      .giveWay()
      .then(() => tick(options))
      .catch(onFault)
      .finally(() => {
        isWorking = false;
        background.goOn();
      });
  };
  const ticking = cron.schedule(TICK, beat, { timezone: 'UTC', suppressMissedWarning: true });
  beat();
  if (!signal.aborted) await once(signal, 'abort');
  clearTimeout(standIn);
  await ticking.destroy();
  await working;
  await background.stop();
}
