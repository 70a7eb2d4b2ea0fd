/**
 * What a format of statements is. CSV is the one every statement is published in: it is the file that is proven,
 * compared and searched. The other formats are made from it, when it is published or when somebody downloads it.
 */
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import type { Account, BusinessDay, StatedFigures } from '../../ledger/entry.ts';
import type { StatementColumn } from './columns.ts';

/** A row's cells as text, in the order of the columns. Amounts are plain decimals; the absent side is empty. */
export type RowCells = readonly string[];

/** A row's cells by column. */
export type Cells = Readonly<Record<string, string>>;

export interface RowDifference {
  readonly batchNo: string;
  readonly before: Cells | null;
  readonly after: Cells | null;
  readonly changed: readonly string[];
}

export interface PublishedRevision {
  readonly revision: number;
  readonly publishedAt: Date;
  readonly figures: StatedFigures;
  /** How many entries that may be of the day had come and could not be read; the figures lack what they say. */
  readonly unreadable: number;
  /** Why it replaced the one before; null for the first. */
  readonly reason: string | null;
  readonly file: string;
  readonly sha256: string;
}

export interface Changes {
  readonly rows: readonly RowDifference[];
  readonly more: number;
}

export interface StatementDay {
  readonly account: Account;
  readonly day: BusinessDay;
  /** IANA zone of the day and of `booked_at`, as the day's manifest names it; null where that is not known. */
  readonly zone: string | null;
  readonly published: PublishedRevision;
  readonly earlier: readonly PublishedRevision[];
  /** What it changed in the one before; null where that file cannot be read. */
  readonly changes: () => Promise<Changes | null>;
  readonly columns: readonly StatementColumn[];
  /** In the order of the chain, some at a time. They can be read once. */
  readonly rows: AsyncIterable<readonly RowCells[]>;
}

export interface StatementFormat {
  readonly name: string;
  /** Ends its files' names: small letters, digits and dots. Not `json`, which ends those of manifests. */
  readonly extension: string;
  readonly contentType: string;
  /**
   * Whether DAYBOOK_STATEMENT_FORMATS may name it, to have it published next to the CSV under the same revision and
   * listed in the manifest. If false, it is only made for downloads.
   */
  readonly canBePublished: boolean;
  /** If true, `write` never throws `FormatTooSmall`, so that no day has to be tried before it is sent. */
  readonly holdsEveryDay?: true;
  /**
   * The file's bytes: the same for the same day. `write` has to read all rows and to pass on what reading them throws:
   * only at their end is it known that they are those published. Throws `FormatTooSmall` for a day that the format
   * cannot hold.
   */
  readonly write: (day: StatementDay) => AsyncIterable<Uint8Array>;
  /** Reads such a file back, so that `verify` can check its rows. Without it, bytes are all that is checked. */
  readonly reader?: StatementReader;
}

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

export class UnreadableRows extends Error {
  override readonly name = 'UnreadableRows';
}

/** A day does not fit into a format: too many entries, or too long an amount. The CSV holds every day. */
export class FormatTooSmall extends ExpectedError {
  override readonly name = 'FormatTooSmall';
  readonly exitCode = EXIT.usage;
  /** `why`: the end of a sentence that begins with the statement and the format. */
  constructor({ account, day }: Pick<StatementDay, 'account' | 'day'>, format: string, why: string) {
    super(
      `the statement of ${account.merchantNo} in ${account.currency} for ${day} cannot be written as ${format}: ${why}. ` +
        'Take the CSV, which holds every day.',
    );
  }
}
