/** Counts how the rows of two revisions differ, and keeps the first of them to be shown. */
import type { RowDifference } from './differing-rows.ts';

export type Change = 'came' | 'went' | 'changed';
export type ChangeCounts = Readonly<Record<Change, number>>;

export const changeOf = ({ before, after }: RowDifference): Change =>
  before === null ? 'came' : after === null ? 'went' : 'changed';

/** Keeps the first `shownMax` rows and counts all. */
export function tallyRows(shownMax: number) {
  const counts = { came: 0, went: 0, changed: 0 };
  const shown: RowDifference[] = [];
  return {
    counts,
    shown,
    take: (row: RowDifference): void => {
      counts[changeOf(row)] += 1;
      if (shown.length < shownMax) shown.push(row);
    },
  };
}
