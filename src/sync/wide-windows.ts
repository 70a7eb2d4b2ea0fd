/**
 * Joins planned windows, which are business days, to wide ones, so that days with few entries share their pages. Pure.
 *
 * A wide window is asked for as one. What it brings is cut into its planned windows again, and each of them is judged,
 * certified and stored by itself. So a wide window proves as much as its planned windows one by one.
 */
import type { Window, BusinessDay } from '../ledger/entry.ts';
import { isWithin, lengthMs, overlaps } from '../ledger/window.ts';
import type { SeenWindow } from '../store/certificates.ts';
import type { Asked } from './certificate.ts';
import { offsetMinutesOf } from './time-zone-proof.ts';
import { daysFromTo, dayWindow, splitAtTransitions } from '../ledger/business-day.ts';

/** So many days before the planned windows are checked as well, to estimate days that were never read. */
export const SEEN_MS_BEFORE = 7 * 86_400_000;

export interface WideWindow extends Asked {
  /** The planned windows that it is made of, in order. They cover it exactly. */
  readonly planned: readonly Window[];
  /** Windows that were certified before, also outside of it; left out where this is not known. */
  readonly readBefore?: readonly Window[] | undefined;
}

interface WidenOptions {
  readonly seen: readonly SeenWindow[];
  readonly zone: string;
  /** 0: nothing is joined. */
  readonly entriesMax: number;
}

/**
 * Joins windows that touch, as long as fewer than `entriesMax` entries are expected in them. A day that was seen already is expected to
 * bring as many entries as then; another one as many as the days seen have on average. If no day was seen, all that
 * touch are joined, as the total on the first page will tell how many there are.
 *
 * A doubtful window stays alone. No window reaches over an instant at which the clock changes.
 *
 * ### Example
 *
 * A night reads eight days with 20 entries each, and the first hours of today: one window, two pages.
 */
export function widen(planned: readonly Asked[], { seen, zone, entriesMax }: WidenOptions): WideWindow[] {
  const wide: WideWindow[] = [];
  let expected = 0;
  let isAlone = false;
  const byPlace = [...planned].sort((a, b) => a.window.beginMs - b.window.beginMs);
  for (const asked of byPlace) {
    const readBefore = seen.filter((one) => !one.isDoubtful);
    const entries = expectedIn(asked.window, readBefore);
    const isDoubtful = seen.some((one) => one.isDoubtful && overlaps(one, asked.window));
    const last = wide.at(-1);
    const fits = expected + entries < entriesMax;
    if (last !== undefined && !isAlone && !isDoubtful && fits && touch(last, asked, zone)) {
      wide[wide.length - 1] = joined(last, asked);
      expected += entries;
    } else {
      wide.push({ ...asked, planned: [asked.window], readBefore });
      expected = entries;
      isAlone = isDoubtful;
    }
  }
  return wide;
}

export function inGroups(planned: readonly Window[], count: number): Window[][] {
  const groups = Math.max(1, Math.min(count, planned.length));
  const from = (group: number): number => Math.round((group * planned.length) / groups);
  return Array.from({ length: groups }, (_, group) => planned.slice(from(group), from(group + 1)));
}

/**
 * The smaller windows to be read in place of one in which some planned windows, the `odd` ones, lack entries.
 *
 * At first, those that follow each other and lack entries are one window, and those between them too: a platform that
 * left out a stretch for once costs one reading more. After that each odd window is asked for by itself, and the
 * others in halves, so that it comes to an end with every platform.
 */
export function apartAt(
  { planned }: WideWindow,
  odd: readonly Window[],
  { isFirst }: { readonly isFirst: boolean },
): WideWindow[] {
  const runs = runsOf(planned, (window) => odd.includes(window));
  const groups =
    isFirst && runs.length > 1
      ? runs
      : runs.flatMap((run) => inGroups(run, !isFirst && odd.includes(run[0]!) ? run.length : 2));
  return groups.map(wideOf);
}

function runsOf(windows: readonly Window[], is: (window: Window) => boolean): Window[][] {
  const runs: Window[][] = [];
  for (const window of windows) {
    const last = runs.at(-1);
    if (last !== undefined && is(last[0]!) === is(window)) last.push(window);
    else runs.push([window]);
  }
  return runs;
}

export function plannedIn(part: Asked, planned: readonly Asked[]): readonly Asked[] {
  const own = planned.filter((one) => holds(part, one));
  return own.length > 1 ? own : [part];
}

export const holds = (outer: Asked, inner: Asked): boolean => isWithin(inner.window, outer.window);

/** The planned windows may come in any order: days taken over from an earlier request are planned after those of the lookback. */
export function wideOf(windows: readonly Window[]): WideWindow {
  const planned = [...windows].sort((a, b) => a.beginMs - b.beginMs);
  return { window: spanOf(planned), planned };
}

const spanOf = (planned: readonly Window[]): Window => ({
  beginMs: planned[0]!.beginMs,
  endMs: planned.at(-1)!.endMs,
});

export const isIn = ({ beginMs, endMs }: Window, ms: number): boolean => ms >= beginMs && ms <= endMs;

const sum = (figures: readonly number[]): number => figures.reduce((total, figure) => total + figure, 0);

function expectedIn(window: Window, trusted: readonly SeenWindow[]): number {
  const inside = trusted.filter((one) => isWithin(one, window));
  const seenMs = sum(trusted.map(lengthMs));
  if (seenMs === 0) return 0;
  const unseenMs = Math.max(0, lengthMs(window) - sum(inside.map(lengthMs)));
  return sum(inside.map(totalOf)) + (unseenMs * sum(trusted.map(totalOf))) / seenMs;
}

const totalOf = ({ total }: SeenWindow): number => total;

const touch = (earlier: Asked, later: Asked, zone: string): boolean =>
  earlier.window.endMs + 1 === later.window.beginMs &&
  offsetMinutesOf(zone, earlier.window.endMs) === offsetMinutesOf(zone, later.window.beginMs);

const joined = ({ planned, readBefore }: WideWindow, { window }: Asked): WideWindow => ({
  ...wideOf([...planned, window]),
  readBefore,
});

const SECOND_MS = 1_000;

interface PlanRequest {
  readonly fromDay: BusinessDay;
  readonly toDay: BusinessDay;
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

export const fullSeconds = ({ beginMs, endMs }: Window): Window => ({
  beginMs: Math.floor(beginMs / SECOND_MS) * SECOND_MS,
  endMs: Math.floor(endMs / SECOND_MS) * SECOND_MS + SECOND_MS - 1,
});
