/**
 * The night in which the platform's clock changes, but not the clock of the zone in the settings. Only the newest
 * entries show the difference.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Window } from '../../src/ledger/entry.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import { startRun } from '../../src/store/runs.ts';
import { planWindows } from '../../src/sync/wide-windows.ts';
import { syncMerchant, type SyncOptions } from '../../src/sync/sync.ts';
import { createZoneGate } from '../../src/sync/zone-gate.ts';
import { freshDatabase } from '../support/database.ts';
import {
  createMemoryPlatform,
  spread,
  type Booking,
  type Faults,
  type MemoryPlatform,
} from './memory-platform.ts';

/** Berlin's clock goes forward in the night to the 29th. Algiers has the same offset before, and keeps it. */
const [PLATFORM_ZONE, ZONE] = ['Europe/Berlin', 'Africa/Algiers'];
const NOW = new Date('2026-03-30T03:00:00Z');
const MERCHANT = { merchantNo: 'M-TEST', token: 'made-up' };
const WINDOWS = planWindows({
  fromDay: '2026-03-25',
  toDay: '2026-03-29',
  zone: ZONE,
  latestMs: NOW.getTime(),
}) as [Window, ...Window[]];
const LAST = WINDOWS.at(-1)!;
/** Bookings of the last day, before the clock changes. `AFTER` has those after it. */
const before = (count: number): Booking[] =>
  spread(count, { beginMs: LAST.beginMs, endMs: LAST.beginMs + 3_600_000 }, 'B-');
const AFTER = spread(3, { beginMs: LAST.endMs - 7_200_000, endMs: LAST.endMs - 5_400_000 }, 'A-');
const EARLIER = spread(4, WINDOWS[0], 'E-');

let database: Database;
let lease: Lease;
beforeEach(async () => {
  database = await freshDatabase();
  lease = await acquireLease(database.db, { name: 'ledger', holder: 'test', ttlMs: 600_000 });
});
afterEach(() => database.close());

async function read(platform: MemoryPlatform, more: Partial<SyncOptions> = {}) {
  const run = { command: 'sync', holder: 'test', fromDay: null, toDay: null, now: NOW } as const;
  const outcome = await syncMerchant({
    reader: platform.reader,
    db: database.db,
    lease,
    merchant: MERCHANT,
    windows: WINDOWS,
    zone: ZONE,
    provesNewest: true,
    runId: await startRun(database.db, run),
    now: () => NOW,
    signal: new AbortController().signal,
    ...more,
  }).catch((error: unknown) => error as Error);
  const { rows } = await database.db
    .selectFrom('certificate')
    .select('begin_ms')
    .unionAll(database.db.selectFrom('ledger_entry').select('booked_ms as begin_ms'))
    .execute()
    .then((all) => ({ rows: all.length }));
  return { outcome, rows };
}

const changing = (bookings: readonly Booking[], faults: Faults = {}): MemoryPlatform =>
  createMemoryPlatform({ bookings, zone: PLATFORM_ZONE, believedZone: ZONE, faults });

test.each([
  ['first in a page', 20, 'time'],
  ['last in a page', 20, 'latest first'],
  ['beyond the first of three pages', 250, 'time'],
  ['on the first of three pages', 250, 'latest first'],
  ['on any of two', 160, 'shuffled'],
] as const)('older entries that are %s do not prove it: nothing is written', async (_, count, order) => {
  const platform = changing([...EARLIER, ...before(count), ...AFTER], { order });
  expect(await read(platform)).toMatchObject({
    outcome: { name: 'TimeZoneWrong', offsetMinutes: 120 },
    rows: 0,
  });
});

test('if the newest day has no entries, the day before is used', async () => {
  const shortly = WINDOWS.map(({ beginMs, endMs }) => ({
    beginMs: beginMs + 86_400_000,
    endMs: endMs + 86_400_000,
  }));
  const platform = changing([...before(20), ...AFTER]);
  expect(await read(platform, { windows: [...WINDOWS, shortly.at(-1)!] })).toMatchObject({
    outcome: { name: 'TimeZoneWrong' },
    rows: 0,
  });
});

test.each([0, 3, 20, 250])(
  'the proof by the newest entry costs no further call: %d entries on the newest day',
  async (count) => {
    const bookings = [...EARLIER, ...spread(count, LAST, 'N-')];
    const honest = () => createMemoryPlatform({ bookings, zone: ZONE });
    const [newest, any] = [honest(), honest()];
    const { outcome } = await read(newest);
    expect(outcome).toMatchObject({ failure: null, requests: newest.queries.length });
    await read(any, { provesNewest: false });
    expect(newest.queries.length).toBe(any.queries.length);
  },
);

test('each merchant proves the zone by its own newest entry, whoever proved it before', async () => {
  const zoneGate = createZoneGate(ZONE);
  const quiet = changing(EARLIER);
  expect((await read(quiet, { zoneGate })).outcome).toMatchObject({ failure: null });
  const merchant = { ...MERCHANT, merchantNo: 'M-OTHER' };
  const older = changing(EARLIER.slice(0, 2));
  expect((await read(older, { zoneGate, merchant })).outcome).toMatchObject({ requests: 2 });
  const platform = changing([...EARLIER, ...AFTER]);
  const { outcome } = await read(platform, { zoneGate, merchant: { ...MERCHANT, merchantNo: 'M-THIRD' } });
  expect(outcome).toMatchObject({ failure: { name: 'TimeZoneChanged' }, entries: 0 });
});

test('other windows are read during the proof by the newest entry, but not yet written', async () => {
  const platform = createMemoryPlatform({ bookings: [...EARLIER, ...spread(20, LAST, 'N-')], zone: ZONE });
  const others = new Set<number>();
  let isAnswered = false;
  let rowsBefore = -1;
  const reader: typeof platform.reader = {
    page: async (query, signal) => {
      if (!isAnswered && query.window.beginMs < LAST.beginMs) others.add(query.window.beginMs);
      const page = await platform.reader.page(query, signal);
      const isProbe = query.window.endMs - query.window.beginMs < 1_000;
      if (!isProbe || isAnswered) return page;
      expect(query.isUrgent).toBe(true);
      await expect.poll(() => others.size).toBe(WINDOWS.length - 1);
      rowsBefore = (await database.db.selectFrom('ledger_entry').select('batch_no').execute()).length;
      isAnswered = true;
      return page;
    },
  };
  const limits = { widePages: 0 };
  expect((await read(platform, { reader, limits })).outcome).toMatchObject({ failure: null, entries: 24 });
  expect(rowsBefore).toBe(0);
});
