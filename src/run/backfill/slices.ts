/** Cuts a backfill into slices, and says when a failed one is tried again and how long the rest takes. Pure. */
import { addDays } from '../../ledger/business-day.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import type { RecentSlices } from '../../store/backfill-progress.ts';
import type { DayRange } from '../range.ts';

/** What the run of a backfill is called. */
export const BACKFILL_COMMAND = 'backfill';

/**
 * Days of a slice: long enough that its first calls weigh little, short enough that a killed process loses little.
 */
const SLICE_DAYS = 31;
/** A `run` over more days is done in slices, as a backfill is. */
export const LONG_RUN_DAYS = 92;

/** Pauses before a failed slice is tried again; from then on always the last one. */
const PAUSES_MIN = [1, 2, 4, 8, 15, 30, 60, 120, 240, 360];

/**
 * The slice that begins with `from`. Slices are done in order, the oldest first: each day opens on the closing of the day
 * before it, so each slice starts where the one before it ended. With the newest first, each older slice would move
 * the openings of all the later days, and revise what is published of them.
 */
export function sliceFrom(from: BusinessDay, last: BusinessDay): DayRange {
  const to = addDays(from, SLICE_DAYS - 1);
  return { from, to: to < last ? to : last };
}

/** All slices of a range, in order. */
export function slicesOf({ from, to }: DayRange): DayRange[] {
  const slices: DayRange[] = [];
  for (let begin = from; begin <= to; begin = addDays(slices.at(-1)!.to, 1))
    slices.push(sliceFrom(begin, to));
  return slices;
}

/** How long to wait after a slice has failed for the `tries`-th time, in ms. */
export const pauseMs = (tries: number): number =>
  PAUSES_MIN[Math.min(Math.max(tries, 1), PAUSES_MIN.length) - 1]! * 60_000;

/**
 * How long the days that are left take at the pace of the slices done last, in ms; null if that is not known yet. Pauses
 * between these slices count, so workers side by side and nights in between are in it.
 */
export function leftMs(daysLeft: number, { days, beganAt, doneAt }: RecentSlices): number | null {
  if (daysLeft === 0) return 0;
  if (beganAt === null || doneAt === null || days === 0) return null;
  const tookMs = doneAt.getTime() - beganAt.getTime();
  return tookMs <= 0 ? null : Math.round((tookMs * daysLeft) / days);
}
