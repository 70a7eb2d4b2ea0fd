/**
 * What a format of statements is, and the columns that its rows have. CSV is the one every statement is published in: it
 * is the file that is proven, compared and searched. The other formats are made from it, when it is published or when
 * somebody downloads it.
 */
import type { Kysely } from 'kysely';
import type { PackageUse } from '../../host/packages.ts';
import type { Chosen } from '../../ledger/account-filter.ts';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import type { Account, BusinessDay, LedgerEntry, StatedFigures } from '../../ledger/entry.ts';
import type { MerchantNames } from '../../ledger/names.ts';
import type { ObjectStore } from '../../objects/object-store.ts';
import type { DB } from '../../store/engine/schema.ts';
import type { RowCells } from '../../verify/csv.ts';
import { columnsOf, type ReadableFormat } from '../../verify/formats.ts';

/** A row's cells by column. */
export type Cells = Readonly<Record<string, string>>;

export interface RowDifference {
  readonly batchNo: string;
  readonly before: Cells | null;
  readonly after: Cells | null;
  readonly changed: readonly string[];
}

/** The lines that show it: the row before and after, or the one that went or came. */
export const linesOfChange = ({
  before,
  after,
}: RowDifference): (readonly [what: string, cells: Cells])[] => [
  ...(before === null ? [] : [[after === null ? 'went' : 'before', before] as const]),
  ...(after === null ? [] : [[before === null ? 'came' : 'after', after] as const]),
];

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

/** What a file of an account's month is made of. */
export interface StatementMonth {
  /** `2026-03`. */
  readonly name: string;
  /** The days with a statement, in order; at least one. */
  readonly days: readonly { readonly day: BusinessDay; readonly revision: number }[];
}

export interface StatementDay {
  readonly account: Account;
  readonly day: BusinessDay;
  /** IANA zone of the day and of `booked_at`, as the day's manifest names it; null where that is not known. */
  readonly zone: string | null;
  readonly published: PublishedRevision;
  readonly earlier: readonly PublishedRevision[];
  /** As people call the merchant and its accounts now, for downloads alone: what is published has to be made again as it was. */
  readonly names?: MerchantNames | undefined;
  /** The code of ISO 4217 that formats of banks write for the account's own, which ISO does not have; left out where it has it. */
  readonly isoCurrency?: string | undefined;
  /**
   * Where it is not the day but what changed in it: the revision since which, 0 for none. The figures are then those of the
   * changes, from the closing of that revision to the one of `published`, and the last column is `CHANGE_COLUMN`.
   */
  readonly since?: number;
  /**
   * Where it is a month of the account: `day` is then its last day, `published` has the figures of all days, and as its revision the
   * sum of theirs, which grows with each new statement.
   */
  readonly month?: StatementMonth;
  /** What it changed in the one before; null where that file cannot be read. */
  readonly changes: () => Promise<Changes | null>;
  readonly columns: readonly StatementColumn[];
  /** In the order of the chain, some at a time. They can be read once. */
  readonly rows: AsyncIterable<readonly RowCells[]>;
}

export interface StatementFormat extends ReadableFormat {
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
  /** What its writer needs that is not installed with daybook; left out where it needs nothing. */
  readonly packages?: PackageUse;
  /** If true, `write` takes another code for a currency that ISO 4217 does not have. */
  readonly writesIsoCurrency?: true;
  /** Those codes, by the account's currency: `formatWith` sets them. */
  readonly isoCurrencies?: Readonly<Record<string, string>>;
  /** If true, `write` can be given what changed since a revision, and marks reversals as its readers expect. */
  readonly holdsChanges?: true;
  /** If true, `write` can be given a month of an account. */
  readonly holdsMonth?: true;
  /** Makes the overview of a merchant's month, which goes before its statements; null where nothing was published. */
  readonly month?: (db: Kysely<DB>, asked: MonthAsked) => Promise<AsyncIterable<Uint8Array> | null>;
}

/** A merchant's month as one file with all of its accounts, made for a download. */
export interface MonthFormat extends Pick<StatementFormat, 'name' | 'extension' | 'contentType'> {
  /** Null where nothing was published. Its bytes fail with what reading a statement throws. */
  readonly make: (
    sources: { readonly db: Kysely<DB>; readonly objects: ObjectStore },
    asked: MonthAsked,
  ) => Promise<AsyncIterable<Uint8Array> | null>;
}

