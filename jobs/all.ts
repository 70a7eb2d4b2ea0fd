/** The scheduled jobs: their names, when each is due, and what it runs. In the order in which they run if several are due. */
import { runDeps, type PlatformApp } from '../src/run/app.ts';
import { chosenMerchants, merchantsNotRead } from '../src/run/chosen-merchants.ts';
import { executeScheduled } from '../src/run/run.ts';
import type { DueJob } from '../src/run/schedule/due.ts';
import { addedJobs, type Job } from '../src/run/schedule/job.ts';

export const ledgerRequest = async (app: PlatformApp, scheduled: DueJob) => ({
  ...{ command: 'run' as const, range: null, currencies: null, scheduled },
  merchants: await chosenMerchants(app, null),
  notRead: await merchantsNotRead(app.settings, app.database.db),
});

const ledgerJob = (job: Pick<Job, 'name' | 'what' | 'when' | 'lookback'>): Job => ({
  ...job,
  isLedger: true,
  run: async (app, due, signal) =>
    executeScheduled(await ledgerRequest(app, due), {
      ...runDeps(app, signal),
      ...job.lookback?.(app.settings),
    }),
});

export const jobs: readonly Job[] = [
  ledgerJob({
    name: 'nightly',
    what: 'yesterday, days left unread by downtime, and the lookback for late entries',
    when: (schedule) => schedule.nightly,
  }),
  // Around midday, so that late entries are in the statements by evening.
  ledgerJob({
    name: 'resweep',
    what: 'the midday check for late entries, over DAYBOOK_LATE_SWEEP_DAYS; DAYBOOK_RESWEEP_DAYS is the lookback of nightly',
    when: (schedule) => schedule.resweep,
    lookback: ({ lateSweepDays }) => ({ lateSweepDays }),
  }),
  ...addedJobs.all(),
];
