/** Follows a total that differs from what is stored down to single days, by halving. */
import { daysFromTo } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { Days } from '../store/historical-days.ts';

/** The platform's totals, and what is stored. */
export interface TotalsSource {
  /** The platform's total of the days; null if it refuses to say. */
  readonly total: (days: Days) => Promise<number | null>;
  readonly stored: (days: Days) => Promise<number>;
  /** Whether so many entries are stored. Entries near the edges, within the slack, may be counted or not. */
  readonly isStored: (days: Days, total: number) => Promise<boolean>;
  readonly callsLeft: () => number;
}

/** Days that were found to differ. */
export interface Found {
  readonly days: readonly BusinessDay[];
  /** Days whose total the platform refuses to say. */
  readonly refused: readonly BusinessDay[];
  /** The longest part of these ranges, in days, whose total agrees; 0 if none does. */
  readonly widest: number;
  /** More days than these differ, or may differ. */
  readonly hasMore: boolean;
}

/** Whether no part of the ranges differs. */
export const isNothing = ({ days, refused, hasMore }: Found): boolean =>
  days.length + refused.length === 0 && !hasMore;

/**
 * The single days whose totals differ, found by halving ranges whose total differs; up to `daysMax` of them, and as far as
 * calls are left.
 */
export async function followDown(
  source: TotalsSource,
  ranges: readonly Days[],
  daysMax: number,
): Promise<Found> {
  const found: BusinessDay[] = [];
  const refused: BusinessDay[] = [];
  let widest = 0;
  const differing: (Days & { readonly isRefused?: boolean })[] = [...ranges];
  for (let days = differing.shift(); days !== undefined; days = differing.shift()) {
    if (days.from === days.to) {
      (days.isRefused === true ? refused : found).push(days.from);
      continue;
    }
    const halves = halvesOf(days);
    if (found.length >= daysMax || source.callsLeft() < halves.length) {
      return { days: found, refused, widest, hasMore: true };
    }
    for (const half of halves) {
      const total = await source.total(half);
      if (total !== null && (await source.isStored(half, total)))
        widest = Math.max(widest, daysFromTo(half.from, half.to).length);
      else differing.push({ ...half, isRefused: total === null });
    }
    // The oldest first: each is halved down to single days before the next one.
    differing.sort((a, b) => (a.from < b.from ? -1 : 1));
  }
  return { days: found, refused, widest, hasMore: false };
}

function halvesOf({ from, to }: Days): Days[] {
  const days = daysFromTo(from, to);
  const middle = Math.floor(days.length / 2);
  return [
    { from, to: days[middle - 1]! },
    { from: days[middle]!, to },
  ];
}
