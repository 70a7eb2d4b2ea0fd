/** Brings one merchant's windows into the store; begins anew with what a pass finds out about the platform's clocks. */
import { isClockOff, storeClockOff } from '../store/platform-clock.ts';
import { CLOCK_STEPS_MAX, createPlatformClock, PlatformClockUnsteady } from './clocks.ts';
import { readAndStore } from './read-and-store.ts';
import { NOTHING_SYNCED, PlatformBehind, ReadAnew, withEarlier, type SyncReport } from './sync-report.ts';
import { createZoneGate, type ZoneGate } from './zone-gate.ts';
import type { Kysely } from 'kysely';
import type { Trace } from '../host/trace.ts';
import type { Window } from '../ledger/entry.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import type { ReadLimits } from './limits.ts';

/**
 * Reads and stores the windows. What is the merchant's own trouble ends in `failure`: the platform fails, no entry
 * proves the zone (`TimeZoneUnproven`; nothing was written under that offset), a token cannot be read, a fault. An
 * aborted signal ends in `interrupted`. Throws what concerns every merchant: `TimeZoneWrong`, `LeaseLost`, a database
 * in trouble.
 */
export async function syncMerchant(options: SyncOptions): Promise<SyncReport> {
  const { db, lease, now } = options;
  const zoneGate = options.zoneGate ?? ownZoneGate(options);
  await zoneGate.learn(() => isClockOff(db));
  const platformClock = createPlatformClock();
  let before = NOTHING_SYNCED;
  let clockSteps = 0;
  for (;;) {
    try {
      return withEarlier(before, await readAndStore(options, { zoneGate, platformClock }));
    } catch (error) {
      if (!(error instanceof ReadAnew)) throw error;
      before = withEarlier(before, error.soFar);
      if (error instanceof PlatformBehind) {
        clockSteps += 1;
        if (clockSteps <= CLOCK_STEPS_MAX) continue;
        return { ...before, failure: new PlatformClockUnsteady(platformClock.behindMs()) };
      }
      // Now that it is known, every window of this run and of later ones is asked for with slack: this happens once.
      await storeClockOff(db, lease, zoneGate.clockOff() ?? '', now());
    }
  }
}

const ownZoneGate = ({ zone, clockToleranceS, timeZoneTrusted }: SyncOptions) =>
  createZoneGate(zone, {
    ...(clockToleranceS === undefined ? {} : { clockToleranceS }),
    ...(timeZoneTrusted === undefined ? {} : { isTrusted: timeZoneTrusted }),
  });

/** What it takes to sync one merchant. */

export interface SyncProgress {
  readonly merchantNo: string;
  readonly windowsDone: number;
  readonly windowsPlanned: number;
  /** Entries that are stored now, or were before. */
  readonly entries: number;
  readonly requests: number;
}

export interface SyncOptions {
  readonly reader: LedgerReader;
  readonly db: Kysely<DB>;
  readonly lease: Lease;
  readonly merchant: MerchantAccess;
  /** They are widened to full seconds, and cut where the zone's clock changes. */
  readonly windows: readonly Window[];
  /** IANA zone of the platform's timestamps. */
  readonly zone: string;
  /** Null: every currency. */
  readonly currencies?: readonly string[] | null;
  /** Nothing younger than this by the platform's own clock is read. 0 if left out. */
  readonly settleDelayMs?: number;
  readonly runId: number;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: SyncProgress) => void;
  /** Called for each window that has to be read in parts. */
  readonly onSplit?: () => void;
  readonly trace?: Trace;
  readonly limits?: Partial<ReadLimits>;
  /** How far timestamps may differ from the times the platform filters by. Used if there is no `zoneGate`. */
  readonly clockToleranceS?: number;
  /** A person answers for the zone. Used if there is no `zoneGate`. */
  readonly timeZoneTrusted?: boolean;
  /** The zone is proven by the newest entry before anything is written, instead of by the entry that comes first. */
  readonly provesNewest?: boolean;
  /** Shared by the merchants of a run, so that the zone is proven once. Left out: the merchant gets its own. */
  readonly zoneGate?: ZoneGate;
}
