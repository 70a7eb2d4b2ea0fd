/**
 * The platform's clock beside ours, gathered from the replies of one merchant's reading. What is settled is decided by
 * the clock that is behind: entries of the last minutes may not be in a window yet, however late it is here.
 */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { Window } from '../ledger/entry.ts';
import type { ClockReading } from '../platform/clock-reading.ts';

const SECOND_MS = 1_000;
/** Times one reading begins anew because a reply shows the platform further behind: its servers may differ. */
export const CLOCK_STEPS_MAX = 8;

/** Replies kept showing the platform's clock further and further behind. */
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

export interface PlatformClock {
  /** Takes a reply's reading in; true where it shows the platform further behind than was known. */
  readonly note: (reading: ClockReading | undefined) => boolean;
  /** How far the platform is behind; 0 while no reply shows that it is. */
  readonly behindMs: () => number;
  /** How far it is ahead at least; 0 while no reply shows that it is. */
  readonly aheadMs: () => number;
}

/**
 * A reading that can be true of a platform no further behind than is known says nothing new: so a slow call, or the
 * second that a Date header is exact to, is never taken for a clock that is off. One that cannot be true is believed to
 * its full extent.
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

/** Windows cut so that none reaches beyond `latestMs`, to a whole second, and what was cut away. */
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
