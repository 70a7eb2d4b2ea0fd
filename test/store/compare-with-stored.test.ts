/** What storing a wide reading writes: what is new of it, and nothing if nothing is. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LedgerEntry, Window } from '../../src/ledger/entry.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import { startRun } from '../../src/store/runs.ts';
import { compareWideWithStored, storeWide } from '../../src/store/windows.ts';
import { freshDatabase } from '../support/database.ts';
import { createDayReadings } from '../../src/sync/day-readings.ts';
import { certified, DAY, entry, footprints, MERCHANT, NOW } from './support.ts';

const DAY_MS = 86_400_000;
const DAYS: readonly Window[] = Array.from({ length: 9 }, (_, nth) => ({
  beginMs: DAY.beginMs + nth * DAY_MS,
  endMs: DAY.endMs + nth * DAY_MS,
}));

let database: Database;
let lease: Lease;
let runId: number;
beforeAll(async () => {
  database = await freshDatabase();
  lease = await acquireLease(database.db, { name: 'ledger', holder: 'test:1:-', ttlMs: 60_000 });
  runId = await startRun(database.db, {
    command: 'sync',
    holder: 'test:1:-',
    fromDay: null,
    toDay: null,
    now: NOW,
  });
});
afterAll(async () => {
  await database.close();
});

/** Twenty entries on each day. */
const entriesOf = (days: number): LedgerEntry[] =>
  Array.from({ length: days * 20 }, (_, nth) => {
    const bookedMs = DAY.beginMs + Math.floor(nth / 20) * DAY_MS + (nth % 20) * 60_000;
    const bookedAt = new Date(bookedMs).toISOString().slice(0, 19).replace('T', ' ');
    return entry(nth, { bookedMs, bookedAt });
  });

/** Compares the reading of all days with what is stored. */
const look = (entries: readonly LedgerEntry[]) =>
  compareWideWithStored(database.db, {
    merchantNo: MERCHANT,
    planned: DAYS,
    reading: certified(entries),
    runId,
    now: NOW,
  });

/** Stores the reading of all days; tells what changed. */
async function keep(entries: readonly LedgerEntry[]) {
  const compared = await look(entries);
  const readings = createDayReadings(DAYS, 'UTC');
  const days = compared.flatMap(({ part }) => readings.take(part.window, part.reading));
  const { absent, ...figures } = await storeWide(database.db, lease, compared, days);
  return { figures, absent: absent.filter((count) => count > 0).length };
}

test('a night of nine days stores what is new, and writes no row if nothing is', async () => {
  const first = await keep(entriesOf(7));
  expect(first).toMatchObject({ figures: { inserted: 140, unchanged: 0 }, absent: 0 });

  const night = await keep(entriesOf(8));
  expect(night).toMatchObject({ figures: { inserted: 20, unchanged: 140 }, absent: 0 });

  const before = await footprints(database.db);
  expect(await keep(entriesOf(8))).toMatchObject({ figures: { unchanged: 160 } });
  expect(await footprints(database.db)).toEqual(before);
});

test('a certificate that was lost is stored again; what a reading lacks of each day is told', async () => {
  const all = entriesOf(8);
  await database.db.deleteFrom('certificate').where('begin_ms', '=', DAYS[3]!.beginMs).execute();
  expect(await keep(all)).toMatchObject({ figures: { unchanged: 160 }, absent: 0 });
  const days = await database.db.selectFrom('certificate').select('begin_ms').execute();
  expect(days).toHaveLength(DAYS.length);
  const without = all.filter((_, nth) => nth !== 0 && nth !== 41);
  const lacking = (await look(without)).map(({ unstored }) => unstored.lacking);
  expect(lacking).toEqual([[all[0]!.batchNo], [], [all[41]!.batchNo], ...DAYS.slice(3).map(() => [])]);
});
