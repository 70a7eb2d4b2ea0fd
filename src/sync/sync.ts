/** Brings one merchant's windows into the store: reads them, waits for the zone's proof, stores each whole. */
import type { Kysely } from 'kysely';
import pLimit from 'p-limit';
import { splitAtTransitions } from '../ledger/business-day.ts';
import type { Window } from '../ledger/entry.ts';
import { isPlatformError } from '../platform/errors.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { isDatabaseTrouble } from '../store/errors.ts';
import { LeaseLost, type Lease } from '../store/lease.ts';
import type { DB } from '../store/schema.ts';
import type { StoredWindow } from '../store/window-reading.ts';
import { storeWindow } from '../store/windows.ts';
import type { Asked } from './certificate.ts';
import type { NotedReading } from './certify.ts';
import type { ReadLimits } from './limits.ts';
import { wholeSeconds } from './plan.ts';
import { readWindows } from './read-windows.ts';
import { TimeZoneWrong, type Probe } from './time-zone-proof.ts';
import { createZoneGate, type ZoneGate } from './zone-gate.ts';

/** Different sentences counted in one report; more are counted together. */
const NOTICES_MAX = 100;
const MORE_NOTICES = 'further notices';

export interface SyncProgress {
  readonly merchantNo: string;
  readonly windowsDone: number;
  readonly windowsPlanned: number;
  /** Entries stored or found stored. */
  readonly entries: number;
  readonly requests: number;
}

export interface SyncOptions {
  readonly reader: LedgerReader;
  readonly db: Kysely<DB>;
  readonly lease: Lease;
  readonly merchant: MerchantAccess;
  /** Widened to whole seconds and cut where the zone's clock changes. */
  readonly windows: readonly Window[];
  /** IANA zone of the platform's timestamps. */
  readonly zone: string;
  /** Null: every currency. */
  readonly currencies?: readonly string[] | null;
  readonly runId: number;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: SyncProgress) => void;
  readonly limits?: Partial<ReadLimits>;
  /** Shared by the merchants of a run, so that the zone is proven once; an own one where absent. */
  readonly zoneGate?: ZoneGate;
}

export interface UncertifiedSpan {
  readonly window: Window;
  /** A sentence with the window and the figures. */
  readonly problem: string;
}

export interface SyncReport extends StoredWindow {
  readonly requests: number;
  /** Windows stored, each part of a split one by itself. */
  readonly windows: number;
  readonly entries: number;
  readonly uncertified: readonly UncertifiedSpan[];
  /** How often the reader said each sentence. */
  readonly notices: Readonly<Record<string, number>>;
  /** Why the ledger was not read to the end; what was certified before is stored and counted here. */
  readonly failure: Error | null;
  /** The signal stopped it before the end, at a window's edge. */
  readonly interrupted: boolean;
}

type Tally = { -readonly [Key in keyof SyncReport]: SyncReport[Key] };

/**
 * Reads and stores the windows. Whatever is the merchant's own trouble ends in `failure`: a platform that fails,
 * `TimeZoneUnproven` before the first row under that offset, a token that cannot be read, a fault. An aborted signal ends
 * in `interrupted`. Throws what concerns every merchant: `TimeZoneWrong`, `LeaseLost`, a database in trouble.
 */
export async function syncMerchant(options: SyncOptions): Promise<SyncReport> {
  const { reader, db, lease, merchant, zone, currencies, runId, now, signal } = options;
  const { merchantNo } = merchant;
  const asked = (currencies ?? [undefined]).flatMap((currency) =>
    options.windows
      .flatMap((window) => splitAtTransitions(wholeSeconds(window), zone))
      .map((window): Asked => ({ window, currency })),
  );
  const tally = emptyTally();
  const uncertified: UncertifiedSpan[] = [];
  const notices: Record<string, number> = {};
  const zoneGate = options.zoneGate ?? createZoneGate(zone);
  const oneAtATime = pLimit(1);
  let windowsDone = 0;

  const probe: Probe = (batchNo, window) => {
    signal.throwIfAborted();
    tally.requests += 1;
    return reader.page({ merchant, window, pageNum: 1, batchNo }, signal);
  };
  const progress = () =>
    options.onProgress?.({
      merchantNo,
      windowsDone,
      windowsPlanned: asked.length,
      entries: tally.entries,
      requests: tally.requests,
    });

  const store = async (
    { window, currency }: Asked,
    { reading, notices: sentences }: NotedReading,
  ): Promise<void> => {
    signal.throwIfAborted();
    const stored = await storeWindow(db, lease, { merchantNo, window, currency, reading, runId, now: now() });
    tally.windows += 1;
    tally.entries += reading.entries.length;
    for (const figure of STORED) tally[figure] += stored[figure];
    if (reading.problem !== null) uncertified.push({ window, problem: reading.problem });
    for (const sentence of sentences) {
      const key = sentence in notices || Object.keys(notices).length < NOTICES_MAX ? sentence : MORE_NOTICES;
      notices[key] = (notices[key] ?? 0) + 1;
    }
    progress();
  };

  /** Empty windows read before any proof: a certificate is a row too, and waits for the zone like the others. */
  let unproven: (() => Promise<void>)[] | null = [];
  const release = async (): Promise<void> => {
    const held = unproven ?? [];
    unproven = null;
    await Promise.all(held.map((storeHeld) => oneAtATime(storeHeld)));
  };

  try {
    await readWindows({
      reader,
      merchant,
      asked,
      limits: options.limits,
      signal,
      onRequest: () => (tally.requests += 1),
      onFirstPage: (page, { window }) => zoneGate.check(probe, page.entries, window),
      onReading: async (part, read) => {
        if (read.reading.entries.length > 0) {
          await zoneGate.check(probe, read.reading.entries, part.window);
          await release();
        } else if (unproven !== null && read.reading.rejected.length === 0) {
          unproven.push(() => store(part, read));
          return;
        }
        await oneAtATime(() => store(part, read));
      },
      onWindowDone: () => {
        windowsDone += 1;
        progress();
      },
    });
    await release();
  } catch (error) {
    const isLeaseLost = error instanceof LeaseLost;
    if (signal.aborted && error === signal.reason && !isLeaseLost) tally.interrupted = true;
    else if (isLeaseLost || error instanceof TimeZoneWrong || isDatabaseTrouble(error)) throw error;
    else {
      tally.failure = error instanceof Error ? error : new Error(String(error));
      if (isPlatformError(error)) await release();
    }
  }
  uncertified.sort((a, b) => a.window.beginMs - b.window.beginMs);
  return { ...tally, uncertified, notices };
}

const STORED = ['inserted', 'amended', 'vanished', 'returned', 'quarantined', 'unchanged'] as const;

/** The report of a merchant whose ledger was not read. */
export const NOTHING_SYNCED: SyncReport = {
  requests: 0,
  windows: 0,
  entries: 0,
  uncertified: [],
  inserted: 0,
  amended: 0,
  vanished: 0,
  returned: 0,
  quarantined: 0,
  unchanged: 0,
  notices: {},
  failure: null,
  interrupted: false,
};

const emptyTally = (): Tally => ({ ...NOTHING_SYNCED });
