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

/** The query for a page of a window: without a currency where it is asked for all of them. */
export const pageQuery = (
  merchant: MerchantAccess,
  { window, currency }: Asked,
  pageNum: number,
): LedgerPageQuery => ({ merchant, window, pageNum, ...(currency === null ? {} : { currency }) });

/** Whether the platform answered, and did not want to or could not say what was asked. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof PlatformRejected || error instanceof PlatformReplyInvalid;

export const spanText = ({ window, currency }: Asked): string => {
  const [begin, end] = [window.beginMs, window.endMs].map((ms) => new Date(ms).toISOString());
  return `the window ${String(begin)} to ${String(end)}${currency === null ? '' : ` in ${currency}`}`;
};
