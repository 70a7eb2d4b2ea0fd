/** Where the pages of a window come from while it is read, and what their reading shares. */
import { PlatformRejected, PlatformReplyInvalid } from '../platform/errors.ts';
import type { LedgerPage, LedgerPageQuery, MerchantAccess } from '../platform/ledger-reader.ts';
import type { Asked } from './certificate.ts';
import type { ReadingWork } from './reading-work.ts';

export interface PageSource {
  /** `isBeyondLast`: the page after the last, in whose place the last may come again. */
  readonly page: (asked: Asked, pageNum: number, isBeyondLast?: boolean) => Promise<LedgerPage>;
  /** Waits until so many more pages may be in memory; later calls for the same window do nothing. */
  readonly holdPages: (pages: number) => Promise<void>;
  /** Called at once for the first page of each reading, so that the zone is proven while other pages are read. */
  readonly onFirstPage: (page: LedgerPage, asked: Asked) => void;
  readonly onContradiction: (problem: string) => void;
  readonly work: ReadingWork;
  /** Whether an empty page is believed, see `createDoubtOfEmpty`. Throws `PlatformRejected` if it is a refusal. */
  readonly isEmptyBelieved: (asked: Asked, page: LedgerPage) => Promise<boolean>;
}

/** The query for a page of a window; of one account where its currency is given. */
export const pageQuery = (
  merchant: MerchantAccess,
  { window, currency = null }: AccountAsked,
  pageNum: number,
): LedgerPageQuery => ({ merchant, window, pageNum, ...(currency !== null && { currency }) });

/** What is asked to learn of one account; nothing of it is stored. */
export interface AccountAsked extends Asked {
  readonly currency?: string | null;
}

/** Whether the platform answered, and did not want to or could not say what was asked. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof PlatformRejected || error instanceof PlatformReplyInvalid;

export const spanText = ({ window }: Asked): string => {
  const [begin, end] = [window.beginMs, window.endMs].map((ms) => new Date(ms).toISOString());
  return `the window ${String(begin)} to ${String(end)}`;
};
