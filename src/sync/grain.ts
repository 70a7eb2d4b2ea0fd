/** How finely a window is read, and into what it is split when that is too coarse. */
import type { Window } from '../ledger/entry.ts';
import { lengthMs, splitWindow } from '../ledger/window.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import { pagesOf } from './certificate.ts';
import type { ReadLimits } from './limits.ts';

export interface Grain {
  /** Pages a window may have before it is split: `ReadLimits.pageNumMax`, or 1 where order cannot be relied on. */
  readonly pageNumMax: number;
  /** Shortest span a split makes: timestamps have whole seconds, but the platform filters by ms. */
  readonly unitMs: 1_000 | 1;
}

export interface Split {
  readonly parts: readonly Window[];
  readonly grain: Grain;
}

/** Whether time can split a window into spans no shorter than the unit. */
export const isDivisible = (window: Window, unitMs: number): boolean => lengthMs(window) >= 2 * unitMs;

/** Readings a window gets before it is split, or given up where it cannot be. */
export function readsMaxOf(window: Window, total: number, grain: Grain, limits: ReadLimits): number {
  if (total <= PAGE_SIZE_MAX) return limits.onePageReadsMax;
  return isDivisible(window, grain.unitMs) ? limits.readsBeforeSplitMax : limits.indivisibleReadsMax;
}

/** The split of a window with more pages than its grain allows; null where it is to be paged as it is. */
export function splitDeep(window: Window, total: number, grain: Grain, limits: ReadLimits): Split | null {
  if (pagesOf(total) <= grain.pageNumMax) return null;
  if (isDivisible(window, grain.unitMs)) return splitInto(window, total, grain, limits);
  // A second is paged as it is, even where single pages were wanted, unless it is deep itself.
  if (pagesOf(total) <= limits.pageNumMax || !isDivisible(window, 1)) return null;
  return splitInto(window, total, { pageNumMax: limits.pageNumMax, unitMs: 1 }, limits);
}

/** The split of a window whose readings did not add up; null where a page or time leaves nothing to split. */
export function splitUnsteady(window: Window, total: number, grain: Grain, limits: ReadLimits): Split | null {
  if (total <= PAGE_SIZE_MAX) return null;
  const unitMs = isDivisible(window, grain.unitMs) ? grain.unitMs : 1;
  return isDivisible(window, unitMs) ? splitInto(window, total, { pageNumMax: 1, unitMs }, limits) : null;
}

/** As many parts as the total asks for, so that one step is enough where traffic is even. */
function splitInto(window: Window, total: number, grain: Grain, limits: ReadLimits): Split {
  const { pageNumMax, unitMs } = grain;
  const fill = pageNumMax === 1 ? limits.onePageFill : pageNumMax * PAGE_SIZE_MAX * limits.partFill;
  const wanted = Math.min(
    Math.ceil(total / fill),
    limits.splitPartsMax,
    Math.floor(lengthMs(window) / unitMs),
  );
  return { parts: splitWindow(window, Math.max(2, wanted)), grain };
}
