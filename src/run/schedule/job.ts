/** A scheduled job: its name, when it is due, and what it runs. */
import { register } from '../../host/slot.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Schedule } from '../../settings/schema.ts';
import type { RunDeps } from '../active-run.ts';
import type { PlatformApp } from '../app.ts';
import type { ExitCode } from '../verdict/exit-codes.ts';
import type { DueJob } from './due.ts';

export interface Job {
  readonly name: string;
  readonly what: string;
  /** Picks its cron expression from the settings (DAYBOOK_SCHEDULE_...). */
  readonly when: (schedule: Schedule) => string;
  /** True if it brings the ledger up to date. A good run of one such job makes up for a failed run of another. */
  readonly isLedger: boolean;
  /** For a job of the ledger: how far back it searches for late entries, beyond the days of a night. */
  readonly lookback?: (settings: Settings) => Pick<RunDeps, 'lateSweepDays'>;
  /** Does the work of one slot. Null if another process has done it meanwhile. */
  readonly run: (app: PlatformApp, due: DueJob, signal: AbortSignal) => Promise<JobReport | null>;
}

/** How a slot ended, by its run on record, whose command is the job and whose slot is the due one: it is due until it has one. */
export interface JobReport {
  readonly runId: number;
  readonly exitCode: ExitCode;
  readonly notes: readonly string[];
  readonly elapsedMs: number;
}

/** Jobs of plugins, which run behind those of the ledger. */
export const addedJobs = register<Job>('scheduled jobs');
