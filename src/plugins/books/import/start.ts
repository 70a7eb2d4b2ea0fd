/** The first day of a merchant's books, and what an import does to it. */
import { countedInText as counted } from '../../../ledger/text.ts';
import { UsageError } from '../../../run/verdict/exit-codes.ts';
import { rowOf } from '../../../store/engine/database.ts';
import type { Importing } from './importing.ts';

interface Starts {
  /** The earliest first day of the merchant's books before this import, and with it. Null while there is none. */
  readonly before: string | null;
  readonly now: string | null;
  /** Entries on the days from the one to the other: of the ledger, and of this book. */
  readonly ledger: number;
  readonly own: number;
}

const startsOf = ({ trx, merchantNo, book, id }: Importing) => rowOf(trx)<Starts>`
  WITH starts AS (
    SELECT (SELECT min(starts_on) FROM (
        SELECT DISTINCT ON (book) starts_on FROM book_import WHERE merchant_no = ${merchantNo} AND id < ${id} ORDER BY book, id DESC
      ) AS earlier) AS before, (SELECT starts_on FROM book_import WHERE id = ${id}) AS now
  )
  SELECT before::text, now::text,
    (SELECT count(*)::int FROM ledger_entry WHERE merchant_no = ${merchantNo} AND vanished_at IS NULL AND booked_at >= starts.now
      AND booked_at < before) AS ledger,
    (SELECT count(*)::int FROM book_entry WHERE (merchant_no, book) = (${merchantNo}, ${book}) AND withdrawn_import_id IS NULL
      AND day >= starts.now AND day < before) AS own
  FROM starts`;

/**
 * How the import moves the start of the merchant's books to an earlier day, as a sentence; null where it does not. Throws `UsageError` where
 * no person named the day and the file holds less than half as many entries on the added days as the ledger: one wrong date would open them all.
 */
export async function movedStart(importing: Importing): Promise<string | null> {
  const { request } = importing;
  const { before, now, ledger, own } = await startsOf(importing);
  if (before === null || now === null || now >= before || ledger === 0) return null;
  const adds = `${counted(ledger, 'entry', 'entries')} of the ledger before ${before}`;
  const isNamed = request.startsOn !== undefined || request.mapping.from !== undefined;
  if (!isNamed && own * 2 < ledger)
    throw new UsageError(
      `${request.source.name} would move the start of the book from ${before} to ${now}, and ${adds} would count as unmatched or be matched ` +
        `anew; the file has ${counted(own, 'entry', 'entries')} there. Nothing was stored. Name the first day of the book: ` +
        `--start ${now} or --start ${before}, or \`from: ${now}\` or \`from: ${before}\` in the mapping.`,
    );
  return `the start of the book moves from ${before} to ${now}: ${adds} count from now on`;
}
