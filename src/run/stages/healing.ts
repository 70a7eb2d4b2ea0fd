/** Which breaks' spans a run reads again, where there are more than one run reads. Pure. */
import type { Window } from '../../ledger/entry.ts';
import { covers, mergeWindows } from '../../ledger/window.ts';
import type { BreakRow } from '../../store/breaks/breaks.ts';
import type { HealingRead } from '../report.ts';

/** Spans read again for breaks in one run; a ledger broken all over is for a person, not for more calls. */
export const HEALING_READS_MAX = 50;
/** Of these, kept for breaks that wait since earlier runs, so that new ones every night do not starve them. */
const HEALING_READS_FOR_WAITING = 20;
/** A break's span longer than this is no narrow span: the next re-sweep reads it anyway. */
export const HEALING_SPAN_MS_MAX = 24 * 3_600_000;

type Broken = Pick<BreakRow, 'id' | 'merchant_no' | 'begin_ms' | 'end_ms'>;

/** A span to read again, and the breaks that lie in it. */
export interface HealingTask extends HealingRead {
  readonly breakIds: readonly number[];
}

/**
 * Spans of the `newest` breaks first, then of those `longestWaiting`, joined per merchant where they touch. At least
 * `HEALING_READS_FOR_WAITING` are of the latter while there are so many, so that every break gets its turn.
 */
export function healingTasks(newest: readonly Broken[], longestWaiting: readonly Broken[]): HealingTask[] {
  const chosen = new Map<string, Window[]>();
  let count = 0;
  const choose = (rows: readonly Broken[], countMax: number): void => {
    for (const row of rows) {
      const spans = chosen.get(row.merchant_no) ?? [];
      const joined = mergeWindows([...spans, { beginMs: row.begin_ms, endMs: row.end_ms }]);
      const countThen = count + joined.length - spans.length;
      if (countThen > countMax) continue;
      chosen.set(row.merchant_no, joined);
      count = countThen;
    }
  };
  choose(newest, HEALING_READS_MAX - HEALING_READS_FOR_WAITING);
  choose(longestWaiting, HEALING_READS_MAX);
  choose(newest, HEALING_READS_MAX);
  const all = [...new Map([...newest, ...longestWaiting].map((row) => [row.id, row])).values()];
  return [...chosen].flatMap(([merchantNo, windows]) =>
    windows.map((window) => ({
      merchantNo,
      window,
      breakIds: all.filter((row) => isIn(row, merchantNo, window)).map(({ id }) => id),
    })),
  );
}

const isIn = (row: Broken, merchantNo: string, window: Window): boolean =>
  row.merchant_no === merchantNo && covers([window], { beginMs: row.begin_ms, endMs: row.end_ms });
