/** One scheduled job, run to its end: the ledger's, or the reference data's. */
import { chosenMerchants } from './chosen-merchants.ts';
import type { DueJob } from './due.ts';
import type { ExitCode } from './exit-codes.ts';
import { runDeps, type PlatformHouse } from './house.ts';
import { executeReferenceRun, referenceWork } from './reference-run.ts';
import { executeScheduled } from './run.ts';

export interface JobReport {
  readonly runId: number;
  readonly exitCode: ExitCode;
  readonly notes: readonly string[];
  readonly elapsedMs: number;
}

/** Null where another process did the slot meanwhile. Throws what `executeRun` and `executeReferenceRun` throw. */
export async function runScheduledJob(
  does: 'ledger' | 'reference',
  due: DueJob,
  house: PlatformHouse,
  signal: AbortSignal,
): Promise<JobReport | null> {
  switch (does) {
    case 'ledger':
      return executeScheduled(
        {
          command: 'run',
          range: null,
          merchants: await chosenMerchants(house, []),
          currencies: null,
          scheduled: due,
        },
        runDeps(house, signal),
      );
    case 'reference':
      return executeReferenceRun({ ...referenceWork(house, signal), scheduled: due });
  }
}
