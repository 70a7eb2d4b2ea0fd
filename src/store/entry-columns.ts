/**
 * The columns of an entry that ledger_entry and ledger_entry_version have in common, and how they become a
 * `LedgerEntry`.
 */
import type { LedgerEntry } from '../ledger/entry.ts';

export interface EntryColumns {
  readonly batch_no: string;
  readonly currency: string;
  readonly transaction_type: string;
  readonly credit: string | null;
  readonly debit: string | null;
  readonly balance: string;
  readonly booked_at: string;
  readonly booked_ms: number;
}

export const ENTRY_COLUMNS = [
  'batch_no',
  'currency',
  'transaction_type',
  'credit',
  'debit',
  'balance',
  'booked_at',
  'booked_ms',
] as const;

/** Makes an entry of a row; other columns of the row are ignored. */
export const entryOf = (row: EntryColumns): LedgerEntry => ({
  batchNo: row.batch_no,
  currency: row.currency,
  transactionType: row.transaction_type,
  credit: row.credit,
  debit: row.debit,
  balance: row.balance,
  bookedAt: row.booked_at,
  bookedMs: row.booked_ms,
});
