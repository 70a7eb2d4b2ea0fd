/** The types of what reading one window of the ledger brought, which the sync hands to the store. */
import type { LedgerEntry, RejectedEntry, Window } from '../ledger/entry.ts';

export interface WindowReading {
  readonly entries: readonly LedgerEntry[];
  /** What came and cannot be booked. Identical ones appear as often as they came. */
  readonly rejected: readonly RejectedEntry[];
  /** How many records the platform says the window has, less those that belong to neighbouring windows. */
  readonly total: number;
  readonly requests: number;
  /** Whether total and content agree. The window then proves what is in it and what is not. */
  readonly certified: boolean;
  /** A sentence that says why it could not be certified; null if it was. */
  readonly problem: string | null;
}

export interface WindowToStore {
  readonly merchantNo: string;
  readonly window: Window;
  /** The planned window that this window is a part of. If left out, the window itself. */
  readonly planned?: Window | undefined;
  /** Set if only one currency was asked for. The reading then says nothing about the others. */
  readonly currency?: string | undefined;
  readonly reading: WindowReading;
  readonly runId: number;
  readonly now: Date;
}

/** What storing a reading changed. An entry that came back with other content counts as amended and as returned. */
export interface StoredWindow {
  readonly inserted: number;
  readonly amended: number;
  readonly vanished: number;
  readonly returned: number;
  /** Rejected entries that are new or have come back. */
  readonly quarantined: number;
  readonly unchanged: number;
}
