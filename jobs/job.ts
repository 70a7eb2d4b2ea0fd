/** The type of a scheduled job: its name, when it is due, and what it runs. */
import type { DueJob } from '../src/run/schedule/due.ts';
import type { PlatformApp } from '../src/run/app.ts';
import type { JobReport } from '../src/run/schedule/scheduled-job.ts';
import type { ExtendedLookbackDays } from '../src/run/schedule/scheduled-job.ts';
import type { Settings } from '../src/settings/settings.ts';
import type { Schedule } from '../src/settings/schema.ts';

export interface Job {
  /** Each run's record has this name. */
  readonly name: string;
  /** A description for people: what the job works on. */
  readonly what: string;
  /** Picks its cron expression from the settings (DAYBOOK_SCHEDULE_...). */
  readonly when: (schedule: Schedule) => string;
  /** True if it brings the ledger up to date. A good run of one such job makes up for a failed run of another. */
  readonly isLedger: boolean;
  /** For a ledger job that workers do: how it differs from the nightly job. */
  readonly lookback?: (settings: Settings) => ExtendedLookbackDays;
  /** Does the work of one slot. Null if another process has done it meanwhile. */
  readonly run: (app: PlatformApp, due: DueJob, signal: AbortSignal) => Promise<JobReport | null>;
}
