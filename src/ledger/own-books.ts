/** Merchants' own books, as settings, options and reports know them: the rules of matching, and its figures. */
import type { Account, BusinessDay } from './entry.ts';

/** The rules by which entries of own books are matched with the ledger's, in the order in which they are tried. */
export const MATCH_RULES = ['reference', 'same-day', 'near-day', 'sum', 'tolerance'] as const;

/** How much of an account is unmatched between the ledger and own books. */
export interface UnmatchedCount extends Account {
  /** Entries that only the ledger has. */
  readonly ledger: number;
  /** Entries that only own books have. */
  readonly book: number;
  /** The earliest day of these; null where there is none. */
  readonly oldest: BusinessDay | null;
  /** Matches that wait for approval. */
  readonly waiting: number;
  /** Whether own books changed since they were matched. */
  readonly isChanged: boolean;
}

/**
 * What the ledger and own books add up to, from the first entry to the end of the day:
 * `ledger - book = onlyThere - onlyHere + difference`. Amounts are exact, in units of the currency.
 */
export interface BookFigures {
  readonly day: BusinessDay;
  readonly ledger: string;
  readonly book: string;
  /** What the ledger's entries of complete matches add up to. */
  readonly matched: string;
  /** Entries that only the ledger has, so far. */
  readonly onlyThere: string;
  /** Entries that only own books have, so far. */
  readonly onlyHere: string;
  /** Differences of matches within their tolerance, and what people wrote off. */
  readonly difference: string;
}
