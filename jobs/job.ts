/** What a scheduled job is: a name, when it is due, and what it runs. */
import type { DueJob } from '../src/run/schedule/due.ts';
import type { PlatformApp } from '../src/run/app.ts';
import type { JobReport } from '../src/run/schedule/scheduled-job.ts';
import type { Schedule } from '../src/settings/settings.ts';

export interface Job {
  /** Recorded with each run. */
  readonly name: string;
  /** For people: what it works on. */
  readonly what: string;
  /** Its cron expression among the settings (DAYBOOK_SCHEDULE_...). */
  readonly when: (schedule: Schedule) => string;
  /** Whether it brings the ledger up to date: a good run of one such job makes up for a failed one of another. */
  readonly isLedger: boolean;
  /** Does the work of a slot; null where another process did it meanwhile. */
  readonly run: (app: PlatformApp, due: DueJob, signal: AbortSignal) => Promise<JobReport | null>;
}
