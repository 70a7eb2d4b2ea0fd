/**
 * For a platform whose timestamps (busiDate) differ from the times it filters by, up to the clock tolerance.
 *
 * Business days, planned windows, certificates and stored entries all go by timestamps. So a window is asked for wider,
 * by the tolerance on both sides: this brings every entry that is booked in it. Entries of the windows next to it come
 * too; they are counted, but left to their own window. So no entry at an edge is lost or stored under two windows.
 *
 * ### Example
 *
 * The slack is 60 s. An entry has the timestamp 00:00:30, but the platform finds it at 23:59:45 of the day before. The
 * window of its day is asked for from 23:59:00 on, so the entry comes.
 */
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import type { LedgerReader } from '../platform/ledger-reader.ts';
import { offsetMinutesOf } from './time-zone-proof.ts';

/** The longest difference between clocks. A longer one may be of time zones, which differ by quarters of an hour. */
export const CLOCK_SKEW_S_MAX = 420;

/** Whether the zone's clock is put back at this instant: the wall-clock times before it come again. */
const isPutBack = (ms: number, zone: string): boolean =>
  offsetMinutesOf(zone, ms) < offsetMinutesOf(zone, ms - 1);

/**
 * What to ask for, so that every entry booked in the window comes. Of the parts of a second, all but the first are
 * moved instead of widened, so that they do not overlap. No window reaches beyond an instant at which the clock is put
 * back: on the other side, the same timestamp would mean another hour.
 */
function widened({ beginMs, endMs }: Window, clockSkewMs: number, zone: string): Window {
  const isPart = beginMs % 1_000 !== 0;
  return {
    beginMs: isPart ? beginMs + clockSkewMs : isPutBack(beginMs, zone) ? beginMs : beginMs - clockSkewMs,
    endMs: isPutBack(endMs + 1, zone) ? endMs : endMs + clockSkewMs,
  };
}

/** A reader that widens each window by the slack. */
export const wideReader = (reader: LedgerReader, clockSkewMs: number, zone: string): LedgerReader => ({
  page: (query, signal) =>
    reader.page(
      { ...query, window: widened(query.window, clockSkewMs, zone), bookedWithin: query.window },
      signal,
    ),
});

/** Where an entry is booked: inside the window it came with, near it (within twice the slack), or further away. */
export type Place = 'inside' | 'neighbour' | 'outside';

/** Timestamps have no fractions of a second, so an entry may be booked up to a second before the window begins. */
export function placeOf({ bookedMs }: LedgerEntry, { beginMs, endMs }: Window, clockSkewMs: number): Place {
  const fromMs = Math.floor(beginMs / 1_000) * 1_000;
  if (bookedMs >= fromMs && bookedMs <= endMs) return 'inside';
  const reachMs = 2 * clockSkewMs;
  return bookedMs >= fromMs - reachMs && bookedMs <= endMs + reachMs ? 'neighbour' : 'outside';
}
