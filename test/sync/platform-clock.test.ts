/** A platform whose clock is not ours. Nothing is certified that has not settled by the platform's clock. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Window } from '../../src/ledger/entry.ts';
import { clockReadingOf } from '../../src/platform/attempt.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import { startRun } from '../../src/store/runs.ts';
import { certifiedWindows } from '../../src/store/certificates.ts';
import { planWindows } from '../../src/sync/wide-windows.ts';
import { CLOCK_STEPS_MAX, createPlatformClock, holdBack } from '../../src/sync/clocks.ts';
import { PlatformBehind, type SyncReport } from '../../src/sync/sync-report.ts';
import { syncMerchant } from '../../src/sync/sync.ts';
import { clockCheckedReader } from '../../src/sync/pass-reader.ts';
import { freshDatabase } from '../support/database.ts';
import { createMemoryPlatform, spread } from './memory-platform.ts';

const SETTLE_MS = 300_000;
const DAY_END_MS = Date.parse('2026-03-02T00:00:00Z');
const ALL: Window = { beginMs: Date.parse('2026-02-27T00:00:00Z'), endMs: DAY_END_MS + 3_600_000 };
const bookings = spread(600, ALL);

let database: Database;
let lease: Lease;
let runId: number;
let merchants = 0;
beforeAll(async () => {
  database = await freshDatabase();
  const holder = 'test';
  lease = await acquireLease(database.db, { name: 'ledger', holder, ttlMs: 600_000 });
  const days = { fromDay: null, toDay: null };
  runId = await startRun(database.db, { command: 'sync', holder, ...days, now: new Date() });
});
afterAll(() => database.close());

interface Clocks {
  readonly nowMs: number;
  /** By how much the platform's clock is ahead, call by call. */
  readonly aheadMs: (call: number) => number;
  readonly callMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Reads the days up to the first of March, or up to now, from a platform that has nothing later than its own time. */
async function readOf({ nowMs, aheadMs, callMs = 0, headers = {} }: Clocks, toDay = '2026-03-01') {
  let calls = 0;
  const platform = createMemoryPlatform({ bookings });
  const reader: LedgerReader = {
    page: async (query, signal) => {
      calls += 1;
      const platformMs = nowMs + aheadMs(calls);
      const booked = createMemoryPlatform({
        bookings: bookings.filter(({ trueMs }) => trueMs <= platformMs),
      });
      const page = await booked.reader.page(query, signal);
      const date = new Date(platformMs).toUTCString();
      const clock = clockReadingOf(
        { date, ...headers },
        { sentMs: nowMs - callMs / 2, receivedMs: nowMs + callMs / 2 },
      );
      return { ...page, ...(clock === null ? {} : { clock }) };
    },
  };
  merchants += 1;
  const merchant = { merchantNo: `M${merchants}`, token: 'made-up' };
  const plan = { fromDay: '2026-02-27', toDay, zone: 'UTC', latestMs: nowMs - SETTLE_MS };
  const report: SyncReport = await syncMerchant({
    reader,
    db: database.db,
    lease,
    merchant,
    windows: planWindows(plan),
    zone: 'UTC',
    settleDelayMs: SETTLE_MS,
    runId,
    now: () => new Date(nowMs),
    signal: new AbortController().signal,
  });
  const certified = await certifiedWindows(database.db, merchant.merchantNo, ALL);
  return { report, calls, lastMs: Math.max(...certified.map(({ endMs }) => endMs)), platform };
}

const SKEWS = fc.oneof(
  fc.integer({ min: -5_000, max: 5_000 }),
  fc.integer({ min: -1_200_000, max: 600_000 }),
  fc.integer({ min: -172_800_000, max: 86_400_000 }),
);

