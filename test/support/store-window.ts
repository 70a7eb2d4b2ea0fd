/** Stores a reading with what it says of its business days, as a run does. */
import { storeWindow as storeReading } from '../../src/store/windows.ts';
import type { WindowToStore } from '../../src/store/compare-with-stored.ts';
import type { Db } from '../../src/store/engine/database.ts';
import type { Lease } from '../../src/store/engine/lease.ts';
import { createDayReadings } from '../../src/sync/day-readings.ts';

export const storeWindow = (db: Db, lease: Lease, toStore: WindowToStore, zone = 'UTC') =>
  storeReading(
    db,
    lease,
    toStore,
    createDayReadings([toStore.planned ?? toStore.window], zone).take(toStore.window, toStore.reading),
  );
