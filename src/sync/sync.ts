/** Brings one merchant's windows into the store: reads them, waits for the zone's proof, stores each whole. */
import type { Kysely } from 'kysely';
import { splitAtTransitions } from '../ledger/business-day.ts';
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import { isPlatformError } from '../platform/errors.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { isDatabaseTrouble } from '../store/errors.ts';
import { LeaseLost, type Lease } from '../store/lease.ts';
import type { DB } from '../store/schema.ts';
import { isClockOff, storeClockOff } from '../store/platform-clock.ts';
import type { Asked } from './certificate.ts';
import type { NotedReading } from './certify.ts';
import { wideReader } from './clock-slack.ts';
import type { ReadLimits } from './limits.ts';
import { wholeSeconds } from './plan.ts';
import { readWindows } from './read-windows.ts';
import { createReadingStore, NOTHING_STORED, type StoredReadings } from './store-readings.ts';
import { TimeZoneWrong, type Probe } from './time-zone-proof.ts';
import { createZoneGate, type ZoneGate } from './zone-gate.ts';

export type { UncertifiedSpan } from './store-readings.ts';

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
  /** How far timestamps may be off from the times the platform filters by. Counts where no `zoneGate` is given. */
  readonly clockToleranceS?: number;
  /** The zone is taken on trust. Counts where no `zoneGate` is given. */
  readonly timeZoneTrusted?: boolean;
  /** Shared by the merchants of a run, so that the zone is proven once; an own one where absent. */
  readonly zoneGate?: ZoneGate;
}

export interface SyncReport extends StoredReadings {
  readonly requests: number;
  /** Why the ledger was not read to the end; what was certified before is stored and counted here. */
  readonly failure: Error | null;
  /** The signal stopped it before the end, at a window's edge. */
  readonly interrupted: boolean;
}

/** The report of a merchant whose ledger was not read. */
export const NOTHING_SYNCED: SyncReport = {
  ...NOTHING_STORED,
  requests: 0,
  failure: null,
  interrupted: false,
};

/** Windows were asked for as if the clock were exact, and an entry showed that it is not: to be asked for anew. */
class ClockOff extends Error {
  /** What was done until then, and stays. */
  soFar: SyncReport = NOTHING_SYNCED;
}

/**
 * Reads and stores the windows. Whatever is the merchant's own trouble ends in `failure`: a platform that fails,
 * `TimeZoneUnproven` before the first row under that offset, a token that cannot be read, a fault. An aborted signal ends
 * in `interrupted`. Throws what concerns every merchant: `TimeZoneWrong`, `LeaseLost`, a database in trouble.
 */
export async function syncMerchant(options: SyncOptions): Promise<SyncReport> {
  const { db, lease, zone, now, clockToleranceS, timeZoneTrusted } = options;
  const zoneGate =
    options.zoneGate ??
    createZoneGate(zone, {
      ...(clockToleranceS === undefined ? {} : { clockToleranceS }),
      ...(timeZoneTrusted === undefined ? {} : { isTrusted: timeZoneTrusted }),
    });
  if (await isClockOff(db)) zoneGate.noteClockOff('known from an earlier run');
  let before = NOTHING_SYNCED;
  for (;;) {
    try {
      return withEarlier(before, await readAndStore(options, zoneGate));
    } catch (error) {
      if (!(error instanceof ClockOff)) throw error;
      before = withEarlier(before, error.soFar);
      // Once known, every window of this run and later ones is asked for with slack: this happens once.
      await storeClockOff(db, lease, zoneGate.clockOff() ?? '', now());
    }
  }
}

/** A report with what was done before its windows were read anew; what is found or noted again counts once. */
const withEarlier = (before: SyncReport, report: SyncReport): SyncReport => ({
  ...report,
  requests: before.requests + report.requests,
  inserted: before.inserted + report.inserted,
  amended: before.amended + report.amended,
  vanished: before.vanished + report.vanished,
  returned: before.returned + report.returned,
  quarantined: before.quarantined + report.quarantined,
});

