/** How two versions of a day compare in all that is stored. */
import { sameStated } from '../ledger/chain/figures.ts';
import type { DayFigures } from '../store/account-days.ts';

/** Whether anything that is stored differs, including where the chain stands at the day's end. */
export const storedDiffers = (figures: DayFigures, stored: DayFigures): boolean =>
  !sameStated(figures, stored) ||
  figures.lastBatchNo !== stored.lastBatchNo ||
  figures.lastBookedMs !== stored.lastBookedMs ||
  figures.isOrderFinal !== stored.isOrderFinal ||
  figures.startsWithBreak !== stored.startsWithBreak;
