/**
 * Empty windows wait for the zone's proof: a certificate is a row too, and nothing came with it that proves anything. One
 * in which entries are stored is what a zone that changed looks like as well, so without a proof those stay as they are.
 */
import type { Kysely } from 'kysely';
import { newestEntryIn, windowsHolding } from '../store/entries.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import type { DB } from '../store/engine/schema.ts';
import type { Asked } from './certificate.ts';
import { spanText, type NotedReading } from './certify.ts';
import type { UncertifiedSpan } from './store-readings.ts';
import { TimeZoneUnproven, type Probe } from './time-zone-proof.ts';
import type { ZoneGate } from './zone-gate.ts';

/** Two zones are at most so far apart. */
const OFFSETS_MS = 28 * 3_600_000;

interface Waiting {
  readonly part: Asked;
  readonly read: NotedReading;
}

export interface EmptyWindowsOptions {
  readonly db: Kysely<DB>;
  readonly merchantNo: string;
  readonly zoneGate: ZoneGate;
  readonly probe: Probe;
  readonly store: (part: Asked, read: NotedReading) => Promise<void>;
}

export interface EmptyWindows {
  /** Stores a reading, or lets it wait. */
  readonly take: (part: Asked, read: NotedReading) => Promise<void>;
  /** The zone is proven: stores what waits, and lets the rest through from now on. */
  readonly release: () => Promise<void>;
  /**
   * The end, without a proof so far: stores what waits but for windows in which entries are stored and which a wrong zone
   * may be the reason for. With `mayAsk` false the platform is not asked about that. Returns what is left as it is. Throws `TimeZoneWrong`, or what the probe fails with.
   */
  readonly settle: (mayAsk: boolean) => Promise<readonly UncertifiedSpan[]>;
}

export function createEmptyWindows(options: EmptyWindowsOptions): EmptyWindows {
  const { db, merchantNo, zoneGate, probe, store } = options;
  let waiting: Waiting[] | null = [];

  const release = async (): Promise<void> => {
    const held = waiting ?? [];
    waiting = null;
    await Promise.all(held.map(({ part, read }) => store(part, read)));
  };

  /**
   * Whether a zone that is wrong is not why nothing came: the newest entry stored there, or the newest one before, proves
   * the zone; or the platform does not have the entry at any time a zone could mean.
   */
  const isNoZone = async (spans: readonly Asked[]): Promise<boolean> => {
    const windows = spans.map(({ window }) => window);
    const beginMs = Math.min(...windows.map((window) => window.beginMs));
    const endMs = Math.max(...windows.map((window) => window.endMs));
    const found = await Promise.all([
      newestEntryIn(db, merchantNo, { beginMs, endMs }),
      newestEntryIn(db, merchantNo, { beginMs: 0, endMs: beginMs - 1 }),
    ]);
    const entries = found.flatMap((entry) => entry ?? []);
    try {
      await zoneGate.prove(asStored(probe, entries), entries);
      return true;
    } catch (error) {
      if (!(error instanceof TimeZoneUnproven)) throw error;
      const [{ batchNo, bookedMs }] = entries as [LedgerEntry];
      const anywhere = { beginMs: bookedMs - OFFSETS_MS, endMs: bookedMs + OFFSETS_MS };
      const page = await asStored(probe, entries)(batchNo, anywhere);
      return page.entries.length + page.unreadable.length === 0;
    }
  };

  return {
    take: async (part, read) => {
      const { entries, unreadable } = read.reading;
      if (waiting !== null && entries.length === 0 && unreadable.length === 0) waiting.push({ part, read });
      else await store(part, read);
    },
    release,
    settle: async (mayAsk) => {
      const held = waiting ?? [];
      const holding = zoneGate.isProven()
        ? []
        : await windowsHolding(
            db,
            merchantNo,
            held.map(({ part }) => part),
          );
      const isLeft = holding.length > 0 && !(mayAsk && (await isNoZone(holding)));
      const left = isLeft ? holding : [];
      waiting = held.filter(({ part }) => !left.includes(part));
      await release();
      return left.map((part) => ({ window: part.window, problem: leftText(part) }));
    },
  };
}

/** Passes over an entry whose timestamp is not the one stored: it was amended, and says nothing about the zone. */
const asStored = (probe: Probe, stored: readonly LedgerEntry[]): Probe => {
  const stamps = new Map(stored.map(({ batchNo, bookedAt }) => [batchNo, bookedAt]));
  return async (batchNo, window) => {
    const page = await probe(batchNo, window);
    const entries = page.entries.filter((entry) => {
      const stamp = stamps.get(entry.batchNo);
      return stamp === undefined || stamp === entry.bookedAt;
    });
    return { ...page, entries };
  };
};

const leftText = (part: Asked): string =>
  `${spanText(part)} came back empty while entries of it are stored, and nothing of this run proves the time zone: they ` +
  'stay as they are';
