/** The job of every Monday before dawn: reads the platform's lists of banks, purposes and so on again. */
import { executeReferenceRun, referenceWork } from '../src/run/reference-run.ts';
import type { Job } from './job.ts';

export const reference: Job = {
  name: 'reference',
  what: 'the platform’s lists: banks and payout methods of the countries in the settings, occupations, natures, purposes',
  when: (schedule) => schedule.reference,
  isLedger: false,
  run: (app, due, signal) => executeReferenceRun({ ...referenceWork(app, signal), scheduled: due }),
};
