/** The breaks of one account, prepared for finding those with one cause. */
import type { ContinuityBreak } from '../entry.ts';
import { subtractAmounts } from '../money.ts';

export type BreakFigures = Pick<
  ContinuityBreak,
  'afterBatchNo' | 'beforeBatchNo' | 'expectedBalance' | 'foundBalance' | 'missingNet'
>;

export type Explanation = Pick<ContinuityBreak, 'hint' | 'hintBatchNo'>;

/** A break whose amounts are written without trailing zeros, so that equal amounts are equal texts. */
export interface Jump {
  readonly after: string | null;
  readonly before: string;
  readonly expected: string;
  readonly found: string;
  readonly missing: string;
}

export interface Scene {
  readonly jumps: readonly Jump[];
  readonly closing: string | null;
  readonly explained: Map<number, Explanation>;
  /** The next break, if just one entry lies between it and this one. */
  readonly joined: (index: number) => number | undefined;
  /** The break right before an entry. */
  readonly into: (batchNo: string | null) => number | undefined;
  /** The next break of the chain. */
  readonly next: (index: number) => number | undefined;
}

export function sceneOf(
  breaks: readonly BreakFigures[],
  closing: string | null,
  known: ReadonlyMap<number, Explanation>,
): Scene {
  const jumps = breaks.map((one) => ({
    after: one.afterBatchNo,
    before: one.beforeBatchNo,
    expected: plain(one.expectedBalance),
    found: plain(one.foundBalance),
    missing: plain(one.missingNet),
  }));
  const behind = new Map(jumps.map(({ after }, index) => [after, index]));
  const ahead = new Map(jumps.map(({ before }, index) => [before, index]));
  const joined = (index: number): number | undefined => behind.get(jumps[index]!.before);
  return {
    jumps,
    closing: closing === null ? null : plain(closing),
    explained: new Map(known),
    joined,
    into: (batchNo) => (batchNo === null ? undefined : ahead.get(batchNo)),
    next: (index) => joined(index) ?? (index + 1 < jumps.length ? index + 1 : undefined),
  };
}

export const isFree = ({ explained }: Scene, indexes: readonly number[]): boolean =>
  new Set(indexes).size === indexes.length && indexes.every((index) => !explained.has(index));

export function explain(
  { explained }: Scene,
  indexes: readonly number[],
  hint: ContinuityBreak['hint'],
  hintBatchNo: string | null,
): void {
  for (const index of indexes) explained.set(index, { hint, hintBatchNo });
}

export const negated = (amount: string): string => subtractAmounts('0', amount);

/** The amount without trailing zeros, so that equal amounts are equal texts: `1.50` gives `1.5`. */
export const plain = (amount: string): string => {
  const short = amount.includes('.') ? amount.replace(/0+$/, '').replace(/\.$/, '') : amount;
  return short === '-0' ? '0' : short;
};
