/**
 * What a format of statements is. CSV is the one every statement is published in: it is the file that is proven,
 * compared and searched. The other formats are made from it, when it is published or when somebody downloads it.
 */
import type { Account, BusinessDay, Figures } from '../../ledger/entry.ts';
import type { StatementColumn } from './columns.ts';

/** A row's cells as text, in the order of the columns. Amounts are plain decimals; the absent side is empty. */
export type RowCells = readonly string[];

/** An account's day, as a format gets it. */
export interface StatementDay {
  readonly account: Account;
  readonly day: BusinessDay;
  readonly figures: Figures;
  readonly columns: readonly StatementColumn[];
  /** In the order of the chain, some at a time. They can be read once. */
  readonly rows: AsyncIterable<readonly RowCells[]>;
}

export interface StatementFormat {
  /** What `--format` and manifests call it. */
  readonly name: string;
  /** Ends its files' names: small letters, digits and dots. Not `json`, which ends those of manifests. */
  readonly extension: string;
  /** For browsers that open the file in the store. */
  readonly contentType: string;
  /**
   * Published beside the CSV under the same revision, and listed in the manifest; if false, only made for downloads.
   */
  readonly isPublished: boolean;
  /**
   * The file's bytes: the same for the same day. `write` has to read all rows and to pass on what reading them throws:
   * only at their end is it known that they are those published.
   */
  readonly write: (day: StatementDay) => AsyncIterable<Uint8Array>;
  /** Reads such a file back, so that `verify` can check its rows. Without it, bytes are all that is checked. */
  readonly reader?: StatementReader;
}

export interface StatementReader {
  /** Whether the first row has the names of the columns. */
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

/** The bytes are not a valid file of the format. */
export class UnreadableRows extends Error {
  override readonly name = 'UnreadableRows';
}
