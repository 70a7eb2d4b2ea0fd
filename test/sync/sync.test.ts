import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LedgerEntry, Window } from '../../src/ledger/entry.ts';
import { PlatformRejected, PlatformUnreachable } from '../../src/platform/errors.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import type { Database } from '../../src/store/database.ts';
import { acquireLease, releaseLease, type Lease } from '../../src/store/lease.ts';
import { startRun } from '../../src/store/runs.ts';
import { certifiedWindows } from '../../src/store/windows.ts';
import { planWindows } from '../../src/sync/plan.ts';
import { syncMerchant, type SyncOptions, type SyncProgress, type SyncReport } from '../../src/sync/sync.ts';
import { freshDatabase } from '../support/database.ts';
import { createMemoryPlatform, spread } from './memory-platform.ts';

const NOW = new Date('2026-04-01T00:00:00Z');
const MERCHANT = { merchantNo: 'M-TEST', token: 'made-up' };
const WINDOWS = planWindows({
  fromDay: '2026-03-01',
  toDay: '2026-03-05',
  zone: 'UTC',
  latestMs: NOW.getTime(),
});
const ALL: Window = { beginMs: WINDOWS[0]!.beginMs, endMs: WINDOWS.at(-1)!.endMs };

let database: Database;
let lease: Lease;
let runId: number;

beforeEach(async () => {
  database = await freshDatabase();
  const holder = 'test';
  lease = await acquireLease(database.db, { name: 'ledger', holder, ttlMs: 600_000, now: new Date() });
  runId = await startRun(database.db, { command: 'sync', holder, fromDay: null, toDay: null, now: NOW });
});
afterEach(() => database.close());

const sync = (reader: LedgerReader, more: Partial<SyncOptions> = {}): Promise<SyncReport> =>
  syncMerchant({
    reader,
    db: database.db,
    lease,
    merchant: MERCHANT,
    windows: WINDOWS,
    zone: 'UTC',
    runId,
    now: () => NOW,
    signal: new AbortController().signal,
    ...more,
  });

async function stored(): Promise<LedgerEntry[]> {
  const rows = await database.db
    .selectFrom('ledger_entry')
    .selectAll()
    .where('vanished_at', 'is', null)
    .orderBy('batch_no')
    .execute();
  return rows.map((row) => ({
    batchNo: row.batch_no,
    currency: row.currency,
    transactionType: row.transaction_type,
    credit: row.credit,
    debit: row.debit,
    balance: row.balance,
    bookedAt: row.booked_at,
    bookedMs: row.booked_ms,
  }));
}
const rowCount = async () =>
  (await database.db.selectFrom('ledger_entry').select('batch_no').execute()).length +
  (await database.db.selectFrom('sync_window').select('begin_ms').execute()).length;

test('what is stored is what the platform has, digit for digit, and every window has its certificate', async () => {
  const platform = createMemoryPlatform({ bookings: spread(1_234, ALL) });
  const report = await sync(platform.reader);
  expect(report).toMatchObject({
    windows: 5,
    entries: 1_234,
    inserted: 1_234,
    uncertified: [],
    failure: null,
    interrupted: false,
  });
  expect(report.requests).toBe(platform.queries.length);
  expect(await stored()).toEqual(platform.truth(ALL));
  expect(await certifiedWindows(database.db, 'M-TEST', ALL)).toEqual([ALL]);
});

test('the second sync of an unchanged ledger writes nothing', async () => {
  const platform = createMemoryPlatform({ bookings: spread(300, ALL) });
  await sync(platform.reader);
  expect(await sync(platform.reader)).toMatchObject({ inserted: 0, amended: 0, vanished: 0, unchanged: 300 });
});

test('what the platform no longer has is marked, also where its second had to be split', async () => {
  const [window] = WINDOWS;
  const second = { beginMs: window!.beginMs, endMs: window!.beginMs + 999 };
  const platform = createMemoryPlatform({ bookings: spread(700, second) });
  const limits = { pageNumMax: 3 };
  expect(await sync(platform.reader, { limits })).toMatchObject({ inserted: 700, vanished: 0 });
  platform.bookings.splice(650, 2);
  expect(await sync(platform.reader, { limits })).toMatchObject({ vanished: 2, unchanged: 698 });
  expect(await stored()).toEqual(platform.truth(ALL));
});

test('under a wrong zone not a single row is written', async () => {
  const [, , third] = WINDOWS;
  const platform = createMemoryPlatform({
    bookings: spread(250, third!),
    zone: 'Asia/Shanghai',
    believedZone: 'UTC',
  });
  await expect(sync(platform.reader)).rejects.toThrow(/PLATFORM_TIME_ZONE is UTC, .* Asia\/Shanghai/);
  expect(await rowCount()).toBe(0);
});

