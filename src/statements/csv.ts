/** Statement rows as CSV: RFC 4180, UTF-8 without BOM, CRLF; the same entries give the same bytes. */
import { stringify } from 'csv-stringify/sync';
import type { LedgerEntry } from '../ledger/entry.ts';

export const STATEMENT_COLUMNS = [
  'batch_no',
  'booked_at',
  'currency',
  'transaction_type',
  'credit',
  'debit',
  'balance',
] as const;

/** Cells are quoted where they hold a comma, a quote or a line's end; no cell is altered. */
export const csvText = (rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ''
    : stringify(rows as string[][], { record_delimiter: '\r\n', quote_record_delimiter: true });

export const STATEMENT_HEADER = csvText([STATEMENT_COLUMNS]);

/** Lines of a batch of entries, in the order given. A batch at once is faster than a stream of rows, and as flat. */
export const statementLines = (entries: readonly LedgerEntry[]): string =>
  csvText(
    entries.map(({ batchNo, bookedAt, currency, transactionType, credit, debit, balance }) => [
      batchNo,
      bookedAt,
      currency,
      transactionType,
      credit ?? '',
      debit ?? '',
      balance,
    ]),
  );
