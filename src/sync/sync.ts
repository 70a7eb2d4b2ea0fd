/** Brings one merchant's windows into the store; begins anew with what a pass finds out about the platform's clocks. */
import { isClockOff, storeClockOff } from '../store/platform-clock.ts';
import { CLOCK_STEPS_MAX, createPlatformClock, PlatformClockUnsteady } from './platform-clock.ts';
import { readAndStore } from './read-and-store.ts';
import type { SyncOptions } from './sync-options.ts';
import { NOTHING_SYNCED, PlatformBehind, ReadAnew, withEarlier, type SyncReport } from './sync-report.ts';
import { createZoneGate } from './zone-gate.ts';

export type { UncertifiedSpan } from './store-readings.ts';
export type { SyncOptions, SyncProgress } from './sync-options.ts';
export { NOTHING_SYNCED, type SyncReport } from './sync-report.ts';

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
