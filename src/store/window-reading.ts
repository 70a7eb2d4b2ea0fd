/** What reading one window of the platform's ledger brought: what the sync hands to the store. */
import type { LedgerEntry, UnreadableEntry, Window } from '../ledger/entry.ts';

export interface WindowReading {
  readonly entries: readonly LedgerEntry[];
  /** What cannot be booked as it came; identical unreadable entries as often as they came. */
  readonly unreadable: readonly UnreadableEntry[];
  /** Records the platform said the window has, without those its neighbours are asked for. */
  readonly total: number;
  readonly requests: number;
  /** Whether total and content agree; the window then proves what is in it and what is not. */
  readonly certified: boolean;
  /** Why it could not be certified, a sentence; null where it was. */
  readonly problem: string | null;
}

export interface WindowToStore {
  readonly merchantNo: string;
  readonly window: Window;
  /** The planned window this is a part of; the window itself where absent. */
  readonly planned?: Window | undefined;
  /** What the platform was asked for: of one currency, nothing is said about the others; null for every one. */
  readonly currency: string | null;
  readonly reading: WindowReading;
  readonly runId: number;
  readonly now: Date;
}

/** What storing it changed. An entry that came back with other content counts as amended and as returned. */
export interface StoredWindow {
  readonly inserted: number;
  readonly amended: number;
  readonly vanished: number;
  readonly returned: number;
  /** Rejected entries seen for the first time, or again after they were gone. */
  readonly quarantined: number;
  readonly unchanged: number;
}
