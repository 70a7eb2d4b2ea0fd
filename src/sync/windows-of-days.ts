/** Which spans of the platform's ledger a sync reads: business days, cut so that a wall-clock time means one instant. */
import { daysFromTo, dayWindow, splitAtTransitions } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';

const SECOND_MS = 1_000;

export interface PlanRequest {
  readonly fromDay: BusinessDay;
  /** Included. */
  readonly toDay: BusinessDay;
  /** IANA zone of the platform's timestamps. */
  readonly zone: string;
  /** now - settleDelay: nothing later is read, as younger entries may still move. */
  readonly latestMs: number;
}

/**
 * One window a business day, two where the zone's clock changes in it, none that reaches beyond `latestMs`.
 *
 * The end is held back to a whole second: timestamps have whole seconds, so of a second read by half nobody could say
 * later whether an entry of it is missing or lies in the other half.
 */
export function planWindows({ fromDay, toDay, zone, latestMs }: PlanRequest): Window[] {
  const lastMs = Math.floor((latestMs + 1) / SECOND_MS) * SECOND_MS - 1;
  return daysFromTo(fromDay, toDay).flatMap((day) => {
    const { beginMs, endMs } = dayWindow(day, zone);
    if (beginMs > lastMs) return [];
    return splitAtTransitions({ beginMs, endMs: Math.min(endMs, lastMs) }, zone);
  });
}

/** The whole seconds a window touches: what to read when only the span of a break is known. */
export const wholeSeconds = ({ beginMs, endMs }: Window): Window => ({
  beginMs: Math.floor(beginMs / SECOND_MS) * SECOND_MS,
  endMs: Math.floor(endMs / SECOND_MS) * SECOND_MS + SECOND_MS - 1,
});
