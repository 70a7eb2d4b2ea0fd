/** Brings one merchant's windows into the store: reads them, waits for the zone's proof, stores each whole. */
import type { Kysely } from 'kysely';
import type { Chosen } from '../ledger/account-filter.ts';
import { splitAtTransitions } from '../ledger/business-day.ts';
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import { isPlatformError } from '../platform/errors.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { isDatabaseTrouble } from '../store/engine/errors.ts';
import { LeaseLost, type Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import { isClockOff, storeClockOff } from '../store/platform-clock.ts';
import type { Asked } from './certificate.ts';
import { wideReader } from './clock-slack.ts';
import { createEmptyWindows } from './empty-windows.ts';
import type { ReadLimits } from './limits.ts';
import { createNewestPage } from './newest-page.ts';
import {
  CLOCK_STEPS_MAX,
  createPlatformClock,
  holdBack,
  PlatformClockUnsteady,
  type PlatformClock,
} from './platform-clock.ts';
import { wholeSeconds } from './windows-of-days.ts';
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
  readonly currencies: Chosen;
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
  /** Prove the zone by the newest entry before anything is written, not by whichever comes first. */
  readonly provesNewest?: boolean;
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
  (currencies ?? [null]).flatMap((currency) =>
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
  const calls = { made: 0 };
  const options = { ...given, reader: countedReader(watchedReader(given, asked, platformClock), calls) };
  const readings = createReadingStore({ ...options, merchantNo, planned: asked });
  let windowsDone = 0;

  const probe = probeOf(options);
  const check = async (proof: () => Promise<void>): Promise<void> => {
    await proof();
    if (zoneGate.slackMs() !== slackMs) throw new ClockOff();
  };
  const checkPage = (entries: readonly LedgerEntry[], window: Window): Promise<void> =>
    check(() => zoneGate.check(probe, entries, window));
  const progress = () =>
    options.onProgress?.({
      merchantNo,
      windowsDone,
      windowsPlanned: asked.length,
      entries: readings.entries(),
      requests: calls.made,
    });
  const empty = createEmptyWindows({
    db: options.db,
    merchantNo,
    zoneGate,
    probe,
    store: async (part, read) => {
      await readings.store(part, read);
      progress();
    },
  });
  const plainReader = slackMs === 0 ? options.reader : wideReader(options.reader, slackMs, zone);
  const newestPage = createNewestPage({ reader: plainReader, merchant, asked, slackMs, signal });
  const proveNewest = async (): Promise<void> => {
    const found = await newestPage.newest();
    if (found === null) return;
    await check(() => zoneGate.prove(probe, found.entries));
    await empty.release();
  };
  const report = (end: Partial<SyncReport> = {}): SyncReport => ({
    ...NOTHING_SYNCED,
    ...readings.soFar(),
    requests: calls.made,
    platformBehindMs: platformClock.behindMs(),
    platformAheadMs: platformClock.aheadMs(),
    heldBack,
    ...end,
  });

  try {
    // Windows are read meanwhile, and nothing of them is taken before.
    const proven = options.provesNewest === true ? proveNewest() : Promise.resolve();
    proven.catch(() => undefined);
    await readWindows({
      reader: newestPage.reader,
      merchant,
      asked,
      limits: { ...options.limits, clockSlackMs: slackMs },
      signal,
      onFirstPage: async (page, { window }) => {
        await proven;
        await checkPage(page.entries, window);
      },
      onReading: async (part, read) => {
        const came = [...read.reading.entries, ...read.strangers];
        if (came.length > 0) {
          await checkPage(came, part.window);
          await empty.release();
        }
        await empty.take(part, read);
      },
      onWindowDone: () => {
        windowsDone += 1;
        progress();
      },
    });
    await proven;
    readings.leave(await empty.settle(true));
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
    if (isPlatformError(error)) readings.leave(await empty.settle(false));
    return report({ failure: error instanceof Error ? error : new Error(String(error)) });
  }
}

const probeOf =
  ({ reader, merchant, signal }: SyncOptions): Probe =>
  (batchNo, window) => {
    signal.throwIfAborted();
    const query = { merchant, window, pageNum: 1, ...(batchNo === null ? {} : { batchNo }) };
    return reader.page({ ...query, isUrgent: true }, signal);
  };

/** Counts each page asked for, one that fails as well. */
const countedReader = (reader: LedgerReader, calls: { made: number }): LedgerReader => ({
  page: (query, signal) => {
    calls.made += 1;
    return reader.page(query, signal);
  },
});
