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
import {
  CLOCK_STEPS_MAX,
  createPlatformClock,
  holdBack,
  PlatformClockUnsteady,
  type PlatformClock,
} from './platform-clock.ts';
import { wholeSeconds } from './plan.ts';
import { readWindows } from './read-windows.ts';
import { createReadingStore } from './store-readings.ts';
import {
  ClockOff,
  NOTHING_SYNCED,
  PlatformBehind,
  ReadAnew,
  withEarlier,
  type SyncReport,
} from './sync-report.ts';
import { TimeZoneWrong, type Probe } from './time-zone-proof.ts';
import { settledByMs, watchedReader } from './watched-reader.ts';
import { createZoneGate, type ZoneGate } from './zone-gate.ts';

export type { UncertifiedSpan } from './store-readings.ts';
export { NOTHING_SYNCED, type SyncReport } from './sync-report.ts';

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
  /** Nothing younger than this by the platform's own clock is read. 0 where absent. */
  readonly settleDelayMs?: number;
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
  const platformClock = createPlatformClock();
  let before = NOTHING_SYNCED;
  let clockSteps = 0;
  for (;;) {
    try {
      return withEarlier(before, await readAndStore(options, zoneGate, platformClock));
    } catch (error) {
      if (!(error instanceof ReadAnew)) throw error;
      before = withEarlier(before, error.soFar);
      if (error instanceof PlatformBehind) {
        clockSteps += 1;
        if (clockSteps <= CLOCK_STEPS_MAX) continue;
        return { ...before, failure: new PlatformClockUnsteady(platformClock.behindMs()) };
      }
      // Once known, every window of this run and later ones is asked for with slack: this happens once.
      await storeClockOff(db, lease, zoneGate.clockOff() ?? '', now());
    }
  }
}

/** One window of each currency asked for, cut where a wall-clock time would mean two instants. */
const plannedWindows = (
  windows: readonly Window[],
  { currencies, zone }: Pick<SyncOptions, 'currencies' | 'zone'>,
): Asked[] =>
  (currencies ?? [undefined]).flatMap((currency) =>
    windows
      .flatMap((window) => splitAtTransitions(wholeSeconds(window), zone))
      .map((window): Asked => ({ window, currency })),
  );

/** Throws `ReadAnew` where one of the clocks turns out to be off, and what `syncMerchant` throws. */
async function readAndStore(
  given: SyncOptions,
  zoneGate: ZoneGate,
  platformClock: PlatformClock,
): Promise<SyncReport> {
  const { merchant, zone, signal } = given;
  const { merchantNo } = merchant;
  const slackMs = zoneGate.slackMs();
  const behindMs = platformClock.behindMs();
  const { settled, heldBack } =
    behindMs === 0
      ? { settled: given.windows, heldBack: [] }
      : holdBack(given.windows.map(wholeSeconds), settledByMs(given, behindMs));
  const asked = plannedWindows(settled, given);
  const options = { ...given, reader: watchedReader(given, asked, platformClock) };
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
    platformBehindMs: platformClock.behindMs(),
    platformAheadMs: platformClock.aheadMs(),
    heldBack,
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
    await readings.dropDoubts();
    return report();
  } catch (error) {
    if (error instanceof ReadAnew) {
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