/** One window of each currency asked for, cut where a wall-clock time would mean two instants. */
const plannedWindows = ({ windows, currencies, zone }: SyncOptions): Asked[] =>
  (currencies ?? [undefined]).flatMap((currency) =>
    windows
      .flatMap((window) => splitAtTransitions(wholeSeconds(window), zone))
      .map((window): Asked => ({ window, currency })),
  );

/** Throws `ClockOff` where the clock turns out to be off, and what `syncMerchant` throws. */
async function readAndStore(options: SyncOptions, zoneGate: ZoneGate): Promise<SyncReport> {
  const { merchant, zone, signal } = options;
  const { merchantNo } = merchant;
  const slackMs = zoneGate.slackMs();
  const asked = plannedWindows(options);
  const readings = createReadingStore({ ...options, merchantNo, planned: asked });
  let requests = 0;
  let windowsDone = 0;

  const check = async (entries: readonly LedgerEntry[], window: Window): Promise<void> => {
    const probe = probeOf(options, () => (requests += 1));
    await zoneGate.check(probe, entries, window);
    if (zoneGate.slackMs() !== slackMs) throw new ClockOff();
  };
  const progress = () =>
    options.onProgress?.({
      merchantNo,
      windowsDone,
      windowsPlanned: asked.length,
      entries: readings.entries(),
      requests,
    });
  const gate = holdUnproven(async (part, read) => {
    await readings.store(part, read);
    progress();
  });
  const report = (end: Partial<SyncReport> = {}): SyncReport => ({
    ...NOTHING_SYNCED,
    ...readings.soFar(),
    requests,
    ...end,
  });

  try {
    await readWindows({
      reader: slackMs === 0 ? options.reader : wideReader(options.reader, slackMs, zone),
      merchant,
      asked,
      limits: { ...options.limits, clockSlackMs: slackMs },
      signal,
      onRequest: () => (requests += 1),
      onFirstPage: (page, { window }) => check(page.entries, window),
      onReading: async (part, read) => {
        const came = [...read.reading.entries, ...read.strangers];
        if (came.length > 0) {
          await check(came, part.window);
          await gate.release();
        }
        await gate.take(part, read);
      },
      onWindowDone: () => {
        windowsDone += 1;
        progress();
      },
    });
    await gate.release();
    return report();
  } catch (error) {
    if (error instanceof ClockOff) {
      error.soFar = report();
      throw error;
    }
    const isLeaseLost = error instanceof LeaseLost;
    if (signal.aborted && error === signal.reason && !isLeaseLost) return report({ interrupted: true });
    if (isLeaseLost || error instanceof TimeZoneWrong || isDatabaseTrouble(error)) throw error;
    if (isPlatformError(error)) await gate.release();
    return report({ failure: error instanceof Error ? error : new Error(String(error)) });
  }
}

const probeOf =
  ({ reader, merchant, signal }: SyncOptions, onRequest: () => void): Probe =>
  (batchNo, window) => {
    signal.throwIfAborted();
    onRequest();
    const query = { merchant, window, pageNum: 1, ...(batchNo === null ? {} : { batchNo }) };
    return reader.page(query, signal);
  };

/** Empty windows read before any proof wait for it: a certificate is a row too, and waits for the zone like the others. */
function holdUnproven(store: (part: Asked, read: NotedReading) => Promise<void>) {
  let unproven: (() => Promise<void>)[] | null = [];
  return {
    take: async (part: Asked, read: NotedReading): Promise<void> => {
      const { entries, rejected } = read.reading;
      if (unproven !== null && entries.length === 0 && rejected.length === 0)
        unproven.push(() => store(part, read));
      else await store(part, read);
    },
    /** Stores what waits, and lets the rest through from now on. */
    release: async (): Promise<void> => {
      const held = unproven ?? [];
      unproven = null;
      await Promise.all(held.map((storeHeld) => storeHeld()));
    },
  };
}
