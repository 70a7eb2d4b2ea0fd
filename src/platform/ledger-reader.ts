/** What the other rooms know of sp2404: one page of one merchant's ledger, already read and checked. */
import type { LedgerEntry, UnreadableEntry, Window } from '../ledger/entry.ts';
import type { ClockReading } from './clock-reading.ts';

/** What authenticates a merchant's calls (docs/platform.md 5). */
export interface MerchantAccess {
  readonly merchantNo: string;
  readonly token: string;
}

export interface LedgerPageQuery {
  readonly merchant: MerchantAccess;
  readonly window: Window;
  /** Tells which of two instants a time of a repeated hour means, where that is not the window asked for. */
  readonly bookedWithin?: Window;
  /** From 1. */
  readonly pageNum: number;
  readonly currency?: string;
  readonly batchNo?: string;
  /** Others wait for it: sent before the merchant's other calls. */
  readonly isUrgent?: boolean;
}

export interface LedgerPage {
  /** Records the platform says match the whole query. */
  readonly total: number;
  readonly entries: readonly LedgerEntry[];
  readonly unreadable: readonly UnreadableEntry[];
  /** Sentences about entries kept but odd: too many decimals, a code no list knows. */
  readonly notices: readonly string[];
  /** How the platform's clock stood to ours; absent where the reply did not tell. */
  readonly clock?: ClockReading;
}

/**
 * Reads pages of 100. Rejects with `PlatformUnreachable`, `PlatformRejected` or `PlatformReplyInvalid` once bounded
 * retries are used up, and with the signal's reason when aborted.
 */
export interface LedgerReader {
  readonly page: (query: LedgerPageQuery, signal?: AbortSignal) => Promise<LedgerPage>;
}
