/** `schedule`: the cron loop. The database says what is due, so it may be stopped and started at any time. */
import { messageOf } from '../ledger/text.ts';
import type { Command } from 'commander';
import type { Logger } from 'pino';
import { jobs, ledgerRequest } from '../../jobs/all.ts';
import type { Job } from '../run/schedule/job.ts';
import { enqueue } from '../queue/jobs.ts';
import type { Queue } from '../queue/queue.ts';
import { alertsOf } from '../run/alerts.ts';
import { type PlatformApp, runDeps } from '../run/app.ts';
import { queueSlot } from '../run/run.ts';
import { finishQueuedRun } from '../run/run-end.ts';
import { notesOf } from '../run/run-state.ts';
import { nextTime, type DueJob, type ScheduledJob } from '../run/schedule/due.ts';
import { keepSchedule } from '../run/schedule/schedule.ts';
import { TaskWorker } from '../run/task-worker.ts';
import { EXIT, exitCodeOf } from '../run/verdict/exit-codes.ts';
import type { Schedule } from '../settings/schema.ts';
import { openRunOfSlot, openRunSince, slotEnds, runById } from '../store/runs.ts';
import { platformSettings } from './context.ts';
import { keepRunning, withQueue } from './queue.ts';

/** All jobs, with their times from the settings. */
export const scheduledJobs = (schedule: Schedule): ScheduledJob[] =>
  jobs.map(({ name, when }) => ({ job: name, when: when(schedule) }));

export function scheduleCommand(command: Command): void {
  command
    .addHelpText('after', `\nJobs:\n${jobs.map(({ name, what }) => `  ${name}: ${what}`).join('\n')}`)
    .action(async (_flags: object, self: Command) => {
      const settings = platformSettings(self);
      await keepRunning(settings, keepAll, {
        onFailure: (await alertsOf(settings))?.reportNotStarted ?? null,
        onEnd: (log) => log.info('schedule ended'),
      });
    });
}

/** Keeps the schedule, over the queue where workers do what is due. */
async function keepAll(app: PlatformApp, log: Logger, signal: AbortSignal): Promise<void> {
  if (app.settings.workers === 'none') return keep(app, log, { queued: null, signal });
  const onProblem = (error: unknown): void => log.error({ problem: messageOf(error) }, 'the queue failed');
  await withQueue(app, { supervises: false, onProblem }, (queue) =>
    keep(app, log, { queued: createQueuedSlots(app, queue, log), signal }),
  );
}

/** Keeps the schedule until the process is stopped. With `queued`, workers do the jobs of the ledger. */
async function keep(
  app: PlatformApp,
  log: Logger,
  {
    queued,
    signal,
  }: { readonly queued: ReturnType<typeof createQueuedSlots> | null; readonly signal: AbortSignal },
): Promise<void> {
  const { schedule } = app.settings;
  const { zone } = schedule;
  const scheduled = scheduledJobs(schedule);
  const next = ({ when }: ScheduledJob): string => nextTime(when, zone, app.now()).toISOString();
  const alerts = await alertsOf(app.settings);
  const ticks = alerts?.createFailingTicks(app.settings, log);
  log.info({ jobs: scheduled.map((one) => ({ ...one, next: next(one) })), zone }, 'schedule kept');
  await keepSchedule({
    jobs: scheduled,
    zone,
    now: app.now,
    signal,
    slotEnds: async (slots, now) => {
      await queued?.tellEnds();
      const ends = await slotEnds(app.database.db, slots, now);
      ticks?.worked();
      return ends;
    },
    runJob: async (due) => {
      const job = jobs.find(({ name }) => name === due.job)!;
      try {
        if (queued !== null && job.isLedger) await queued.put(due, job, signal);
        else await doJob(app, log, { job, due, signal });
      } catch (error) {
        const exitCode = exitCodeOf(error);
        if (job.isLedger) await alerts?.reportThrown(app, error, log);
        if (exitCode === EXIT.fault) throw error;
        const level = exitCode === EXIT.leaseHeld ? 'info' : 'error';
        log[level]({ ...due, exitCode, problem: messageOf(error) }, 'job could not run');
      }
    },
    // Where there are workers, they do it.
    ...(queued === null && { background: backgroundJobs(app, log) }),
    onFault: (error, job) => {
      if (job === undefined) void ticks?.failed(error);
      log.error({ ...(job !== undefined && { job }), problem: messageOf(error) }, 'a tick failed');
    },
  });
}

/** Does backfills, slice by slice, and reports the end of each. */
function backgroundJobs(app: PlatformApp, log: Logger): (signal: AbortSignal) => Promise<boolean> {
  const worker = new TaskWorker(app);
  return async (signal) => {
    const end = await worker.doNextSlice(signal);
    if (end !== null) log[end.outcome === 'failed' ? 'warn' : 'info'](end, 'slice of a backfill');
    return end !== null;
  };
}

/** Does a job in this process, and reports its end. */
async function doJob(
  app: PlatformApp,
  log: Logger,
  { job, due, signal }: { readonly job: Job; readonly due: DueJob; readonly signal: AbortSignal },
): Promise<void> {
  log.info(due, 'job begins');
  const report = await job.run(app, due, signal);
  if (report === null) {
    log.info(due, 'job done by another process');
    return;
  }
  const { runId: run, exitCode, notes, elapsedMs } = report;
  logEnd(log, due, { run, exitCode, notes, elapsedMs });
}

/** A job that comes due waits this long for the run before it: until then its merchants still have their jobs. */
const WAITS_FOR_OTHERS_MS = 3_600_000;

function createQueuedSlots(app: PlatformApp, queue: Queue, log: Logger) {
  const { db } = app.database;
  /** Runs on the queue whose end is not reported yet. */
  const open = new Map<number, DueJob>();
  return {
    /** Puts the slot on the queue, unless it is there or done: another schedule may have been faster. Returns at once. */
    put: async (due: DueJob, job: Job, signal: AbortSignal): Promise<void> => {
      if ((await openRunOfSlot(db, due.job, due.slot)) === undefined) {
        const other = await openRunSince(db, new Date(app.now().getTime() - WAITS_FOR_OTHERS_MS));
        if (other !== undefined) {
          log.info({ ...due, run: other }, 'job waits until this run has ended');
          return;
        }
      }
      const deps = { ...runDeps(app, signal), ...job.lookback?.(app.settings) };
      const run = await queueSlot(await ledgerRequest(app, due), {
        ...deps,
        enqueue: (trx, merchants) => enqueue(queue, trx, 'night', merchants),
      });
      if (run === null) {
        log.info(due, 'job done by another process');
        return;
      }
      if (open.has(run)) return;
      open.set(run, due);
      log.info({ ...due, run }, 'job is on the queue');
      // If no merchant could be queued, no worker will end the run.
      await finishQueuedRun(run, deps);
    },
    /** Tells the runs that have ended since they were put on the queue. */
    tellEnds: async (): Promise<void> => {
      for (const [run, due] of open) {
        const row = await runById(db, run);
        if (row?.exitCode === null) continue;
        open.delete(run);
        if (row === undefined) continue;
        const { exitCode, figures } = row;
        logEnd(log, due, { run, exitCode, notes: notesOf(figures), elapsedMs: figures['elapsedMs'] });
      }
    },
  };
}

interface JobEnd {
  readonly run: number;
  readonly exitCode: number | null;
  readonly notes: readonly string[];
  readonly elapsedMs: unknown;
}

const logEnd = (log: Logger, due: DueJob, end: JobEnd): void =>
  log[end.exitCode === EXIT.done ? 'info' : 'warn']({ ...due, ...end }, 'job ended');
