/** Which scheduled jobs are due. Pure: the cron library only tells when, the runs on record tell what is done. */
import { instantsOf, splitAtTransitions } from '../../ledger/business-day.ts';
import { cronTimeAfter, cronTimeBefore } from '../../settings/cron.ts';
import { wallMs, wallSecond, wallTime } from '../../ledger/wall-time.ts';
import { isGoodEnd } from '../verdict/exit-codes.ts';
import type { SlotEnd } from '../../store/runs.ts';

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
/** Whole days were skipped where the date line moved. */
const CLOCK_GAP_MAX_MS = 48 * 3_600_000;

/** The latest wall-clock reading up to now, which is what slots go by: a clock set back brings none of them again. */
function reachedWallMs(zone: string, now: Date): number {
  const nowMs = now.getTime();
  const parts = splitAtTransitions({ beginMs: nowMs - CLOCK_CHANGE_MAX_MS, endMs: nowMs }, zone);
  return Math.max(...parts.map(({ endMs }) => wallMs(endMs, zone)));
}

/**
 * The slot a job should have run in last, at or before `now`. It is looked for in wall-clock time, which takes a clock
 * change as it comes: a slot that it skips is due right after the gap, and one in an hour that comes twice is due the
 * first time only.
 */
export function lastSlot(when: string, zone: string, now: Date): string {
  const nextSecondMs = Math.floor(reachedWallMs(zone, now) / 1_000) * 1_000 + 1_000;
  return wallTime(cronTimeBefore(when, nextSecondMs), 'UTC');
}

/**
 * When a job's next slot is due: the first instant after `now` at which `lastSlot` tells another slot than now. Right
 * where clocks change too: the end of the gap for a slot that is skipped, the first pass of an hour that comes twice.
 */
export function nextTime(when: string, zone: string, now: Date): Date {
  const slotMs = cronTimeAfter(when, reachedWallMs(zone, now));
  const [instant] = instantsOf(wallSecond(slotMs, 'UTC'), zone);
  if (instant !== undefined) return new Date(instant);
  // The clock skips it. No offset is further from UTC than a day, so the gap lies within one of the slot's reading.
  const around = { beginMs: slotMs - CLOCK_GAP_MAX_MS, endMs: slotMs + CLOCK_GAP_MAX_MS };
  const after = splitAtTransitions(around, zone).find(({ beginMs }) => wallMs(beginMs, zone) >= slotMs);
  return new Date(after?.beginMs ?? slotMs);
}

/**
 * Jobs whose last slot has no good run. A slot with a good run is done for good; one whose run was killed is due again
 * at once (the lease keeps a living one alone), and so is one that was told to stop, as nothing failed; one that ended
 * otherwise is due again after `RETRY_AFTER_MS`.
 */
export function dueJobs(slots: readonly DueJob[], now: Date, ends: readonly SlotEnd[]): DueJob[] {
  return slots.filter(({ job, slot }) => {
    const tries = ends.filter((run) => run.command === job && run.slot === slot);
    if (tries.some(({ exitCode }) => isGoodEnd(exitCode))) return false;
    // An end in the future is of a clock that was ahead and has been set back since; nobody waits for it to come.
    const endedAgoMs = tries
      .filter(({ interrupted }) => !interrupted)
      .flatMap(({ finishedAt }) => (finishedAt === null ? [] : [now.getTime() - finishedAt.getTime()]))
      .filter((ms) => ms >= 0);
    return Math.min(RETRY_AFTER_MS, ...endedAgoMs) >= RETRY_AFTER_MS;
  });
}
