/** What certificates say about time: up to where a merchant's ledger is proven, and which spans are missing. Pure. */
import type { Window } from '../ledger/entry.ts';
import { mergeWindows } from '../ledger/window.ts';

/** A longer stretch without certificates lies between two histories read on purpose, and is not a missed night. */
export const GAP_MAX_MS = 31 * 24 * 3_600_000;

export interface Coverage {
  /** Last instant of unbroken proof, null where nothing was ever certified. */
  readonly provenThroughMs: number | null;
  /** Spans without a certificate that a run should still read. */
  readonly missing: readonly Window[];
}

/** Coverage by `certified` windows, in any order, overlapping or not, up to and including `untilMs`. */
export function coverageOf(certified: readonly Window[], untilMs: number): Coverage {
  const united = mergeWindows(certified);
  if (united.length === 0) return { provenThroughMs: null, missing: [] };
  const missing: Window[] = [];
  united.forEach((window, index) => {
    const next = united[index + 1];
    const endMs = next === undefined ? untilMs : next.beginMs - 1;
    const gap = { beginMs: window.endMs + 1, endMs };
    if (gap.beginMs > gap.endMs) return;
    if (next === undefined || gap.endMs - gap.beginMs < GAP_MAX_MS) missing.push(gap);
  });
  const first = missing[0];
  return { provenThroughMs: first === undefined ? united.at(-1)!.endMs : first.beginMs - 1, missing };
}
