/**
 * Compares the platform's clock with ours, from the replies to one merchant's calls. What is settled is decided by the
 * clock that is behind: if that is the platform's, the last minutes may still lack entries, however late it is here.
 */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { Window } from '../ledger/entry.ts';
import type { ClockReading } from '../platform/clock-reading.ts';

const SECOND_MS = 1_000;
/**
 * How often a reading begins anew because a reply shows that the platform is further behind: its servers may differ.
 */
export const CLOCK_STEPS_MAX = 8;

/** Reply after reply showed the platform's clock further behind. */
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
