/** Reads and checks one page of one merchant's ledger: all that the other modules need to know of sp2404. */
import type { LedgerEntry, UnreadableEntry, Window } from '../ledger/entry.ts';
import type { ClockReading } from './attempt.ts';

/** What authenticates a merchant's calls (docs/platform.md 5). */
export interface MerchantAccess {
  readonly merchantNo: string;
  readonly token: string;
}

export interface LedgerPageQuery {
  readonly merchant: MerchantAccess;
  readonly window: Window;
  /** Decides which instant is meant when the clock repeats an hour. Without it the window asked for decides. */
  readonly bookedWithin?: Window;
  /** The first page is 1. */
  readonly pageNum: number;
  readonly currency?: string;
  readonly batchNo?: string;
  /** The page after the last one: some platforms answer with another page. Any is read, and the caller compares its entries. */
  readonly isBeyondLast?: boolean;
  /** Other calls of the merchant wait for this one, so it is sent before them. */
  readonly isUrgent?: boolean;
}

/** A field next to the page, with its value as text. */
export interface ExtraField {
  readonly name: string;
  readonly value: string;
}

export interface PageExtras {
  readonly fields: readonly ExtraField[];
  /** A code, status or flag says yes: see `refusalIn`. */
  readonly saysYes: boolean;
}

export interface LedgerPage {
  /** How many records match the complete query, as the platform says. */
  readonly total: number;
  readonly entries: readonly LedgerEntry[];
  readonly unreadable: readonly UnreadableEntry[];
  /**
   * How many entries the page holds, where its own `pageSize` says that it holds no more, and more were asked for: the
   * platform's limit, or only the count. Left out otherwise.
   */
  readonly fullAt?: number;
  /** What an empty page carried next to its own fields, if that may say no: it is not believed by itself. */
  readonly extras?: PageExtras;
  /** Sentences about oddities of accepted entries: too many decimals, an unknown code. */
  readonly notices: readonly string[];
  /** How far the platform's clock is ahead of ours; missing if the reply did not show it. */
  readonly clock?: ClockReading;
}

/**
 * Reads pages of 100. Rejects with `PlatformUnreachable`, `PlatformRejected` or `PlatformReplyInvalid` after a
 * limited number of retries, and with the signal's reason when aborted.
 */
export interface LedgerReader {
  readonly page: (query: LedgerPageQuery, signal?: AbortSignal) => Promise<LedgerPage>;
}
