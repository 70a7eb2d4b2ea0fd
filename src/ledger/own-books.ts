/** Merchants' own books, as settings, options and reports know them: the rules of matching, and its figures. */
import type { AccountFilter } from './account-filter.ts';
import type { Account, BusinessDay } from './entry.ts';
import { addAmounts, subtractAmounts } from './money.ts';

/** The rules by which entries of own books are matched with the ledger's, in the order in which they are tried. */
export const MATCH_RULES = ['reference', 'same-time', 'same-day', 'near-day', 'sum', 'tolerance'] as const;

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

/** The figures in the order of reports, by their names in files. */
export const BOOK_FIGURES = {
  ledger: 'ledger',
  own_books: 'book',
  matched: 'matched',
  only_in_ledger: 'onlyThere',
  only_in_own_books: 'onlyHere',
  differences: 'difference',
} as const satisfies Readonly<Record<string, keyof BookFigures>>;

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

/** What entries add up to on each side, and the ledger's sum less the book's. */
export function sumsOfSides(entries: readonly Pick<MatchEntry, 'side' | 'amount'>[]) {
  const sumOf = (side: MatchEntry['side']): string =>
    entries.reduce((sum, one) => (one.side === side ? addAmounts(sum, one.amount) : sum), '0');
  const [ledger, book] = [sumOf('ledger'), sumOf('book')];
  return { ledger, book, difference: subtractAmounts(ledger, book) };
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

/** An entry that counts as unmatched. */
export interface OpenEntry extends MatchEntry, Account {
  /** From its day to today. */
  readonly ageDays: number;
  /** The person who is responsible for it; null if no one said so. */
  readonly owner: string | null;
  readonly dueOn: BusinessDay | null;
  /** The match that waits for approval, or that a person took back. */
  readonly matchId: number | null;
  readonly matchRule: string | null;
  /** Where it stands in the list. */
  readonly place: string;
}

export interface OpenFilter extends AccountFilter {
  readonly side?: MatchEntry['side'] | undefined;
  readonly from?: BusinessDay | undefined;
  readonly to?: BusinessDay | undefined;
  /** Only entries that are older than so many days. */
  readonly olderThan?: number | undefined;
  readonly limit?: number | undefined;
  /** Only entries behind this place. */
  readonly after?: string | undefined;
}

/** A possible answer of a proposal. */
export interface Answer {
  /** Currency, day of the first entry, and a fingerprint of the entries. */
  readonly id: string;
  readonly entries: readonly MatchEntry[];
}

export interface Proposed extends Omit<Proposal, 'candidates'> {
  readonly answers: readonly Answer[];
}

/** Whose proposals are asked for. */
export interface ProposedAsked {
  readonly merchantNo: string;
  /** Null for each of the merchant. */
  readonly currency: string | null;
  /** Days of the entries; left out: all with unmatched ones, up to today. */
  readonly from?: BusinessDay | undefined;
  readonly to?: BusinessDay | undefined;
  readonly rules: MatchRules;
  readonly today: BusinessDay;
}

/** Entries as people name them: by batch number, and by the book's own number. */
export interface Named {
  readonly ledger: readonly string[];
  /** `book`: null where the number is in one book alone. */
  readonly own: readonly { readonly book: string | null; readonly number: string }[];
}

/**
 * What a person decides about entries of a merchant: to match an answer of a proposal, to match or write off named entries, to take
 * a match back, to approve another person's, or who is responsible. `type`: what the difference of the sums is.
 */
export type Decision =
  | {
      readonly step: 'accept';
      readonly merchantNo: string;
      readonly answer: string;
      readonly type: string | null;
    }
  | {
      readonly step: 'match' | 'writeoff';
      readonly merchantNo: string;
      readonly entries: Named;
      readonly type: string | null;
    }
  | {
      readonly step: 'assign';
      readonly merchantNo: string;
      readonly entries: Named;
      /** Null for the person who decides. */
      readonly to: string | null;
      readonly due: string | null;
    }
  /** `merchantNo`: null for a match of any merchant. */
  | {
      readonly step: 'undo' | 'approve';
      readonly merchantNo: string | null;
      readonly id: number;
      /** The decision that the person saw (`decidedIn` of a match): another one refuses. Null for whatever it is now. */
      readonly seen?: number | null;
    };

/** A match of a rule or of a person. */
export interface DecidedMatch extends Account {
  readonly id: number;
  readonly rule: MatchOrigin;
  /** The ledger's sum less the book's. */
  readonly difference: string;
  readonly differenceType: string | null;
  readonly waitsForApproval: boolean;
  /** Who made it; null where a rule did. */
  readonly by: string | null;
  readonly note: string | null;
  /** Whether a second person approved it. */
  readonly isApproved: boolean;
  /** Who wants to take back what was approved, and why: it stays until another person approves that. Null where no one does. */
  readonly undoBy: string | null;
  readonly undoNote: string | null;
  /** The audit event of the last decision about it. Null where a rule made it. */
  readonly decidedIn: number | null;
}

/** What came of a decision. */
export interface Decided {
  /** Null where the match is no more, or entries were assigned. */
  readonly match: DecidedMatch | null;
  /** How many entries were named. */
  readonly entries: number;
}

/** A match as a list shows it. */
export interface ListedMatch extends DecidedMatch {
  readonly entries: readonly Pick<MatchEntry, 'side' | 'number' | 'book' | 'day' | 'amount'>[];
}

/**
 * The variables of the environment that a mapping may name as the address of the database of a book. No other: a mapping could send
 * what is in another variable to a server of its own choice.
 */
export const BOOK_CONNECTION = /^DAYBOOK_BOOKS_[A-Z0-9_]+_URL$/;
export const BOOK_CONNECTION_RULE =
  'names a variable of the environment that begins with DAYBOOK_BOOKS_ and ends with _URL, like DAYBOOK_BOOKS_ERP_URL';
