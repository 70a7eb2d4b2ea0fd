/** What the ledger and own books add up to, and what explains the difference, to the end of each day. */
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { type Db, rowsOf } from '../../store/engine/database.ts';
import type { BookFigures } from '../../ledger/own-books.ts';

/**
 * The figures of each day in [from, to] on which either side has entries; the first one includes all days before. Throws where they
 * do not explain the difference, which is a fault of daybook's own.
 */
export async function bookFigures(db: Db, account: Account, from: BusinessDay, to: BusinessDay) {
  const { merchantNo, currency } = account;
  const found = await rowsOf(db)<BookFigures & { readonly isExplained: boolean }>`
    SELECT *, ledger - book = "onlyThere" - "onlyHere" + difference AS "isExplained" FROM (
      SELECT day, sum(ledger_total) OVER days AS ledger, sum(book_total) OVER days AS book,
        sum(ledger_total - ledger_open) OVER days AS matched, sum(ledger_open) OVER days AS "onlyThere",
        sum(book_open) OVER days AS "onlyHere", sum(difference) OVER days AS difference
      FROM book_day WHERE (merchant_no, currency) = (${merchantNo}, ${currency}) AND day <= ${to}::date
      WINDOW days AS (ORDER BY day)
    ) AS figures WHERE day >= ${from}::date ORDER BY day`;
  return found.map(({ isExplained, ...figures }): BookFigures => {
    if (isExplained) return figures;
    throw new Error(`${merchantNo} ${currency} ${figures.day}: the figures do not explain the difference`);
  });
}
