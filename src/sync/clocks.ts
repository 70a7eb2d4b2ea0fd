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
import { offsetMinutesOf } from './time-zone-proof.ts';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { ClockReading } from '../platform/attempt.ts';

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
export function widened({ beginMs, endMs }: Window, clockSkewMs: number, zone: string): Window {
  const isPart = beginMs % 1_000 !== 0;
  return {
    beginMs: isPart ? beginMs + clockSkewMs : isPutBack(beginMs, zone) ? beginMs : beginMs - clockSkewMs,
    endMs: isPutBack(endMs + 1, zone) ? endMs : endMs + clockSkewMs,
  };
}

/** Where an entry is booked: inside the window it came with, near it (within twice the slack), or further away. */
type Place = 'inside' | 'neighbour' | 'outside';

/** Timestamps have no fractions of a second, so an entry may be booked up to a second before the window begins. */
export function placeOf({ bookedMs }: LedgerEntry, { beginMs, endMs }: Window, clockSkewMs: number): Place {
  const fromMs = Math.floor(beginMs / 1_000) * 1_000;
  if (bookedMs >= fromMs && bookedMs <= endMs) return 'inside';
  const reachMs = 2 * clockSkewMs;
  return bookedMs >= fromMs - reachMs && bookedMs <= endMs + reachMs ? 'neighbour' : 'outside';
}

const SECOND_MS = 1_000;
/**
 * How often a reading begins anew because a reply shows that the platform is further behind: its servers may differ.
 */
export const CLOCK_STEPS_MAX = 8;

export class PlatformClockUnsteady extends ExpectedError {
  override readonly name = 'PlatformClockUnsteady';
  readonly exitCode = EXIT.incomplete;
  constructor(behindMs: number) {
    super(
      `the platform's clock goes on falling behind from reply to reply (by ${Math.round(behindMs / SECOND_MS)} s at ` +
        'last), so nothing says which of its entries are settled; ask the platform to set the clocks of its servers.',
    );
  }
}

/**
 * Compares the platform's clock with ours, from the replies to one merchant's calls. What is settled is decided by the
 * clock that is behind: if that is the platform's, the last minutes may still lack entries, however late it is here.
 */
export interface PlatformClock {
  /** Takes in what a reply says; true if it shows that the platform is further behind than was known. */
  readonly note: (reading: ClockReading | undefined) => boolean;
  /** How far the platform is behind, in ms; 0 while no reply shows that it is. */
  readonly behindMs: () => number;
  /** How far it is ahead at least, in ms; 0 while no reply shows that it is. */
  readonly aheadMs: () => number;
}

/**
 * A reply says that the clock is within some span, as the call took time and a Date header has full seconds.
 *
 * If that span allows what is known already, nothing new is concluded: so a slow call is never taken for a clock that
 * is off. If it does not, the platform is taken to be as far behind as the span allows.
 */
export function createPlatformClock(): PlatformClock {
  let behindMs = 0;
  let aheadMs = 0;
  return {
    note: (reading) => {
      if (reading === undefined) return false;
      aheadMs = Math.max(aheadMs, reading.aheadMinMs);
      if (reading.aheadMaxMs >= -behindMs) return false;
      behindMs = -reading.aheadMinMs;
      return true;
    },
    behindMs: () => behindMs,
    aheadMs: () => aheadMs,
  };
}

/** Cuts windows at `latestMs`, rounded down to the end of a second. `heldBack` is what was cut off. */
export function holdBack(
  windows: readonly Window[],
  latestMs: number,
): { readonly settled: readonly Window[]; readonly heldBack: readonly Window[] } {
  const lastMs = Math.floor((latestMs + 1) / SECOND_MS) * SECOND_MS - 1;
  return {
    settled: windows.flatMap(({ beginMs, endMs }) =>
      beginMs > lastMs ? [] : [{ beginMs, endMs: Math.min(endMs, lastMs) }],
    ),
    heldBack: windows.flatMap(({ beginMs, endMs }) =>
      endMs <= lastMs ? [] : [{ beginMs: Math.max(beginMs, lastMs + 1), endMs }],
    ),
  };
}
