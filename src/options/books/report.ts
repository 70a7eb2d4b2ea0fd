/** What others ask of own books: how each day agrees with the ledger, and how much is unmatched. */
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { addAmounts, compareAmounts, subtractAmounts } from '../../ledger/money.ts';
import type { Db } from '../../store/engine/database.ts';
import type { BookFigures } from '../../ledger/own-books.ts';
import type { OwnBooks } from '../option.ts';
import { bookFigures } from './figures.ts';
import { openCounts } from './open.ts';

/**
 * The figures of each day in [from, to] with entries on either side. Throws where they do not explain the difference, which is a
 * fault of daybook's own.
 */
export async function explainedFigures(
  db: Db,
  account: Account,
  from: BusinessDay,
  to: BusinessDay,
): Promise<BookFigures[]> {
  const figures = await bookFigures(db, account, from, to);
  for (const { day, ledger, book, onlyThere, onlyHere, difference } of figures) {
    const explained = addAmounts(subtractAmounts(onlyThere, onlyHere), difference);
    if (compareAmounts(subtractAmounts(ledger, book), explained) !== 0)
      throw new Error(
        `${account.merchantNo} ${account.currency} ${day}: the figures do not explain the difference`,
      );
  }
  return figures;
}

export const ownBooks: Omit<OwnBooks, 'desk'> = {
  counts: openCounts,
  figures: explainedFigures,
};
