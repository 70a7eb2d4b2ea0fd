/** `schedule`: the cron loop. The database says what is due, so it may be stopped and started at any time. */
import type { Command } from 'commander';
import { jobs } from '../../jobs/all.ts';
import { EXIT, exitCodeOf } from '../run/exit-codes.ts';
import { keepSchedule, recentRuns } from '../run/schedule.ts';
import { runScheduledJob } from '../run/scheduled-job.ts';
import { platformSettings, stopSignal, withPlatform } from './context.ts';

export function addScheduleCommand(program: Command): void {
  program
    .command('schedule')
    .description(
      'run the nightly job, the re-sweep and the reference data by themselves; stop it with SIGTERM or Ctrl-C',
    )
    .addHelpText('after', `\nJobs:\n${jobs.map(({ name, what }) => `  ${name}: ${what}`).join('\n')}`)
    .action(async (_flags: object, self: Command) => {
      const settings = platformSettings(self);
      await withPlatform(settings, async (house, log) => {
        const signal = stopSignal();
        const scheduled = jobs.map(({ name, when }) => ({ job: name, when: when(settings.schedule) }));
        log.info({ jobs: scheduled, zone: settings.schedule.zone }, 'schedule kept');
        await keepSchedule({
          jobs: scheduled,
          zone: settings.schedule.zone,
          now: house.now,
          signal,
          recentRuns: () => recentRuns(house.database.db),
          runJob: async (due) => {
            log.info(due, 'job begins');
            try {
              const { does } = jobs.find(({ name }) => name === due.job)!;
              const report = await runScheduledJob(does, due, house, signal);
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
          onFault: (error) => {
            log.error({ problem: error instanceof Error ? error.message : String(error) }, 'a tick failed');
          },
        });
        log.info('schedule ended');
      });
    });
}
