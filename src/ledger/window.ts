/** Arithmetic of windows: spans of instants with both ends inside, in ms since 1970. */
import type { Window } from './entry.ts';

/** Instants a window holds, in ms. */
export const lengthMs = (window: Window): number => window.endMs - window.beginMs + 1;

/**
 * Cuts a window into at most `parts` pieces of like length that cover it exactly. Cuts lie on whole seconds while the
 * pieces are a second or longer, because the platform's timestamps do; a one-millisecond window stays whole.
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

/** The union of windows, in order, with overlapping and adjacent ones joined. */
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

/** What is left of `windows` once `taken` is cut out; in order, joined. */
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

/** Whether every instant of `window` lies in the union of `windows`. */
export const covers = (windows: readonly Window[], window: Window): boolean =>
  subtractWindows([window], windows).length === 0;
