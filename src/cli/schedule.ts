/** `schedule`: the cron loop. The database says what is due, so it may be stopped and started at any time. */
import { messageOf } from '../ledger/text.ts';
import type { Command } from 'commander';
import type { Logger } from 'pino';
import { jobs } from '../../jobs/all.ts';
import { scheduledJobs, type Job } from '../run/schedule/job.ts';
import { queueOf, type QueuedSlots } from '../run/work-queue.ts';
import { alertsOf } from '../run/alerts.ts';
import type { PlatformApp } from '../run/app.ts';
import { doNextRequest, logRequest, withRequests } from '../run/requests.ts';
import { nextTime, type DueJob, type ScheduledJob } from '../run/schedule/due.ts';
import { keepSchedule } from '../run/schedule/schedule.ts';
import { EXIT, exitCodeOf } from '../run/verdict/exit-codes.ts';
import { slotEnds } from '../store/runs.ts';
import { platformSettings } from './context.ts';
import { keepRunning, logEnd } from './keep-running.ts';

export function scheduleCommand(command: Command): void {
  command
    .addHelpText('after', `\nJobs:\n${jobs.map(({ name, what }) => `  ${name}: ${what}`).join('\n')}`)
    .action(async (_flags: object, self: Command) => {
      const settings = platformSettings(self);
      await keepRunning(
        settings,
        (app, log, signal) => withRequests(app, log, signal, () => keepAll(app, log, signal)),
        { onEnd: (log) => log.info('schedule ended') },
      );
    });
}

/** Keeps the schedule, over the queue where workers do what is due. */
async function keepAll(app: PlatformApp, log: Logger, signal: AbortSignal): Promise<void> {
  const queue = queueOf(app.settings);
  if (queue === null) return keep(app, log, { queued: null, signal });
  await queue.withSlots(app, log, (queued) => keep(app, log, { queued, signal }));
}

/** Keeps the schedule until the process is stopped. With `queued`, workers do the jobs of the ledger. */
async function keep(
  app: PlatformApp,
  log: Logger,
  { queued, signal }: { readonly queued: QueuedSlots | null; readonly signal: AbortSignal },
): Promise<void> {
  const { schedule } = app.settings;
  const { zone } = schedule;
  const scheduled = scheduledJobs(jobs, app.settings);
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
  return async (signal) => {
    const done = await doNextRequest(app, signal, { backfills: true });
    if (done !== null) logRequest(log, done);
    return done !== null;
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
