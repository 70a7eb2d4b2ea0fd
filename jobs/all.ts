/** The scheduled jobs: their names, when each is due, and what it runs. In the order in which they run if several are due. */
import { runDeps, type PlatformApp } from '../src/run/app.ts';
import type { RunDeps } from '../src/run/active-run.ts';
import { chosenMerchants, merchantsNotRead } from '../src/run/chosen-merchants.ts';
import { executeReferenceRun, referenceWork } from '../src/run/reference-run.ts';
import { executeScheduled } from '../src/run/run.ts';
import type { DueJob } from '../src/run/schedule/due.ts';
import type { ExitCode } from '../src/run/verdict/exit-codes.ts';
import type { Settings } from '../src/settings/settings.ts';
import type { Schedule } from '../src/settings/schema.ts';

export interface Job {
  readonly name: string;
  readonly what: string;
  /** Picks its cron expression from the settings (DAYBOOK_SCHEDULE_...). */
  readonly when: (schedule: Schedule) => string;
  /** True if it brings the ledger up to date. A good run of one such job makes up for a failed run of another. */
  readonly isLedger: boolean;
  /** For a job of the ledger: how far back it searches for late entries, beyond the days of a night. */
  readonly lookback?: (settings: Settings) => Pick<RunDeps, 'lateSweepDays'>;
  /** Does the work of one slot. Null if another process has done it meanwhile. */
  readonly run: (app: PlatformApp, due: DueJob, signal: AbortSignal) => Promise<JobReport | null>;
}

interface JobReport {
  readonly runId: number;
  readonly exitCode: ExitCode;
  readonly notes: readonly string[];
  readonly elapsedMs: number;
}

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
  {
    name: 'reference',
    what: 'the platform’s lists: banks and payout methods of the countries in the settings, occupations, natures, purposes',
    when: (schedule) => schedule.reference,
    isLedger: false,
    run: (app, due, signal) => executeReferenceRun({ ...referenceWork(app, signal), scheduled: due }),
  },
];
