/**
 * The job around midday: reads further back than the nightly job, so that late entries are in the statements by
 * evening.
 */
import { runLedgerJob } from '../src/run/schedule/scheduled-job.ts';
import type { Job } from './job.ts';

export const resweep: Job = {
  name: 'resweep',
  what: 'the midday check for late entries, further back than the nightly lookback',
  when: (schedule) => schedule.resweep,
  isLedger: true,
  lookback: ({ lateSweepDays }) => ({ lateSweepDays }),
  run: (app, due, signal) => runLedgerJob(app, due, signal, { lateSweepDays: app.settings.lateSweepDays }),
};
