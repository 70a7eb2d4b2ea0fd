/** How finely a window is read, and how it is split if that is too coarse. */
import type { Window } from '../ledger/entry.ts';
import { lengthMs, splitWindow } from '../ledger/window.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import { pagesOf } from './certificate.ts';
import type { ReadLimits } from './limits.ts';

export interface SplitPolicy {
  /** Most pages of a window that is not split: `ReadLimits.pageNumMax`, or 1 if the order of entries changes. */
  readonly pageNumMax: number;
  /** The shortest part of a split. Timestamps have full seconds, but the platform filters by ms. */
  readonly unitMs: 1_000 | 1;
}

export interface Split {
  readonly parts: readonly Window[];
  readonly splitPolicy: SplitPolicy;
}

/** Whether a window is long enough for two parts of the unit each. */
export const isDivisible = (window: Window, unitMs: number): boolean => lengthMs(window) >= 2 * unitMs;

/** How often a window is read before it is split, or given up if it cannot be split. */
export function readsMaxOf(
  window: Window,
  total: number,
  splitPolicy: SplitPolicy,
  limits: ReadLimits,
): number {
  if (total <= PAGE_SIZE_MAX) return limits.onePageReadsMax;
  return isDivisible(window, splitPolicy.unitMs) ? limits.readsBeforeSplitMax : limits.indivisibleReadsMax;
}

/** The split of a window with more pages than its grain allows; null if all its pages are to be read. */
export function splitDeep(
  window: Window,
  total: number,
  splitPolicy: SplitPolicy,
  limits: ReadLimits,
): Split | null {
  if (pagesOf(total) <= splitPolicy.pageNumMax) return null;
  if (isDivisible(window, splitPolicy.unitMs)) return splitInto(window, total, splitPolicy, limits);
  // All pages of a second are read, even if the grain is one page, unless it has more than the limit for any window.
  if (pagesOf(total) <= limits.pageNumMax || !isDivisible(window, 1)) return null;
  return splitInto(window, total, { pageNumMax: limits.pageNumMax, unitMs: 1 }, limits);
}

/** The split of a window whose readings did not add up; null if it has one page, or is too short to split. */
export function splitUnsteady(
  window: Window,
  total: number,
  splitPolicy: SplitPolicy,
  limits: ReadLimits,
): Split | null {
  if (total <= PAGE_SIZE_MAX) return null;
  const unitMs = isDivisible(window, splitPolicy.unitMs) ? splitPolicy.unitMs : 1;
  return isDivisible(window, unitMs) ? splitInto(window, total, { pageNumMax: 1, unitMs }, limits) : null;
}

/** As many parts as the total needs, so that one split is enough if entries are spread evenly. */
function splitInto(window: Window, total: number, splitPolicy: SplitPolicy, limits: ReadLimits): Split {
  const { pageNumMax, unitMs } = splitPolicy;
  const fill = pageNumMax === 1 ? limits.onePageFill : pageNumMax * PAGE_SIZE_MAX * limits.partFill;
  const wanted = Math.min(
    Math.ceil(total / fill),
    limits.splitPartsMax,
    Math.floor(lengthMs(window) / unitMs),
  );
  return { parts: splitWindow(window, Math.max(2, wanted)), splitPolicy };
}
