/**
 * The daily job: reads yesterday, and the last days again for late entries; proves them; publishes what
 * changed.
 */
import { runLedgerJob } from '../src/run/schedule/scheduled-job.ts';
import type { Job } from './job.ts';

export const nightly: Job = {
  name: 'nightly',
  what: 'yesterday, whatever downtime left unread, and the last days again for late entries',
  when: (schedule) => schedule.nightly,
  isLedger: true,
  run: (app, due, signal) => runLedgerJob(app, due, signal),
};
