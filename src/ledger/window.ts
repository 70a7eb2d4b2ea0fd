/** Arithmetic on windows: spans of time in ms since 1970, both ends included. */
import type { Window } from './entry.ts';

/** All time, for queries about everything that is certified. */
export const ALL_TIME = { beginMs: 0, endMs: 9_999_999_999_999 } as const;

/** How many ms a window covers. */
export const lengthMs = (window: Window): number => window.endMs - window.beginMs + 1;

/**
 * Cuts a window into at most `parts` pieces of about equal length that cover it exactly. Pieces of a second or longer
 * are cut at full seconds, because the platform's timestamps are full seconds. A window of one ms stays complete.
 */
export function splitWindow(window: Window, parts: number): Window[] {
  const length = lengthMs(window);
  const wanted = Math.max(1, Math.min(Math.floor(parts), length));
  const unitMs = length / wanted >= 1_000 ? 1_000 : 1;
  const cuts = new Set<number>();
  for (let part = 1; part < wanted; part += 1) {
    const at = Math.round((window.beginMs + (length * part) / wanted) / unitMs) * unitMs;
    if (at > window.beginMs && at <= window.endMs) cuts.add(at);
  }
  const begins = [window.beginMs, ...cuts];
  return begins.map((beginMs, index) => ({ beginMs, endMs: (begins[index + 1] ?? window.endMs + 1) - 1 }));
}

/** The union of windows, in order. Overlapping and adjacent ones are joined. */
export function mergeWindows(windows: readonly Window[]): Window[] {
  const ordered = [...windows].sort((a, b) => a.beginMs - b.beginMs);
  const merged: Window[] = [];
  for (const window of ordered) {
    const last = merged.at(-1);
    if (last !== undefined && window.beginMs <= last.endMs + 1) {
      merged[merged.length - 1] = { beginMs: last.beginMs, endMs: Math.max(last.endMs, window.endMs) };
    } else merged.push(window);
  }
  return merged;
}

/** What is left of `windows` without `taken`; in order and joined. */
export function subtractWindows(windows: readonly Window[], taken: readonly Window[]): Window[] {
  const holes = mergeWindows(taken);
  return mergeWindows(windows).flatMap((window) => {
    const left: Window[] = [];
    let beginMs = window.beginMs;
    for (const hole of holes) {
      if (hole.endMs < beginMs || hole.beginMs > window.endMs) continue;
      if (hole.beginMs > beginMs) left.push({ beginMs, endMs: hole.beginMs - 1 });
      beginMs = hole.endMs + 1;
    }
    if (beginMs <= window.endMs) left.push({ beginMs, endMs: window.endMs });
    return left;
  });
}

/** Whether `windows` together cover every instant of `window`. */
export const covers = (windows: readonly Window[], window: Window): boolean =>
  subtractWindows([window], windows).length === 0;

/** Whether two windows have an instant in common. */
export const overlaps = (one: Window, other: Window): boolean =>
  one.beginMs <= other.endMs && one.endMs >= other.beginMs;

/** Whether one window lies in another. */
export const isWithin = (inner: Window, outer: Window): boolean =>
  inner.beginMs >= outer.beginMs && inner.endMs <= outer.endMs;
