/** What a merchant's own books hold, and how their entries are matched with those of the ledger. */
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import type { MATCH_RULES } from '../../ledger/own-books.ts';

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

/** A rule by which entries are matched, in the order in which rules are tried. */
export type MatchRule = (typeof MATCH_RULES)[number];

/**
 * What made a match: a rule, or a person (`audit_event_id` is not null). The entries of a person's match are taken out before the
 * first rule. `apart`: a person took a rule's match back, so its entries stay open and rules leave them to people; it is stored
 * with `waits_for_approval`, as all matches are whose entries still count as unmatched.
 */
export type MatchOrigin = MatchRule | 'by-hand' | 'write-off' | 'apart';

/** How a merchant's books are matched. */
export interface MatchRules {
  /** Rules that are in use. They are tried in the order of `MatchRule`. */
  readonly rules: readonly MatchRule[];
  /** Most days between two entries of one match, for `near-day`, `sum` and `tolerance`. */
  readonly days: number;
  /** Most entries of the many in `sum`. */
  readonly sumEntriesMax: number;
  /** By currency: the largest difference, in units of the currency, that a match may leave, and its type, for example `fee`. */
  readonly tolerances: ReadonlyMap<string, { readonly max: string; readonly type: string }>;
}

/** One entry of either side, as proposals and lists of open entries show it. */
export interface MatchEntry {
  readonly side: 'ledger' | 'book';
  /** The batch number, or the book's own number. */
  readonly number: string;
  /** The book; null on the side of the ledger. */
  readonly book: string | null;
  readonly day: BusinessDay;
  /** A credit above zero, a debit below. */
  readonly amount: string;
  readonly reference: string;
  readonly type: string;
}

/** Entries that may be one and the same, where more than one answer is possible or a person has to decide. */
export interface Proposal extends Account {
  /** The rule that found it. */
  readonly rule: MatchRule;
  /** Why it is not matched, as a sentence. */
  readonly reason: string;
  /** The entries of the ledger and of own books that belong to one decision. */
  readonly entries: readonly MatchEntry[];
  /** Possible answers, each a subset of the entries of both sides; the likeliest first; bounded. */
  readonly candidates: readonly (readonly MatchEntry[])[];
}