test(
  'for any difference of the clocks, no certified window goes beyond what has settled by the platform’s clock',
  { tags: ['long'] },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        SKEWS,
        fc.integer({ min: 0, max: 4_000 }),
        fc.integer({ min: 0, max: 2 * SETTLE_MS }),
        fc.constantFrom('2026-03-01', '2026-03-02'),
        async (aheadMs, callMs, sinceMidnightMs, toDay) => {
          const nowMs = DAY_END_MS + sinceMidnightMs;
          const { report, lastMs } = await readOf({ nowMs, aheadMs: () => aheadMs, callMs }, toDay);
          expect(report.failure).toBeNull();
          const settledThereMs = nowMs + aheadMs - SETTLE_MS;
          const settledHereMs = nowMs - SETTLE_MS;
          // A Date header is exact to a second and to the duration of the call. Once the platform is known to be
          // behind, the window takes the entire of that inexactness into account.
          const inexactMs = report.platformBehindMs > 0 ? 0 : 1_000 + callMs;
          expect(lastMs).toBeLessThanOrEqual(settledThereMs + inexactMs);
          expect(lastMs).toBeLessThanOrEqual(settledHereMs);
          // And no more than that is held back.
          const plannedMs = toDay === '2026-03-02' ? settledHereMs : Math.min(settledHereMs, DAY_END_MS - 1);
          const beginsMs = ALL.beginMs;
          const dueMs = Math.min(plannedMs, settledThereMs - 2_000 - callMs);
          if (dueMs > beginsMs + 1_000) expect(lastMs).toBeGreaterThan(dueMs - 1_000);
          for (const { endMs } of report.heldBack) expect(endMs).toBeGreaterThan(lastMs);
        },
      ),
      { numRuns: 60 },
    );
  },
);

const TEN_MINUTES = 600_000;
const nowMs = DAY_END_MS + SETTLE_MS;

test('ten minutes behind: the day ends where it has settled by the platform’s clock, and the rest is reported', async () => {
  const { report, lastMs } = await readOf({ nowMs, aheadMs: () => -TEN_MINUTES });
  expect(lastMs).toBe(nowMs - TEN_MINUTES - SETTLE_MS - 1);
  expect(report).toMatchObject({
    platformBehindMs: TEN_MINUTES,
    platformAheadMs: 0,
    uncertified: [],
    heldBack: [{ beginMs: lastMs + 1, endMs: DAY_END_MS - 1 }],
  });
});

test('a reply that was under way when the platform was found to be behind does not count either', async () => {
  const day = { beginMs: DAY_END_MS - 86_400_000, endMs: DAY_END_MS - 1 };
  const dayBefore = { beginMs: day.beginMs - 86_400_000, endMs: day.beginMs - 1 };
  const clock = { aheadMinMs: -TEN_MINUTES, aheadMaxMs: -TEN_MINUTES + 999 };
  const settling = {
    reader: { page: () => Promise.resolve({ total: 0, entries: [], unreadable: [], notices: [], clock }) },
    now: () => new Date(nowMs),
    settleDelayMs: SETTLE_MS,
  };
  const asked = [dayBefore, day].map((window) => ({ window, currency: null }));
  const { page } = clockCheckedReader(settling, asked, createPlatformClock());
  const merchant = { merchantNo: 'M', token: 'made-up' };
  const asks = (window: Window, bookedWithin?: Window) =>
    page({ merchant, pageNum: 1, window, ...(bookedWithin === undefined ? {} : { bookedWithin }) });
  await expect(asks(dayBefore)).rejects.toThrow(PlatformBehind);
  await expect(asks(day)).rejects.toThrow(PlatformBehind);
  await expect(asks({ beginMs: day.endMs - 999, endMs: day.endMs })).rejects.toThrow(PlatformBehind);
  await expect(asks({ beginMs: day.beginMs, endMs: day.endMs + 2_000 }, day)).rejects.toThrow(PlatformBehind);
  // What has settled by both clocks counts, and so does a query about an instant that is not to be read.
  expect(await asks(dayBefore)).toMatchObject({ total: 0 });
  expect(await asks({ beginMs: day.endMs + 1, endMs: day.endMs + 1_000 })).toMatchObject({ total: 0 });
});