test('a ledger without any entry is certified without a proof of the zone', async () => {
  expect(await sync(createMemoryPlatform({ bookings: [] }).reader)).toMatchObject({
    requests: 5,
    windows: 5,
  });
  expect(await certifiedWindows(database.db, 'M-TEST', ALL)).toEqual([ALL]);
});

test('a platform that goes away leaves what was certified, and the failure in the report', async () => {
  const platform = createMemoryPlatform({
    bookings: spread(1_000, ALL),
    onQuery: ({ window }) => {
      if (window.beginMs === WINDOWS[3]!.beginMs) throw new PlatformUnreachable('no answer');
    },
  });
  const report = await sync(platform.reader, { limits: { windowsInProgressMax: 1 } });
  expect(report.failure).toEqual(new PlatformUnreachable('no answer'));
  expect(report).toMatchObject({ windows: 3, inserted: 600, interrupted: false });
  const { beginMs } = ALL;
  expect(await certifiedWindows(database.db, 'M-TEST', ALL)).toEqual([{ beginMs, endMs: WINDOWS[2]!.endMs }]);
});

test('a refused merchant is a failure of its own', async () => {
  const reader: LedgerReader = { page: () => Promise.reject(new PlatformRejected('401')) };
  expect(await sync(reader)).toMatchObject({ failure: new PlatformRejected('401'), windows: 0, requests: 5 });
});

test('told to stop, it stops at a window’s edge and tells what it stored', async () => {
  const stop = new AbortController();
  const platform = createMemoryPlatform({ bookings: spread(1_000, ALL) });
  const report = await sync(platform.reader, {
    signal: stop.signal,
    limits: { windowsInProgressMax: 1 },
    onProgress: ({ windowsDone }) => {
      if (windowsDone === 2) stop.abort(new Error('SIGTERM'));
    },
  });
  expect(report).toMatchObject({ windows: 2, inserted: 400, interrupted: true, failure: null });
  const [held] = await certifiedWindows(database.db, 'M-TEST', ALL);
  expect(await stored()).toEqual(platform.truth(held!));
});

test('a lost lease stops everything', async () => {
  const platform = createMemoryPlatform({ bookings: spread(1_000, ALL) });
  await releaseLease(database.db, lease);
  await expect(sync(platform.reader)).rejects.toMatchObject({ name: 'LeaseLost' });
  expect(await rowCount()).toBe(0);
});

test('entries of a window that does not add up are stored, without certificate', async () => {
  const platform = createMemoryPlatform({ bookings: spread(100, ALL) });
  const lying: LedgerReader = {
    page: async (query, signal) => {
      const page = await platform.reader.page(query, signal);
      return query.window.beginMs === WINDOWS[1]!.beginMs ? { ...page, total: page.total + 1 } : page;
    },
  };
  const report = await sync(lying);
  expect(report.uncertified).toEqual([
    {
      window: WINDOWS[1],
      problem: expect.stringContaining('page 1 of 21 entries held 20 where 21 were due'),
    },
  ]);
  expect(await stored()).toEqual(platform.truth(ALL));
  expect(await certifiedWindows(database.db, 'M-TEST', ALL)).toEqual([
    WINDOWS[0],
    { beginMs: WINDOWS[2]!.beginMs, endMs: ALL.endMs },
  ]);
});

test('asked for some currencies, it reads and stores only those', async () => {
  const bookings = [
    ...spread(150, ALL, 'U', 'USD'),
    ...spread(150, ALL, 'E', 'EUR'),
    ...spread(9, ALL, 'J', 'JPY'),
  ];
  const platform = createMemoryPlatform({ bookings });
  expect(await sync(platform.reader, { currencies: ['USD', 'EUR'] })).toMatchObject({ inserted: 300 });
  expect(new Set((await stored()).map(({ currency }) => currency))).toEqual(new Set(['USD', 'EUR']));
});

test('progress counts windows, entries and calls up to the plan', async () => {
  const seen: SyncProgress[] = [];
  const platform = createMemoryPlatform({ bookings: spread(500, ALL) });
  const report = await sync(platform.reader, { onProgress: (progress) => seen.push(progress) });
  expect(seen.at(-1)).toEqual({
    merchantNo: 'M-TEST',
    windowsDone: 5,
    windowsPlanned: 5,
    entries: 500,
    requests: report.requests,
  });
});

test('a notice is counted by its sentence', async () => {
  const platform = createMemoryPlatform({ bookings: spread(20, ALL) });
  const noting: LedgerReader = {
    page: async (query, signal) => ({
      ...(await platform.reader.page(query, signal)),
      notices: ['currency XTS is on no list'],
    }),
  };
  expect((await sync(noting)).notices).toEqual({ 'currency XTS is on no list': 5 });
});
