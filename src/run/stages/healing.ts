/** Chooses which spans of breaks a run reads again, as there may be more than one run can read. Pure. */
import type { Window } from '../../ledger/entry.ts';
import { covers, mergeWindows } from '../../ledger/window.ts';
import type { BreakRow } from '../../store/breaks/breaks.ts';
import type { HealingRead } from '../report.ts';

/** Most spans that one run reads again. A ledger with more breaks needs a person, not more calls. */
export const HEALING_READS_MAX = 50;
/**
 * This many of them are kept for breaks from earlier runs. Otherwise new breaks every night would crowd these out.
 */
const HEALING_READS_FOR_WAITING = 20;
/** Longer spans are not read again here; the next lookback reads them anyway. */
export const HEALING_SPAN_MS_MAX = 24 * 3_600_000;

type Broken = Pick<BreakRow, 'id' | 'merchant_no' | 'begin_ms' | 'end_ms'>;

/** A span to read again, with the breaks in it. */
export interface HealingTask extends HealingRead {
  readonly breakIds: readonly number[];
}

/**
 * Chooses the spans of the `newest` breaks first and then those of the `longestWaiting`. Spans of a merchant that
 * touch are joined. At least `HEALING_READS_FOR_WAITING` spans are for breaks that have waited, if there are so many;
 * so every break gets its turn.
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
