/** The columns of a statement: each is defined once, with its name, its cell, and whether it is an amount. */
import type { LedgerEntry } from '../../ledger/entry.ts';

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

const AMOUNT = 'in units of the currency';

/** New ones go to the end. CONTRIBUTING.md, "A column of the CSV", has all steps. */
export const STATEMENT_COLUMNS: readonly EntryColumn[] = [
  {
    name: 'batch_no',
    isAmount: false,
    cell: ({ batchNo }) => batchNo,
    meaning: 'the platform’s number of the entry',
  },
  {
    name: 'booked_at',
    isAmount: false,
    cell: ({ bookedAt }) => bookedAt,
    meaning: 'when it was booked, `YYYY-MM-DD HH:mm:ss` of the platform’s zone, as the platform sent it',
  },
  {
    name: 'currency',
    isAmount: false,
    cell: ({ currency }) => currency,
    meaning: 'currency code of the account',
  },
  {
    name: 'transaction_type',
    isAmount: false,
    cell: ({ transactionType }) => transactionType,
    meaning: 'the platform’s code for the kind of entry',
  },
  {
    name: 'credit',
    isAmount: true,
    cell: ({ credit }) => credit ?? '',
    meaning: `amount added, ${AMOUNT}; empty where the entry is a debit`,
  },
  {
    name: 'debit',
    isAmount: true,
    cell: ({ debit }) => debit ?? '',
    meaning: `amount taken away, ${AMOUNT}; empty where the entry is a credit`,
  },
  {
    name: 'balance',
    isAmount: true,
    cell: ({ balance }) => balance,
    meaning: `balance of the account after the entry, ${AMOUNT}`,
  },
];

/** Columns of files that were published before the names of columns were recorded. */
const FIRST_COLUMNS: readonly string[] = [
  ...['batch_no', 'booked_at', 'currency', 'transaction_type'],
  ...['credit', 'debit', 'balance'],
];

/** Names of a published file's columns, in order; null where they were not kept. */
export const columnsOf = (kept: readonly string[] | null | undefined): readonly string[] =>
  kept ?? FIRST_COLUMNS;

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

export interface Places {
  readonly batchNo: number;
  readonly bookedAt: number;
  readonly type: number;
  readonly credit: number;
  readonly debit: number;
  readonly balance: number;
}

export function placesOf(columns: readonly StatementColumn[]): Places {
  const placeOf = (name: string): number => columns.findIndex((column) => column.name === name);
  return {
    batchNo: placeOf('batch_no'),
    bookedAt: placeOf('booked_at'),
    type: placeOf('transaction_type'),
    credit: placeOf('credit'),
    debit: placeOf('debit'),
    balance: placeOf('balance'),
  };
}