export interface MonthAsked {
  readonly merchantNo: string;
  /** `2026-03`. */
  readonly month: string;
  readonly currencies: Chosen;
  readonly now: () => Date;
}

/** A day does not fit into a format: too many entries, or too long an amount. The CSV holds every day. */
export class FormatTooSmall extends ExpectedError {
  override readonly name = 'FormatTooSmall';
  readonly exitCode = EXIT.usage;
  /** `why`: the end of a sentence that begins with the statement and the format. */
  constructor(
    { account, day, month }: Pick<StatementDay, 'account' | 'day' | 'month'>,
    format: string,
    why: string,
  ) {
    super(
      `the statement of ${account.merchantNo} in ${account.currency} for ${month?.name ?? day} cannot be written as ${format}: ${why}. ` +
        'Take the CSV, which holds every day.',
    );
  }
}

export interface StatementColumn {
  readonly name: string;
  readonly isAmount: boolean;
}

export interface EntryColumn extends StatementColumn {
  /** The entry's cell, as text. The same entry gives the same cell, whenever it is asked. */
  readonly cell: (entry: LedgerEntry) => string;
  /** What it holds, for the reader of docs/reference/files.md. */
  readonly meaning: string;
}

const UNIT = 'in units of the currency';

function column(name: string, meaning: string, cell: EntryColumn['cell']): EntryColumn {
  return { name, isAmount: false, cell, meaning };
}

function amount(name: string, meaning: string, cell: EntryColumn['cell']): EntryColumn {
  return { name, isAmount: true, cell, meaning };
}

/** New ones go to the end. CONTRIBUTING.md, "A column of the CSV", has all steps. */
export const STATEMENT_COLUMNS: readonly EntryColumn[] = [
  column('batch_no', 'the platform’s number of the entry', ({ batchNo }) => batchNo),
  column(
    'booked_at',
    'when it was booked, `YYYY-MM-DD HH:mm:ss` of the platform’s zone, as the platform sent it',
    ({ bookedAt }) => bookedAt,
  ),
  column('currency', 'currency code of the account', ({ currency }) => currency),
  column('transaction_type', 'the platform’s code for the kind of entry', (entry) => entry.transactionType),
  amount('credit', `amount added, ${UNIT}; empty where the entry is a debit`, (entry) => entry.credit ?? ''),
  amount(
    'debit',
    `amount taken away, ${UNIT}; empty where the entry is a credit`,
    (entry) => entry.debit ?? '',
  ),
  amount('balance', `balance of the account after the entry, ${UNIT}`, ({ balance }) => balance),
];

/** With which a statement's bytes can be made again. `kept` are their names as its row has them; null if one is not `known`. */
export function columnsOfStatement(
  kept: string | null,
  known: readonly EntryColumn[],
): readonly EntryColumn[] | null {
  const columns = columnsOf(kept?.split(',')).map((name) => known.find((column) => column.name === name));
  return columns.every((column) => column !== undefined) ? columns : null;
}

export const columnsNamed = (
  names: readonly string[],
  known: readonly StatementColumn[],
): readonly StatementColumn[] =>
  names.map((name) => known.find((column) => column.name === name) ?? { name, isAmount: false });

/** Says of each row in a file of changes which of both it is. */
export const CHANGE_COLUMN: StatementColumn = { name: 'change', isAmount: false };
export const ADDED = 'added';
export const REVERSED = 'reversed';

const PLACES = {
  ...{ batchNo: 'batch_no', bookedAt: 'booked_at', type: 'transaction_type' },
  ...{ credit: 'credit', debit: 'debit', balance: 'balance', change: CHANGE_COLUMN.name },
} as const;

export type Places = Readonly<Record<keyof typeof PLACES, number>>;

export function placesOf(columns: readonly StatementColumn[]): Places {
  const names = columns.map(({ name }) => name);
  const places = Object.entries(PLACES).map(([place, name]) => [place, names.indexOf(name)]);
  return Object.fromEntries(places) as Places;
}
