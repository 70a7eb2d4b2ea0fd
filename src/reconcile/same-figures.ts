/** How two versions of a day compare: in what a reader of the day sees, and in all that is stored. */
import { compareAmounts } from '../ledger/money.ts';
import type { DayFigures } from '../store/account-days.ts';

/** The same day to a reader. */
export const sameFigures = (a: DayFigures, b: DayFigures): boolean =>
  compareAmounts(a.opening, b.opening) === 0 &&
  compareAmounts(a.creditTotal, b.creditTotal) === 0 &&
  a.creditCount === b.creditCount &&
  compareAmounts(a.debitTotal, b.debitTotal) === 0 &&
  a.debitCount === b.debitCount &&
  compareAmounts(a.closing, b.closing) === 0 &&
  a.verdict === b.verdict &&
  a.breakCount === b.breakCount &&
  a.breaksAfter === b.breaksAfter;

/** Whether anything stored differs, where the chain stands at the day's end included. */
export const differ = (figures: DayFigures, stored: DayFigures): boolean =>
  !sameFigures(figures, stored) ||
  figures.lastBatchNo !== stored.lastBatchNo ||
  figures.lastBookedMs !== stored.lastBookedMs ||
  figures.cleanEnd !== stored.cleanEnd ||
  figures.jumpsIn !== stored.jumpsIn ||
  figures.restarted !== stored.restarted;
