/** Decides which scheduled jobs are due. Pure: the cron library gives the times, the recorded runs say what is done. */
import { instantsOf, splitAtTransitions } from '../../ledger/business-day.ts';
import { cronTimeAfter, cronTimeBefore } from '../../settings/cron.ts';
import { wallMs, wallSecond, wallTime } from '../../ledger/wall-time.ts';
import { isGoodEnd } from '../verdict/exit-codes.ts';
import type { Schedule } from '../../settings/settings.ts';
import type { SlotEnd } from '../../store/runs.ts';

/** A job that ended incomplete is tried again after this time, until its next slot. */
export const RETRY_AFTER_MS = 10 * 60_000;

export interface ScheduledJob {
  readonly job: string;
  readonly when: string;
}

export interface DueJob {
  readonly job: string;
  /**
   * Wall-clock time `YYYY-MM-DD HH:mm` in the schedule's zone. When an hour comes twice, both passes give the same
   * slot.
   */
  readonly slot: string;
}

/** How long a clock change matters: no zone has ever set its clock back by more. */
const CLOCK_CHANGE_MAX_MS = 3 * 3_600_000;
/** Longest time that a zone's clock has skipped: complete days, where the date line was moved. */
const CLOCK_GAP_MAX_MS = 48 * 3_600_000;

/**
 * The latest wall-clock time reached so far. Slots go by it, so that no slot comes again when the clock is set back.
 */
function reachedWallMs(zone: string, now: Date): number {
  const nowMs = now.getTime();
  const parts = splitAtTransitions({ beginMs: nowMs - CLOCK_CHANGE_MAX_MS, endMs: nowMs }, zone);
  return Math.max(...parts.map(({ endMs }) => wallMs(endMs, zone)));
}

/**
 * The last slot of a job at or before `now`, in wall-clock time. A slot that the clock skips (when it is set forward)
 * is due right after the gap. A slot in an hour that comes twice (when it is set back) is due the first time only.
 */
export function lastSlot(when: string, zone: string, now: Date): string {
  const nextSecondMs = Math.floor(reachedWallMs(zone, now) / 1_000) * 1_000 + 1_000;
  return wallTime(cronTimeBefore(when, nextSecondMs), 'UTC');
}

/**
 * When the next slot of a job is due: the first instant after `now` at which `lastSlot` returns another slot. For a
 * slot that the clock skips, this is the end of the gap; for an hour that comes twice, the first time.
 */
export const nextTime = (when: string, zone: string, now: Date): Date =>
  instantOfWall(cronTimeAfter(when, reachedWallMs(zone, now)), zone);

/** When a slot was due: in an hour that comes twice the first time, and where the clock skips it at the end of the gap. */
const instantOfSlot = (slot: string, zone: string): Date => instantOfWall(wallMsOfSlot(slot), zone);

const wallMsOfSlot = (slot: string): number => Date.parse(`${slot.replace(' ', 'T')}:00Z`);

function instantOfWall(slotMs: number, zone: string): Date {
  const [instant] = instantsOf(wallSecond(slotMs, 'UTC'), zone);
  if (instant !== undefined) return new Date(instant);
  // The clock skips this slot. No offset from UTC is larger than a day, so the gap lies near the slot's time read as
  // UTC.
  const around = { beginMs: slotMs - CLOCK_GAP_MAX_MS, endMs: slotMs + CLOCK_GAP_MAX_MS };
  const after = splitAtTransitions(around, zone).find(({ beginMs }) => wallMs(beginMs, zone) >= slotMs);
  return new Date(after?.beginMs ?? slotMs);
}

/**
 * The jobs whose last slot is not done:
 *
 * - A slot with a good run is done for good, and one with a run that another try cannot better.
 * - A slot whose run was killed is due at once. If that run is still alive, the lease keeps a second one away.
 * - A slot whose run was asked to stop is due at once as well, as nothing failed.
 * - A slot whose run ended otherwise is due again after `RETRY_AFTER_MS`.
 */
export function dueJobs(slots: readonly DueJob[], now: Date, ends: readonly SlotEnd[]): DueJob[] {
  return slots.filter(({ job, slot }) => {
    const tries = ends.filter((run) => run.command === job && run.slot === slot);
    if (tries.some(({ exitCode, awaitsPerson }) => isGoodEnd(exitCode) || awaitsPerson)) return false;
    // An end in the future was recorded while the clock was ahead. No one waits until that time comes.
    const endedAgoMs = tries
      .filter(({ interrupted }) => !interrupted)
      .flatMap(({ finishedAt }) => (finishedAt === null ? [] : [now.getTime() - finishedAt.getTime()]))
      .filter((ms) => ms >= 0);
    return Math.min(RETRY_AFTER_MS, ...endedAgoMs) >= RETRY_AFTER_MS;
  });
}

export interface NextRun {
  readonly job: string;
  readonly at: Date;
}

export function nextRun(jobs: readonly ScheduledJob[], zone: string, now: Date): NextRun | null {
  const coming = jobs.map(({ job, when }) => ({ job, at: nextTime(when, zone, now) }));
  return coming.sort((a, b) => a.at.getTime() - b.at.getTime())[0] ?? null;
}

type LedgerTimes = Pick<Schedule, 'nightly' | 'resweep' | 'zone'>;

const LATE_AFTER_MS = 2 * 3_600_000;
/** So long ahead is searched for the longest time between two nights, and at so many nights at least and at most. */
const CHECKED_PERIOD_MS = 8 * 24 * 3_600_000;
const SLOTS_CHECKED_MIN = 8;
const SLOTS_CHECKED_MAX = 1_200;

/** Where the schedule reads no ledger, something else does, once a day. */
const ONCE_A_DAY = '30 1 * * *';

/**
 * How old the last good reading may be: the longest time between two nights of the schedule, of the last two and those of
 * the next week, and two hours. Where the nightly job is off, the other one that reads the ledger counts.
 */
export function oldestMs({ nightly: times, resweep, zone }: LedgerTimes, now: Date): number {
  const nightly = times ?? resweep ?? ONCE_A_DAY;
  const slotBefore = (at: Date): Date => instantOfSlot(lastSlot(nightly, zone, at), zone);
  let at = slotBefore(new Date(slotBefore(now).getTime() - 1));
  let longestMs = 0;
  for (let nights = 0; nights < SLOTS_CHECKED_MAX; nights += 1) {
    if (nights >= SLOTS_CHECKED_MIN && at.getTime() - now.getTime() > CHECKED_PERIOD_MS) break;
    const next = nextTime(nightly, zone, at);
    longestMs = Math.max(longestMs, next.getTime() - at.getTime());
    at = next;
  }
  return longestMs + LATE_AFTER_MS;
}
