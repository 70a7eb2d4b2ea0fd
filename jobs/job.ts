/** What a scheduled job is: a name, what it covers, and the setting that says when it runs. */
import type { Schedule } from '../src/settings/settings.ts';

export interface Job {
  /** Recorded with each run. */
  readonly name: string;
  /** For people: what it works on. */
  readonly what: string;
  /** Its cron expression among the settings (DAYBOOK_SCHEDULE_NIGHTLY, DAYBOOK_SCHEDULE_RESWEEP). */
  readonly when: (schedule: Schedule) => string;
}
