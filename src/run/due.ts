/** Which scheduled jobs are due. Pure: the cron library only tells when, the runs on record tell what is done. */
import { CronExpressionParser } from 'cron-parser';
import { splitAtTransitions } from '../ledger/business-day.ts';
import { wallMs, wallTime } from './wall-time.ts';
import { isGoodEnd } from './exit-codes.ts';
import type { RunRow } from '../store/runs.ts';

/** A job that ended incomplete is tried again after this long, until its next slot. */
export const RETRY_AFTER_MS = 10 * 60_000;

export interface ScheduledJob {
  readonly job: string;
  /** Cron expression, five fields. */
  readonly when: string;
}

export interface DueJob {
  readonly job: string;
  /** Wall-clock time `YYYY-MM-DD HH:mm` in the schedule's zone: the same in both passes of a repeated hour. */
  readonly slot: string;
}

/** How far back a clock change can still matter: none has ever been set back by more. */
const CLOCK_CHANGE_MAX_MS = 3 * 3_600_000;

/**
 * The slot a job should have run in last, at or before `now`. It is looked for in wall-clock time, which takes a clock
 * change as it comes: a slot that it skips is due right after the gap, and one in an hour that comes twice is due the
 * first time only.
 */
export function lastSlot(when: string, zone: string, now: Date): string {
  const nowMs = now.getTime();
  const parts = splitAtTransitions({ beginMs: nowMs - CLOCK_CHANGE_MAX_MS, endMs: nowMs }, zone);
  const reachedMs = Math.max(...parts.map(({ endMs }) => wallMs(endMs, zone)));
  const nextSecond = new Date(Math.floor(reachedMs / 1_000) * 1_000 + 1_000);
  const cron = CronExpressionParser.parse(when, { tz: 'UTC', currentDate: nextSecond });
  return wallTime(cron.prev().getTime(), 'UTC');
}

/**
 * Jobs whose last slot has no good run. A slot with a good run is done for good; one whose run was killed is due again
 * at once (the lease keeps a living one alone); one that ended otherwise is due again after `RETRY_AFTER_MS`.
 */
export function dueJobs(
  jobs: readonly ScheduledJob[],
  zone: string,
  now: Date,
  runs: readonly Pick<RunRow, 'command' | 'slot' | 'exitCode' | 'finishedAt'>[],
): DueJob[] {
  return jobs.flatMap(({ job, when }) => {
    const slot = lastSlot(when, zone, now);
    const tries = runs.filter((run) => run.command === job && run.slot === slot);
    if (tries.some(({ exitCode }) => isGoodEnd(exitCode))) return [];
    const lastEnd = Math.max(0, ...tries.map(({ finishedAt }) => finishedAt?.getTime() ?? 0));
    return now.getTime() - lastEnd < RETRY_AFTER_MS ? [] : [{ job, slot }];
  });
}
