/** How a day's figures compare. */
import type { Figures, StatedFigures } from '../entry.ts';
import { compareAmounts } from '../money.ts';

/** How many entries the day has. */
export const entriesIn = ({ creditCount, debitCount }: Pick<Figures, 'creditCount' | 'debitCount'>): number =>
  creditCount + debitCount;

/** Whether two sets of figures read the same. Trailing zeros of amounts do not count. */
export const sameFigures = (a: Figures, b: Figures): boolean =>
  compareAmounts(a.opening, b.opening) === 0 &&
  compareAmounts(a.creditTotal, b.creditTotal) === 0 &&
  a.creditCount === b.creditCount &&
  compareAmounts(a.debitTotal, b.debitTotal) === 0 &&
  a.debitCount === b.debitCount &&
  compareAmounts(a.closing, b.closing) === 0 &&
  a.verdict === b.verdict &&
  a.breakCount === b.breakCount &&
  a.breaksAfter === b.breaksAfter;

/** The same, the opening comes from the same place, and is as certain. */
export const sameStated = (a: StatedFigures, b: StatedFigures): boolean =>
  sameFigures(a, b) &&
  a.restarted === b.restarted &&
  otherClosingsText(a.otherClosings) === otherClosingsText(b.otherClosings);

/** As it is stored: '' for none. */
export const otherClosingsText = (closings: StatedFigures['otherClosings'] = []): string => closings.join();
