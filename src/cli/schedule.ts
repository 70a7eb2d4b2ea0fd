/** `schedule`: the cron loop. The database says what is due, so it may be stopped and started at any time. */
import type { Command } from 'commander';
import { jobs } from '../../jobs/all.ts';
import { EXIT, exitCodeOf } from '../run/verdict/exit-codes.ts';
import { nextTime, type ScheduledJob } from '../run/schedule/due.ts';
import { keepSchedule } from '../run/schedule/schedule.ts';
import type { Schedule } from '../settings/schedule.ts';
import { slotEnds } from '../store/runs.ts';
import { platformSettings, stopSignal, withPlatform } from './context.ts';

/** All jobs, with their times from the settings. */
export const scheduledJobs = (schedule: Schedule): ScheduledJob[] =>
  jobs.map(({ name, when }) => ({ job: name, when: when(schedule) }));

export function addScheduleCommand(program: Command): void {
  program
    .command('schedule')
    .description(
      'run the nightly job, the re-sweep and the reference data by themselves; stop it with SIGTERM or Ctrl-C',
    )
    .addHelpText('after', `\nJobs:\n${jobs.map(({ name, what }) => `  ${name}: ${what}`).join('\n')}`)
    .action(async (_flags: object, self: Command) => {
      const settings = platformSettings(self);
      await withPlatform(settings, async (app, log) => {
        const signal = stopSignal();
        const scheduled = scheduledJobs(settings.schedule);
        const { zone } = settings.schedule;
        const next = ({ when }: ScheduledJob): string => nextTime(when, zone, app.now()).toISOString();
        log.info({ jobs: scheduled.map((one) => ({ ...one, next: next(one) })), zone }, 'schedule kept');
        await keepSchedule({
          jobs: scheduled,
          zone,
          now: app.now,
          signal,
          slotEnds: (slots, now) => slotEnds(app.database.db, slots, now),
          runJob: async (due) => {
            log.info(due, 'job begins');
            try {
              const job = jobs.find(({ name }) => name === due.job)!;
              const report = await job.run(app, due, signal);
              if (report === null) {
                log.info(due, 'job done by another process');
                return;
              }
              const { runId, exitCode, notes, elapsedMs } = report;
              const level = exitCode === EXIT.done ? 'info' : 'warn';
              log[level]({ ...due, run: runId, exitCode, notes, elapsedMs }, 'job ended');
            } catch (error) {
              const exitCode = exitCodeOf(error);
              if (exitCode === EXIT.fault) throw error;
              const level = exitCode === EXIT.leaseHeld ? 'info' : 'error';
              log[level]({ ...due, exitCode, problem: (error as Error).message }, 'job could not run');
            }
          },
          onFault: (error, job) => {
            const problem = error instanceof Error ? error.message : String(error);
            log.error({ ...(job !== undefined && { job }), problem }, 'a tick failed');
          },
        });
        log.info('schedule ended');
      });
    });
}
