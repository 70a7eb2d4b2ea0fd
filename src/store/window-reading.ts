/** The types of what reading one window of the ledger brought, which the sync hands to the store. */
import type { LedgerEntry, UnreadableEntry, Window } from '../ledger/entry.ts';

export interface WindowReading {
  readonly entries: readonly LedgerEntry[];
  /** What came and cannot be booked. Identical ones appear as often as they came. */
  readonly unreadable: readonly UnreadableEntry[];
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
  readonly currency: string | null;
  readonly reading: WindowReading;
  readonly runId: number;
  readonly now: Date;
}

/** A certified reading of several planned windows at once, without unreadable entries. */
export interface WideToStore extends Omit<WindowToStore, 'window' | 'planned'> {
  /** The planned windows that were read, in order. Each is stored and judged by itself. */
  readonly planned: readonly Window[];
}

/** Cuts a wide reading into one for each planned window. Each keeps the number of calls that it was read with. */
export function cutAtPlanned({ planned, ...wide }: WideToStore): WindowToStore[] {
  const { reading } = wide;
  return planned.map((window) => {
    const entries = reading.entries.filter(
      ({ bookedMs }) => bookedMs >= window.beginMs && bookedMs <= window.endMs,
    );
    return { ...wide, window, reading: { ...reading, entries, total: entries.length } };
  });
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

export const NOTHING_CHANGED: StoredWindow = {
  inserted: 0,
  amended: 0,
  vanished: 0,
  returned: 0,
  quarantined: 0,
  unchanged: 0,
};
