/** The limits of reading, and how finely a window is read. */
import type { Window } from '../ledger/entry.ts';
import { lengthMs, splitWindow } from '../ledger/window.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import { pagesOf } from './certificate.ts';

/** The limits of reading: memory, pages, and how often a window that does not add up is read again. */
export interface ReadLimits {
  /** Most pages of one window, 10,000 entries. A window with more is split by time. */
  readonly pageNumMax: number;
  /** Most pages of a window that cannot be split, of one second or one millisecond. 100,000 entries. */
  readonly pageNumIndivisibleMax: number;
  /**
   * Most pages of several planned windows that are asked for as one. They are meant to fill 0.8 of it (`partFill`), so 20
   * pages: as the last page of a window is half empty on average, about 2.5 % of the calls are lost. More pages would
   * save little. They would cost memory, and more calls where something changes between two pages or the platform fails,
   * as all of them are read again then. 0: each planned window is asked for by itself.
   */
  readonly widePages: number;
  /** The share of `pageNumMax` or `widePages` that a part of a split is meant to fill, so that a busy hour still fits. */
  readonly partFill: number;
  /** Entries meant for a part that has to fit on one page: so few that it seldom gets two pages. */
  readonly onePageFill: number;
  readonly splitPartsMax: number;
  readonly readsBeforeSplitMax: number;
  readonly onePageReadsMax: number;
  /**
   * How often a window of several pages is read that cannot be split. If each reply has its own order, one reading
   * shows 63 % of the entries, and 16 readings miss one of 10,000 with a probability of 1 in 900. The limit is twice
   * that, as every entry has to be seen twice.
   */
  readonly indivisibleReadsMax: number;
  /** Calls that one planned window may spend on readings that do not add up ... */
  readonly failedCallsMax: number;
  /** ... and so many more for each page with entries that was certified. */
  readonly failedCallsPerPage: number;
  /** Readings of one page that fail one after another until no window is read as often as that ... */
  readonly failedInARowMax: number;
  /** ... but so often: what fails in every window is not a moment's trouble. */
  readonly hopelessReadsMax: number;
  /**
   * Most calls of one merchant in one reading: so many to begin with, as many as may be under way before the first page is
   * proven, and so many for each planned window and each page of entries that was proven. A sound platform takes about
   * one for each page; the rest is patience.
   */
  readonly callsMin: number;
  readonly callsPerWindow: number;
  readonly callsPerPage: number;
  readonly windowsInProgressMax: number;
  /** Most pages of one merchant in memory at the same time, counted from the first call until they are stored. */
  readonly pagesInProgressMax: number;
  /** How far timestamps may be from the times the platform filters by; 0 if they are the same. See clocks.ts. */
  readonly clockSkewMsMax: number;
}

export const READ_LIMITS: ReadLimits = {
  pageNumMax: 100,
  pageNumIndivisibleMax: 1_000,
  widePages: 25,
  partFill: 0.8,
  onePageFill: 60,
  splitPartsMax: 64,
  readsBeforeSplitMax: 2,
  onePageReadsMax: 8,
  indivisibleReadsMax: 32,
  failedCallsMax: 2_000,
  failedCallsPerPage: 4,
  failedInARowMax: 24,
  hopelessReadsMax: 2,
  callsMin: 1_000,
  callsPerWindow: 25,
  callsPerPage: 5,
  windowsInProgressMax: 32,
  pagesInProgressMax: 240,
  clockSkewMsMax: 0,
};

/** How finely a window is read, and how it is split if that is too coarse. */
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

export const isDivisible = (window: Window, unitMs: number): boolean => lengthMs(window) >= 2 * unitMs;

/** How many entries a window is said to have, and how many a page holds: fewer than `PAGE_SIZE_MAX` if the platform limits it. */
interface Extent {
  readonly total: number;
  readonly roomMax: number;
}

export function readsMaxOf(
  window: Window,
  { total, roomMax }: Extent,
  splitPolicy: SplitPolicy,
  limits: ReadLimits,
): number {
  if (total <= roomMax) return limits.onePageReadsMax;
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
  { total, roomMax }: Extent,
  splitPolicy: SplitPolicy,
  limits: ReadLimits,
): Split | null {
  if (total <= roomMax) return null;
  const unitMs = isDivisible(window, splitPolicy.unitMs) ? splitPolicy.unitMs : 1;
  if (!isDivisible(window, unitMs)) return null;
  const onePageFill = Math.ceil((limits.onePageFill * roomMax) / PAGE_SIZE_MAX);
  return splitInto(window, total, { pageNumMax: 1, unitMs }, { ...limits, onePageFill });
}

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
