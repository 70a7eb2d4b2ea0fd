/** The platform's own words on the wire, shared by the client and the sandbox (platform-api.md 2.1, 4.1). */

/** sp2404 accepts at most this many records a page (platform-api.md 8). */
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

/** Field names of a ledger entry (CurFlowRes) in a reply. */
export const ENTRY_FIELDS = [
  'batchNo',
  'currency',
  'busiType',
  'inAmount',
  'outAmount',
  'vailAmount',
  'busiDate',
] as const;