test('equal clocks, or a platform that is ahead, cost no call and hold nothing back', async () => {
  const inStep = await readOf({ nowMs, aheadMs: () => 0, callMs: 3_000 });
  expect(inStep.report).toMatchObject({ platformBehindMs: 0, platformAheadMs: 0, heldBack: [] });
  const ahead = await readOf({ nowMs, aheadMs: () => TEN_MINUTES });
  expect(ahead.report).toMatchObject({ platformBehindMs: 0, platformAheadMs: TEN_MINUTES, heldBack: [] });
  expect([inStep.lastMs, ahead.lastMs, ahead.calls]).toEqual([DAY_END_MS - 1, DAY_END_MS - 1, inStep.calls]);
});

test('a difference that affects no window causes no new reading', async () => {
  const later = { nowMs: DAY_END_MS + 3_600_000 };
  const inStep = await readOf({ ...later, aheadMs: () => 0 });
  const behind = await readOf({ ...later, aheadMs: () => -TEN_MINUTES });
  expect(behind.report).toMatchObject({ platformBehindMs: TEN_MINUTES, heldBack: [] });
  expect([behind.calls, behind.lastMs]).toEqual([inStep.calls, DAY_END_MS - 1]);
});

test('if servers have different clocks, the one furthest behind counts, even if it answers late', async () => {
  const { report, lastMs } = await readOf({
    nowMs,
    aheadMs: (call) => (call === 5 ? -TEN_MINUTES : -60_000),
  });
  expect([report.platformBehindMs, report.failure]).toEqual([TEN_MINUTES, null]);
  expect(lastMs).toBe(nowMs - TEN_MINUTES - SETTLE_MS - 1);
});

test('a clock that falls behind again and again ends the merchant’s reading after some steps, with the reason', async () => {
  const { report, calls } = await readOf({ nowMs, aheadMs: (call) => -call * TEN_MINUTES });
  expect(report.failure).toMatchObject({ name: 'PlatformClockUnsteady', exitCode: 4 });
  expect(calls).toBeLessThan(CLOCK_STEPS_MAX * 10);
});

test('a reply from a cache and one without a date say nothing about the clock', async () => {
  const kept = await readOf({ nowMs, aheadMs: () => -TEN_MINUTES, headers: { age: '12' } });
  expect(kept.report).toMatchObject({ platformBehindMs: 0, platformAheadMs: 0, heldBack: [] });
  const times = { sentMs: nowMs, receivedMs: nowMs };
  for (const headers of [
    {},
    { date: '' },
    { date: 'yesterday' },
    { date: '0' },
    { date: '2026-03-01T00:00:00Z' },
  ]) {
    expect(clockReadingOf(headers, times)).toBeNull();
  }
  const date = new Date(nowMs).toUTCString();
  expect(clockReadingOf({ date }, times)).toEqual({ aheadMinMs: 0, aheadMaxMs: 999 });
  expect(clockReadingOf({ date }, { sentMs: nowMs + 1, receivedMs: nowMs })).toBeNull();
});

test('a reading that agrees with what is known changes nothing', () => {
  const clock = createPlatformClock();
  expect(clock.note({ aheadMinMs: -31_000, aheadMaxMs: 0 })).toBe(false);
  expect(clock.behindMs()).toBe(0);
  expect(clock.note({ aheadMinMs: -600_700, aheadMaxMs: -599_000 })).toBe(true);
  expect(clock.note({ aheadMinMs: -601_500, aheadMaxMs: -600_100 })).toBe(false);
  expect(clock.behindMs()).toBe(600_700);
  expect(clock.note(undefined)).toBe(false);
});

test('settled and held-back windows together are all windows, each instant once', () => {
  const windows = [
    { beginMs: 0, endMs: 9_999 },
    { beginMs: 10_000, endMs: 19_999 },
    { beginMs: 20_000, endMs: 29_999 },
  ];
  expect(holdBack(windows, 12_500)).toEqual({
    settled: [windows[0], { beginMs: 10_000, endMs: 11_999 }],
    heldBack: [{ beginMs: 12_000, endMs: 19_999 }, windows[2]],
  });
  expect(holdBack(windows, 29_999)).toEqual({ settled: windows, heldBack: [] });
});
