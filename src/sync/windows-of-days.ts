/** The windows that a sync reads: business days, cut so that a wall-clock time means one instant in each. */
import { daysFromTo, dayWindow, splitAtTransitions } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';

const SECOND_MS = 1_000;

export interface PlanRequest {
  readonly fromDay: BusinessDay;
  /** Included. */
  readonly toDay: BusinessDay;
  /** IANA zone of the platform's timestamps. */
  readonly zone: string;
  /** Now minus the settle delay. Nothing later is read, as younger entries may still move. */
  readonly latestMs: number;
}

/**
 * One window for each business day, two if the zone's clock changes on it, and none beyond `latestMs`.
 *
 * The last window ends with a complete second. Timestamps have full seconds: if half a second were read, no one could say
 * later if an entry of that second is missing or in the other half.
 */
export function planWindows({ fromDay, toDay, zone, latestMs }: PlanRequest): Window[] {
  const lastMs = Math.floor((latestMs + 1) / SECOND_MS) * SECOND_MS - 1;
  return daysFromTo(fromDay, toDay).flatMap((day) => {
    const { beginMs, endMs } = dayWindow(day, zone);
    if (beginMs > lastMs) return [];
    return splitAtTransitions({ beginMs, endMs: Math.min(endMs, lastMs) }, zone);
  });
}

/** The window, widened to full seconds. */
export const fullSeconds = ({ beginMs, endMs }: Window): Window => ({
  beginMs: Math.floor(beginMs / SECOND_MS) * SECOND_MS,
  endMs: Math.floor(endMs / SECOND_MS) * SECOND_MS + SECOND_MS - 1,
});
