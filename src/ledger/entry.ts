/** The domain's few types: what the ledger holds, free of how the platform or the database spells it. */

/**
 * One booked line of a merchant's account (docs/platform.md 2.1).
 *
 * Amounts are plain decimals without exponent or sign tricks, padded to the currency's minor units and longer only
 * where the platform sent more significant decimals. Exactly one of credit and debit is set; `balance` is the
 * available balance after the entry and may be negative.
 */
export interface LedgerEntry {
  readonly batchNo: string;
  /** ISO 4217 code, or a well-formed code no list knows. */
  readonly currency: string;
  readonly transactionType: string;
  readonly credit: string | null;
  readonly debit: string | null;
  readonly balance: string;
  /** `YYYY-MM-DD HH:mm:ss` in the platform's zone, as the platform sent it. */
  readonly bookedAt: string;
  /** The instant of `bookedAt`, whole seconds in ms since 1970; tells the two passes of a repeated hour apart. */
  readonly bookedMs: number;
}

/** What the platform sent as an entry and cannot be read as one: kept with its raw text and the reason. */
export interface UnreadableEntry {
  /** The entry's JSON exactly as sent. */
  readonly raw: string;
  /** A sentence for a person: which field, what is wrong. */
  readonly reason: string;
  readonly batchNo: string | null;
}

/** One account is one merchant in one currency. */
export interface Account {
  readonly merchantNo: string;
  readonly currency: string;
}

/** A span of instants in ms since 1970, both ends inclusive, as sp2404 takes them (docs/platform.md 4.1). */
export interface Window {
  readonly beginMs: number;
  readonly endMs: number;
}

/** A calendar day `YYYY-MM-DD` in the platform's zone. */
export type BusinessDay = string;

export type Verdict = 'continuous' | 'reordered' | 'broken';
/** What a break comes from, as far as its neighbourhood tells; told as a sentence by `hints.ts`. */
export type BreakHint =
  | 'quarantined-entry'
  | 'quarantined-in-span'
  | 'below-minor-unit'
  | 'same-balance'
  | 'entry-out-of-place'
  | 'entries-trade-places'
  | 'in-another-currency'
  | 'entry-does-not-belong'
  | 'balance-off'
  | 'balances-swapped'
  | 'amounts-swapped'
  | 'offset-by-later-break'
  | 'offsets-earlier-break'
  | 'equals-neighbour'
  | 'twice-neighbour'
  | 'amount-off'
  | 'unexplained';

/** A place where an account's balance does not follow from the entry before it. */
export interface ContinuityBreak {
  /** Last entry before the jump, null where the day's opening itself disagrees with nothing before it. */
  readonly afterBatchNo: string | null;
  readonly beforeBatchNo: string;
  /** Balance the chain had reached. */
  readonly expectedBalance: string;
  /** Balance the next entry starts from. */
  readonly foundBalance: string;
  /** found - expected: the net amount of what is missing. */
  readonly missingNet: string;
  readonly hint: BreakHint;
  /** The entry the hint speaks of, where it speaks of one; the same for all breaks of one cause. */
  readonly hintBatchNo: string | null;
  /** Narrowest span of instants what is missing can lie in. */
  readonly span: Window;
  /** Business day of the entry after the jump. */
  readonly day: BusinessDay;
}

/** One account's figures for one business day: opening + creditTotal - debitTotal = closing, or the day is broken. */
export interface AccountDay {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly opening: string;
  readonly creditTotal: string;
  readonly creditCount: number;
  readonly debitTotal: string;
  readonly debitCount: number;
  readonly closing: string;
  readonly verdict: Verdict;
  /** Every break that has an entry of the day on either side. */
  readonly breakCount: number;
  /** Those of them between an entry of the day and the entry of another day that comes next. */
  readonly breaksAfter: number;
}
