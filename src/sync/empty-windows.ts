/**
 * Lets empty windows wait for the zone's proof: an empty reply proves nothing about the zone, and a certificate must
 * not be stored without a proof.
 *
 * If entries of an empty window are stored already, the platform may have changed its zone. Without a proof, such a
 * window is not stored, and its entries stay as they are.
 */
import type { Kysely } from 'kysely';
import { newestEntryIn, windowsHolding } from '../store/entries.ts';
import { spanText, type NotedReading } from './certify.ts';
import type { UncertifiedSpan } from './store-readings.ts';
import { plannedIn } from './wide-windows.ts';
import type { ZoneGate } from './zone-gate.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import type { DB } from '../store/engine/schema.ts';
import type { Asked } from './certificate.ts';
import { TimeZoneUnproven, type Probe } from './time-zone-proof.ts';

/** The longest difference between two zones. */
const OFFSETS_MS = 28 * 3_600_000;

interface Waiting {
  readonly part: Asked;
  readonly read: NotedReading;
}

export interface EmptyWindowsOptions {
  readonly db: Kysely<DB>;
  readonly merchantNo: string;
  /** The windows as they were planned. A reading may be of a wide window that is made of several. */
  readonly planned: readonly Asked[];
  readonly zoneGate: ZoneGate;
  readonly probe: Probe;
  readonly store: (part: Asked, read: NotedReading) => Promise<void>;
}

export interface EmptyWindows {
  /** Stores a reading, or lets it wait if it is empty. */
  readonly take: (part: Asked, read: NotedReading) => Promise<void>;
  /** To be called when the zone is proven: stores what waits, and from now on every reading. */
  readonly release: () => Promise<void>;
  /**
   * To be called at the end: stores what waits. Without a proof, windows with stored entries are left out if a wrong
   * zone may be why they came back empty, and so are those that were read together with them; the platform is asked about that if `mayAsk`. Returns the windows that were
   * left out. Throws `TimeZoneWrong`, and the error of the probe.
   */
  readonly settle: (mayAsk: boolean) => Promise<readonly UncertifiedSpan[]>;
}

export function createEmptyWindows(options: EmptyWindowsOptions): EmptyWindows {
  const { db, merchantNo, planned, zoneGate, probe, store } = options;
  let waiting: Waiting[] | null = [];

  const release = async (): Promise<void> => {
    const held = waiting ?? [];
    waiting = null;
    await Promise.all(held.map(({ part, read }) => store(part, read)));
  };

  /**
   * Whether a wrong zone is certainly not why these windows are empty. That is so if the newest entry stored in them,
   * or the newest one before, proves the zone, or if the platform has that entry at no time that any zone could mean.
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
      const held = (waiting ?? []).flatMap(({ part, read }) =>
        plannedIn(part, planned).map((own): Waiting => ({ part: own, read })),
      );
      const holding = zoneGate.isProven()
        ? []
        : await windowsHolding(
            db,
            merchantNo,
            held.map(({ part }) => part),
          );
      const isLeft = holding.length > 0 && !(mayAsk && (await isNoZone(holding)));
      // What one reading shows of its other windows cannot be believed either.
      const doubted = new Set(
        isLeft ? held.filter(({ part }) => holding.includes(part)).map(({ read }) => read) : [],
      );
      const left = held.filter(({ read }) => doubted.has(read)).map(({ part }) => part);
      if (isLeft) waiting = held.filter(({ read }) => !doubted.has(read));
      await release();
      return left.map((part) => ({ window: part.window, problem: leftText(part, holding.includes(part)) }));
    },
  };
}

/** A probe without entries whose timestamp is not the stored one: they were amended, and say nothing about the zone. */
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

const leftText = (part: Asked, isHolding: boolean): string =>
  isHolding
    ? `${spanText(part)} came back empty while entries of it are stored, and nothing of this run proves the time zone: they ` +
      'stay as they are'
    : `${spanText(part)} came back empty together with days of which entries are stored, and nothing of this run proves ` +
      'the time zone: it is read again';
