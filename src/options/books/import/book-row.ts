import type { BusinessDay } from '../../../ledger/entry.ts';

/** An entry of a merchant's own book, as it was read. Amounts are exact decimals in units of the currency. */
export interface BookRow {
  /** The book's own number of the entry, unique in the book. */
  readonly number: string;
  readonly currency: string;
  /** The business day in the platform's zone. */
  readonly day: BusinessDay;
  /** The instant, ISO 8601 in UTC; null where the book names the day alone. */
  readonly bookedAt: string | null;
  /** A credit of the account above zero, a debit below. */
  readonly amount: string;
  readonly reference: string;
  /** The parts of the reference that may be a batch number, in order, each once. */
  readonly referenceKeys: readonly string[];
  readonly type: string;
  readonly note: string;
}
