/** Runs one scheduled job of the ledger. */
import { chosenMerchants, merchantsNotRead } from '../chosen-merchants.ts';
import type { DueJob } from './due.ts';
import type { ExitCode } from '../verdict/exit-codes.ts';
import { runDeps, type PlatformApp } from '../app.ts';
import { executeScheduled } from '../run.ts';
import type { RunDeps } from '../active-run.ts';

export interface JobReport {
  readonly runId: number;
  readonly exitCode: ExitCode;
  readonly notes: readonly string[];
  readonly elapsedMs: number;
}

/** How far back a job searches for late entries, beyond the days of a night. */
export type ExtendedLookbackDays = Pick<RunDeps, 'lateSweepDays'>;

/**
 * Does a `run` for all merchants. Null if another process has done the slot meanwhile. Throws what `executeRun`
 * throws.
 */
export async function runLedgerJob(
  app: PlatformApp,
  due: DueJob,
  signal: AbortSignal,
  lookback: ExtendedLookbackDays = {},
): Promise<JobReport | null> {
  return executeScheduled(
    {
      command: 'run',
      range: null,
      merchants: await chosenMerchants(app, null),
      notRead: await merchantsNotRead(app.settings, app.database.db),
      currencies: null,
      scheduled: due,
    },
    { ...runDeps(app, signal), ...lookback },
  );
}
