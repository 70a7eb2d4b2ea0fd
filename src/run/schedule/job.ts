/** A scheduled job: its name, when it is due, and what it runs. */
import { register } from '../../host/slot.ts';
import type { Schedule, Settings, SettingsWithoutPlatform } from '../../settings/settings.ts';
import type { RunDeps } from '../active-run.ts';
import type { PlatformApp } from '../app.ts';
import type { ExitCode } from '../verdict/exit-codes.ts';
import type { DueJob, ScheduledJob } from './due.ts';

export interface Job {
  readonly name: string;
  readonly what: string;
  /** Picks its cron expression from the settings (DAYBOOK_SCHEDULE_...); null where it is off. */
  readonly when: (schedule: Schedule) => string | null;
  /** Whether the settings have what the job needs. Without that it is never due. Left out: it needs nothing of its own. */
  readonly isSetUp?: (settings: Pick<Settings, 'platform'>) => boolean;
  /** True if it brings the ledger up to date. A good run of one such job makes up for a failed run of another. */
  readonly isLedger: boolean;
  /** For a job of the ledger: how far back it searches for late entries, beyond the days of a night. */
  readonly lookback?: (settings: Settings) => Pick<RunDeps, 'lateSweepDays'>;
  /** Does the work of one slot. Null if another process has done it meanwhile. */
  readonly run: (app: PlatformApp, due: DueJob, signal: AbortSignal) => Promise<JobReport | null>;
}

/** What of a job says when it is due. */
export type TimedJob = Pick<Job, 'name' | 'when' | 'isSetUp'>;

/** The jobs that are ever due by these settings, each with its times. */
export const scheduledJobs = (
  jobs: readonly TimedJob[],
  settings: Pick<SettingsWithoutPlatform, 'platform' | 'schedule'>,
): ScheduledJob[] =>
  jobs.flatMap(({ name, when, isSetUp }) => {
    const { platform, schedule } = settings;
    const times = when(schedule);
    const isReady = isSetUp === undefined || (platform !== null && isSetUp({ platform }));
    return times === null || !isReady ? [] : [{ job: name, when: times }];
  });

/** How a slot ended, by its run on record, whose command is the job and whose slot is the due one: it is due until it has one. */
export interface JobReport {
  readonly runId: number;
  readonly exitCode: ExitCode;
  readonly notes: readonly string[];
  readonly elapsedMs: number;
}

/** Jobs of plugins, which run behind those of the ledger. */
export const addedJobs = register<Job>('scheduled jobs');
