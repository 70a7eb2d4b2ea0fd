/** All scheduled jobs, in the order in which they run if several are due. */
import type { Job } from './job.ts';
import { nightly } from './nightly.ts';
import { reference } from './reference.ts';
import { resweep } from './resweep.ts';

export const jobs: readonly Job[] = [nightly, resweep, reference];
