/** The forms in which statements are published or made for a download, as far as whoever checks them knows them. */
import { csvRows, type RowCells } from './csv.ts';

export interface StatementReader {
  readonly hasHeader: boolean;
  /**
   * Rows of a file, some at a time, the header included; the bytes are read to their end. `columns` are those the file was
   * published with. Throws `UnreadableRows`, and what reading the bytes throws.
   */
  readonly rows: (
    bytes: AsyncIterable<Uint8Array>,
    columns: readonly string[],
  ) => AsyncIterable<readonly RowCells[]>;
}

export interface ReadableFormat {
  readonly name: string;
  /** Ends its files' names: small letters, digits and dots. Not `json`, which ends those of manifests. */
  readonly extension: string;
  /** Reads such a file back, so that its rows can be checked. Without it, bytes are all that is checked. */
  readonly reader?: StatementReader;
}

export const CSV = {
  name: 'csv',
  extension: 'csv',
  reader: { hasHeader: true, rows: (bytes: AsyncIterable<Uint8Array>) => csvRows(bytes) },
} as const satisfies ReadableFormat;

/** Formats next to the CSV, whichever of them this installation can write. */
export const OTHER_FORMATS = {
  spreadsheet: { name: 'spreadsheet', extension: 'spreadsheet.csv' },
  xlsx: { name: 'xlsx', extension: 'xlsx' },
  camt053: { name: 'camt053', extension: 'camt053.xml' },
  mt940: { name: 'mt940', extension: 'mt940' },
  pdf: { name: 'pdf', extension: 'pdf' },
} as const satisfies Readonly<Record<string, ReadableFormat>>;

export const READABLE_FORMATS: readonly ReadableFormat[] = [CSV, ...Object.values(OTHER_FORMATS)];

/** Columns of files that were published before the names of columns were recorded. */
const FIRST_COLUMNS: readonly string[] = [
  ...['batch_no', 'booked_at', 'currency', 'transaction_type'],
  ...['credit', 'debit', 'balance'],
];

/** Names of a published file's columns, in order; null where they were not kept. */
export const columnsOf = (kept: readonly string[] | null | undefined): readonly string[] =>
  kept ?? FIRST_COLUMNS;
