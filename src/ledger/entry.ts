/** The few types that the entire program is about, independent of how the platform or the database writes them. */

/**
 * One booked line of a merchant's account (docs/platform.md 2.1).
 *
 * Amounts are plain decimals such as `12.30`: no exponent, and at least the currency's minor units. They are longer
 * only where the platform sent more significant decimals. Exactly one of credit and debit is set. `balance` is the
 * available balance after the entry, and may be negative.
 */
export interface LedgerEntry {
  readonly batchNo: string;
  /** ISO 4217 code, or another well-formed code that is not in that list. */
  readonly currency: string;
  readonly transactionType: string;
  readonly credit: string | null;
  readonly debit: string | null;
  readonly balance: string;
  /** `YYYY-MM-DD HH:mm:ss` in the platform's zone, as the platform sent it. */
  readonly bookedAt: string;
  /**
   * The instant of `bookedAt`, full seconds in ms since 1970. Where the clock repeats an hour, it says which of the
   * two is meant.
   */
  readonly bookedMs: number;
}

/** What the platform sent as an entry but cannot be read as one. It is kept with its raw text and the reason. */
export interface UnreadableEntry {
  /** The entry's JSON exactly as sent. */
  readonly raw: string;
  /** A sentence for a person: which field, what is wrong. */
  readonly reason: string;
  readonly batchNo: string | null;
}

/** One merchant in one currency. */
export interface Account {
  readonly merchantNo: string;
  readonly currency: string;
}

/** A span of time in ms since 1970. Both ends are included, as in sp2404 (docs/platform.md 4.1). */
export interface Window {
  readonly beginMs: number;
  readonly endMs: number;
}

/** A calendar day `YYYY-MM-DD` in the platform's zone. */
export type BusinessDay = string;

export type Verdict = 'continuous' | 'reordered' | 'broken';
/** The likely cause of a break, judged by what is around it. `hints/stories.ts` makes sentences of it. */
export type BreakHint =
  | 'vanished-entry'
  | 'vanished-in-span'
  | 'amended-entry'
  | 'amended-in-span'
  | 'several-changes'
  | 'quarantined-entry'
  | 'quarantined-in-span'
  | 'below-minor-unit'
  | 'same-balance'
  | 'balances-before'
  | 'amounts-in-other-unit'
  | 'figures-in-other-unit'
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

/** A place where an entry does not start from the balance that the entry before it ended on. */
export interface ContinuityBreak {
  /** The last entry before the break; null if the day's opening was expected there and no entry is before it. */
  readonly afterBatchNo: string | null;
  readonly beforeBatchNo: string;
  /** The balance that the chain had reached. */
  readonly expectedBalance: string;
  /** The balance that the next entry starts from. */
  readonly foundBalance: string;
  /** found - expected: the net amount that is missing, a credit above zero. */
  readonly missingNet: string;
  readonly hint: BreakHint;
  /** The entry that the hint names, if it names one; the same for all breaks of one cause. */
  readonly hintBatchNo: string | null;
  /** The narrowest span of time in which the missing thing can lie. */
  readonly span: Window;
  /** The business day of the entry after the break. */
  readonly day: BusinessDay;
}

/**
 * One account's figures for one business day. opening + creditTotal - debitTotal = closing, unless the day is broken.
 */
export interface Figures {
  readonly opening: string;
  readonly creditTotal: string;
  readonly creditCount: number;
  readonly debitTotal: string;
  readonly debitCount: number;
  readonly closing: string;
  readonly verdict: Verdict;
  /** All breaks that have an entry of this day on either side. */
  readonly breakCount: number;
  /** How many of them lie between this day's last entry and an entry of another day. */
  readonly breaksAfter: number;
}

/** One account's figures for one business day. */
export interface AccountDay extends Figures {
  readonly currency: string;
  readonly day: BusinessDay;
}

/** Figures as a statement states them. */
export interface StatedFigures extends Figures {
  /** The opening was derived from the first entry: it does not follow from the day before. */
  readonly restarted: boolean;
  /**
   * Other balances that the day may close on just as well: nothing that is known decides. A day without breaks then
   * may open on them, too. Left out if there is none.
   */
  readonly otherClosings?: readonly string[] | undefined;
}
