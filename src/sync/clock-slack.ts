/**
 * A platform whose timestamps (busiDate) are off by up to the clock tolerance from the times it filters by.
 *
 * Everything else speaks of timestamps: business days, planned windows, certificates, what is stored and what
 * vanished. So a window is asked for that much wider on both sides, which brings all that is booked in it, and of what
 * comes only that is taken: its neighbours' entries are counted and left to them. So nothing at an edge is lost, stored
 * under two windows, or missed by one window because the other one was shown it.
 */
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import type { LedgerReader } from '../platform/ledger-reader.ts';
import { offsetMinutesOf } from './time-zone-proof.ts';

/** Longest difference that is one of clocks: a quarter of an hour apart, time zones begin. */
export const SLACK_S_MAX = 420;

/** Whether the zone's clock is put back at this instant: wall-clock times before and after it are the same. */
const isPutBack = (ms: number, zone: string): boolean =>
  offsetMinutesOf(zone, ms) < offsetMinutesOf(zone, ms - 1);

/**
 * What to ask for, so that all that is booked in the window comes. A part of a second is not widened into the parts
 * before it, and nothing reaches beyond the instant a clock is put back: on the other side, the same timestamp would
 * mean another hour.
 */
function widened({ beginMs, endMs }: Window, slackMs: number, zone: string): Window {
  const isPart = beginMs % 1_000 !== 0;
  return {
    beginMs: isPart ? beginMs + slackMs : isPutBack(beginMs, zone) ? beginMs : beginMs - slackMs,
    endMs: isPutBack(endMs + 1, zone) ? endMs : endMs + slackMs,
  };
}

/** A reader that asks for windows wider than those it is asked for. */
export const wideReader = (reader: LedgerReader, slackMs: number, zone: string): LedgerReader => ({
  page: (query, signal) =>
    reader.page(
      { ...query, window: widened(query.window, slackMs, zone), bookedWithin: query.window },
      signal,
    ),
});

/** How an entry's time stands to the window it came in. */
export type Place = 'inside' | 'neighbour' | 'stranger';

/** Timestamps are cut to their second, so one may lie up to a second before the window's begin. */
export function placeOf({ bookedMs }: LedgerEntry, { beginMs, endMs }: Window, slackMs: number): Place {
  const fromMs = Math.floor(beginMs / 1_000) * 1_000;
  if (bookedMs >= fromMs && bookedMs <= endMs) return 'inside';
  const reachMs = 2 * slackMs;
  return bookedMs >= fromMs - reachMs && bookedMs <= endMs + reachMs ? 'neighbour' : 'stranger';
}
