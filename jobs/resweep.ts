/** Around midday: the same days once more, so that what came late in the morning is in the statements by evening. */
import type { Job } from './job.ts';

export const resweep: Job = {
  name: 'resweep',
  what: 'the last days again for late entries',
  when: (schedule) => schedule.resweep,
  does: 'ledger',
};
