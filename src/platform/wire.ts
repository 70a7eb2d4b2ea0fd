/** The words of the platform's protocol, shared by the client and the sandbox (docs/platform.md 2, 3, 4, 6). */

/**
 * The operations that daybook calls, by the last part of their path (docs/platform.md 4, 9). The document only names
 * some others, without path, payload or reply (docs/platform.md 4.5: sp1102, sp2402, file upload, payments). None of
 * those is called.
 */
export type Operation = 'sp2404' | 'sp2502' | 'sp1101' | 'sp1401';

/** First and last instant that sp2404 accepts: its timestamps have 13 digits (docs/platform.md 4.1, 8). */
export const INSTANT_MS_MIN = 1_000_000_000_000;
export const INSTANT_MS_MAX = 9_999_999_999_999;

/** Most records per page of sp2404 (docs/platform.md 8). */
export const PAGE_SIZE_MAX = 100;

export interface LedgerHistoryRequest {
  /** Unix ms, 13 digits, inclusive. */
  readonly beginDate?: number;
  /** Unix ms, 13 digits, inclusive. */
  readonly endDate?: number;
  readonly batchNo?: string;
  readonly currency?: string;
  /** `1` credit, `2` debit. */
  readonly flowType?: '1' | '2';
  readonly busiType?: string;
  readonly pageNum?: number;
  readonly pageSize?: number;
}

/** The lists sp2502 serves (docs/platform.md 2.2, 4.2). */
export const META_TYPES = ['bank', 'occupation', 'business_nature', 'purpose', 'payout_method'] as const;
export type MetaType = (typeof META_TYPES)[number];

/** The lists that are requested per country (docs/platform.md 4.2). */
export const META_TYPES_BY_COUNTRY: readonly MetaType[] = ['bank', 'payout_method'];

/** Code of the single item that means that the list is empty (docs/platform.md 2.2). */
export const NOTHING_FOUND_CODE = 'ALL0000001';

/** Code of the business nature that asks to enter one's own (docs/platform.md 2.2). */
export const NATURE_PROMPT_CODE = 'OTHER';

/** Reply to an application that was received and awaits review (docs/platform.md 3.2, 4.3). */
export const APPLICATION_ACCEPTED = { status: 'ACCEPT', code: 'S00001' } as const;

/** Code of sp3101 for an approval. Any other code means rejected, or a failure during review (docs/platform.md 6.1). */
export const APPLICATION_APPROVED = 'S00000';
export const APPLICATION_NEEDS_DOCUMENTS = '80000';

/** Under review, rejected, normal (docs/platform.md 3.1). */
export const BENEFICIARY_STATUSES = ['01', '03', '04'] as const;
export type BeneficiaryStatus = (typeof BENEFICIARY_STATUSES)[number];

/** `respCode` of a registration that was accepted for review (docs/platform.md 2.6, 7). */
export const BENEFICIARY_ACCEPTED = 'S00000';
