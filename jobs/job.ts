/** What a scheduled job is: a name, what it covers, and the setting that says when it runs. */
import type { Schedule } from '../src/settings/settings.ts';

export interface Job {
  /** Recorded with each run. */
  readonly name: string;
  /** For people: what it works on. */
  readonly what: string;
  /** Its cron expression among the settings (DAYBOOK_SCHEDULE_NIGHTLY, DAYBOOK_SCHEDULE_RESWEEP, DAYBOOK_SCHEDULE_REFERENCE). */
  readonly when: (schedule: Schedule) => string;
  /** `ledger`: sync, reconcile, publish. `reference`: read the platform's lists. */
  readonly does: 'ledger' | 'reference';
}
