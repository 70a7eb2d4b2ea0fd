import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LedgerEntry, Window } from '../../src/ledger/entry.ts';
import { PlatformRejected, PlatformUnreachable } from '../../src/platform/errors.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { acquireLease, type Lease, releaseLeases } from '../../src/store/engine/lease.ts';
import { startRun } from '../../src/store/runs.ts';
import { listQuarantine } from '../../src/store/quarantine.ts';
import { SECOND_READING_AFTER_MS } from '../../src/store/absent-entries.ts';
import { certifiedWindows } from '../../src/store/certificates.ts';
import { planWindows } from '../../src/sync/wide-windows.ts';
import { syncMerchant, type SyncOptions, type SyncProgress } from '../../src/sync/sync.ts';
import type { SyncReport } from '../../src/sync/sync-report.ts';
import { createZoneGate } from '../../src/sync/zone-gate.ts';
import { freshDatabase } from '../support/database.ts';
import { acceptAllHeld } from '../support/held.ts';
import { createMemoryPlatform, spread, type Booking } from './memory-platform.ts';

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
let nowMs: number;

beforeEach(async () => {
  nowMs = NOW.getTime();
  database = await freshDatabase();
  const holder = 'test';
  lease = await acquireLease(database.db, { name: 'ledger', holder, ttlMs: 600_000 });
  runId = await startRun(database.db, { command: 'sync', holder, fromDay: null, toDay: null, now: NOW });
});
afterEach(() => database.close());

/** Each reading a second after the one before it. */
const sync = (reader: LedgerReader, more: Partial<SyncOptions> = {}): Promise<SyncReport> => {
  nowMs += 1_000;
  const now = new Date(nowMs);
  return syncMerchant({
    reader,
    db: database.db,
    lease,
    merchant: MERCHANT,
    windows: WINDOWS,
    zone: 'UTC',
    runId,
    now: () => now,
    signal: new AbortController().signal,
    ...more,
  });
};

/** Two entries a second around the edges of each window, and some in between. */
const everySecondNear = (windows: readonly Window[]): Booking[] =>
  windows.flatMap(({ beginMs, endMs }, nth) => [
    ...spread(20, { beginMs, endMs: beginMs + 9_999 }, `A${nth}-`),
    ...spread(30, { beginMs: beginMs + 20_000, endMs: endMs - 20_000 }, `M${nth}-`),
    ...spread(20, { beginMs: endMs - 9_999, endMs }, `Z${nth}-`),
  ]);

const stored = (): Promise<LedgerEntry[]> => storedIn(database.db);

async function storedIn(db: Database['db']): Promise<LedgerEntry[]> {
  const rows = await db
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
  (await database.db.selectFrom('certificate').select('begin_ms').execute()).length;

test('stored entries are those of the platform, digit for digit, and every window has its certificate', async () => {
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

test('entries that the platform no longer has are marked, even if their second had to be split', async () => {
  const [window] = WINDOWS;
  const second = { beginMs: window!.beginMs, endMs: window!.beginMs + 999 };
  const platform = createMemoryPlatform({ bookings: spread(700, second) });
  const limits = { pageNumMax: 3 };
  expect(await sync(platform.reader, { limits })).toMatchObject({ inserted: 700, vanished: 0 });
  platform.bookings.splice(650, 2);
  expect(await sync(platform.reader, { limits })).toMatchObject({ vanished: 2, unchanged: 698 });
  expect(await stored()).toEqual(platform.truth(ALL));
});

test('with a wrong zone not a single row is written', async () => {
  const [, , third] = WINDOWS;
  const platform = createMemoryPlatform({
    bookings: spread(250, third!),
    zone: 'Asia/Shanghai',
    believedZone: 'UTC',
  });
  await expect(sync(platform.reader)).rejects.toThrow(/PLATFORM_TIME_ZONE is UTC, .* Asia\/Shanghai/);
  expect(await rowCount()).toBe(0);
});

const vanishedCount = async () =>
  (
    await database.db
      .selectFrom('ledger_entry')
      .select('batch_no')
      .where('vanished_at', 'is not', null)
      .execute()
  ).length;
const nextRun = () =>
  startRun(database.db, { command: 'sync', holder: 'test', fromDay: null, toDay: null, now: NOW });

describe('a platform whose timestamps differ from the times it filters by', () => {
  const within = { clockToleranceS: 2 };

  test(
    'by a constant lag: every entry is stored with its timestamp, and a second reading changes nothing',
    { tags: ['long'] },
    async () => {
      for (const lagMs of [1_000, 2_000, -1_000, -2_000, 400, -1_400]) {
        const own = await freshDatabase();
        try {
          const { db } = own;
          const ownLease = await acquireLease(db, {
            name: 'ledger',
            holder: 'test',
            ttlMs: 600_000,
          });
          const ownRun = { command: 'sync', holder: 'test', fromDay: null, toDay: null, now: NOW };
          const more = { ...within, db, lease: ownLease, runId: await startRun(db, ownRun) };
          const platform = createMemoryPlatform({ bookings: everySecondNear(WINDOWS), lagMs });
          const first = await sync(platform.reader, more);
          expect([lagMs, first.uncertified, first.vanished]).toEqual([lagMs, [], 0]);
          expect(await storedIn(db)).toEqual(platform.truth(ALL));
          expect(await certifiedWindows(db, 'M-TEST', ALL)).toEqual([ALL]);
          const again = await sync(platform.reader, { ...more, runId: await startRun(db, ownRun) });
          expect(again).toMatchObject({ inserted: 0, amended: 0, vanished: 0, returned: 0, uncertified: [] });
        } finally {
          await own.close();
        }
      }
    },
  );

  test('by a different lag for each entry: nothing is lost, doubled or marked at an edge', async () => {
    const lagOf = ({ batchNo }: Booking) => ((Number(batchNo.slice(-3)) * 7) % 5) * 1_000 - 2_000;
    const bookings = everySecondNear(WINDOWS);
    const platform = createMemoryPlatform({ bookings, lagMs: lagOf });
    const limits = { pageNumMax: 1, failedCallsMax: 300 };
    expect(await sync(platform.reader, { ...within, limits })).toMatchObject({
      uncertified: [],
      vanished: 0,
    });
    expect(await stored()).toEqual(platform.truth(ALL));
    const again = await sync(platform.reader, { ...within, limits, runId: await nextRun() });
    expect(again).toMatchObject({ inserted: 0, amended: 0, vanished: 0, returned: 0, uncertified: [] });
    // Entries at the edges are missed like any other once they are gone.
    const edges = new Set(WINDOWS.flatMap(({ beginMs, endMs }) => [beginMs, endMs - 999]));
    const secondOf = (ms: number) => Math.floor(ms / 1_000) * 1_000;
    const gone = bookings.filter((booking) => edges.has(secondOf(booking.trueMs + lagOf(booking))));
    platform.bookings.splice(0, platform.bookings.length, ...bookings.filter((one) => !gone.includes(one)));
    expect(await sync(platform.reader, { ...within, limits, runId: await nextRun() })).toMatchObject({
      vanished: gone.length,
    });
    expect(gone.length).toBeGreaterThan(0);
    expect(await stored()).toEqual(platform.truth(ALL));
  });

  test('found during a run: windows read before are read again, and later runs know it from the start', async () => {
    const late = WINDOWS[3]!.endMs - 499;
    const platform = createMemoryPlatform({
      bookings: everySecondNear(WINDOWS),
      lagMs: ({ trueMs }) => (trueMs === late ? 2_000 : 0),
    });
    const limits = { widePages: 0, windowsInProgressMax: 1 };
    expect(await sync(platform.reader, { ...within, limits })).toMatchObject({
      inserted: platform.bookings.length,
      uncertified: [],
    });
    expect(await stored()).toEqual(platform.truth(ALL));
    const asked = platform.queries.length;
    await sync(platform.reader, { ...within, limits, runId: await nextRun() });
    expect(platform.queries[asked]!.window).toEqual({
      beginMs: WINDOWS[0]!.beginMs - 2_000,
      endMs: WINDOWS[0]!.endMs + 2_000,
    });
    expect(platform.queries.length - asked).toBe(WINDOWS.length + 1);
  });

  test('by more than the tolerance: nothing is written', async () => {
    const platform = createMemoryPlatform({ bookings: everySecondNear(WINDOWS), lagMs: 4_000 });
    const { failure } = await sync(platform.reader, within);
    expect(failure?.message).toMatch(/could not be proven/);
    expect(await rowCount()).toBe(0);
  });

  test('when a clock is put back: entries stay on their side of the change', async () => {
    const zone = 'Europe/London';
    const windows = planWindows({
      fromDay: '2025-10-26',
      toDay: '2025-10-26',
      zone,
      latestMs: NOW.getTime(),
    });
    const span = { beginMs: windows[0]!.beginMs, endMs: windows.at(-1)!.endMs };
    const platform = createMemoryPlatform({
      bookings: everySecondNear([
        { beginMs: span.beginMs + 60_000, endMs: span.endMs - 60_000 },
        windows[1]!,
      ]),
      zone,
      lagMs: ({ trueMs }) => (windows.some(({ beginMs }) => Math.abs(trueMs - beginMs) < 4_000) ? 0 : 1_000),
    });
    const more = { ...within, windows, zone };
    expect(await sync(platform.reader, more)).toMatchObject({ uncertified: [] });
    const again = await sync(platform.reader, { ...more, runId: await nextRun() });
    expect(again).toMatchObject({ inserted: 0, amended: 0, vanished: 0, uncertified: [] });
    const truth = windows.flatMap((window) => platform.truth(window));
    expect(await stored()).toEqual(truth.sort((a, b) => (a.batchNo < b.batchNo ? -1 : 1)));
  });
});

describe('a stored entry that a reading lacks', () => {
  const LATER = new Date(NOW.getTime() + 2 * SECOND_READING_AFTER_MS);

  test('together with all others waits for a person, with most for a second reading, whether the window was split or not', async () => {
    for (const [limits, count] of [
      [{}, 40],
      [{ pageNumMax: 1 }, 300],
    ] as const) {
      const window = WINDOWS[count === 40 ? 0 : 1]!;
      const bookings = spread(count, window, `W${count}-`);
      const platform = createMemoryPlatform({ bookings });
      const more = { limits, windows: [window] };
      await sync(platform.reader, more);
      // Of 300 entries 120 are left, of 40 none.
      const left = count === 40 ? 0 : 120;
      platform.bookings.splice(left);
      const first = await sync(platform.reader, { ...more, runId: await nextRun() });
      expect(first).toMatchObject({ vanished: 0, failure: null });
      expect(first.uncertified).toEqual([
        left === 0
          ? { window, problem: expect.stringContaining(`lacks ${count} stored entries`), isHeld: true }
          : { window, problem: expect.stringContaining(`(${count - left} of ${count} in USD)`) },
      ]);
      expect(await certifiedWindows(database.db, 'M-TEST', window)).toEqual([]);
      if (left === 0) await acceptAllHeld(database.db, LATER);
      const second = await sync(platform.reader, { ...more, runId: await nextRun(), now: () => LATER });
      expect(second).toMatchObject({ vanished: count - left, uncertified: [] });
      expect(await certifiedWindows(database.db, 'M-TEST', window)).toEqual([window]);
    }
  });

  /** Reads a window again after its entries moved to where the platform now finds them. The stored rows must stay. */
  const readMoved = async (foundByMs: number, stampsByMs: number, more: Partial<SyncOptions> = {}) => {
    let lagMs = 0;
    const within = { beginMs: WINDOWS[1]!.beginMs, endMs: WINDOWS[1]!.beginMs + 60_000 };
    const platform = createMemoryPlatform({ bookings: spread(3, within, 'W-'), lagMs: () => lagMs });
    const windows = [WINDOWS[1]!];
    await sync(platform.reader, { windows });
    for (const [at, booking] of platform.bookings.entries())
      platform.bookings[at] = { ...booking, trueMs: booking.trueMs + foundByMs };
    lagMs = stampsByMs - foundByMs;
    const before = await stored();
    const again = { ...more, windows, runId: await nextRun() };
    const outcome = await sync(platform.reader, again).catch((error: unknown) => error);
    expect(await stored()).toEqual(before);
    return outcome;
  };
  const HOUR_MS = 3_600_000;
  const uncertified = (problem: string) => ({
    vanished: 0,
    uncertified: [{ window: WINDOWS[1], problem: expect.stringContaining(problem) }],
  });

  test('and that is found an hour off with the same timestamp ends that merchant: its zone changed', async () => {
    const message = expect.stringMatching(/changed the time zone of .* was right up to .* offset \+01:00/);
    expect(await readMoved(-HOUR_MS, 0)).toMatchObject({ failure: { name: 'TimeZoneChanged', message } });
  });

  test('because its timestamp moved is held: no zone explains it', async () => {
    expect(await readMoved(-HOUR_MS, -HOUR_MS)).toMatchObject(uncertified('lacks 3 stored entries'));
  });

  test('and that is found at a time that no zone explains stays stored, however often it is missing', async () => {
    const left = 'nothing of this run proves the time zone: they stay as they are';
    expect(await readMoved(-7 * 60_000, 0)).toMatchObject(uncertified(left));
    expect(await certifiedWindows(database.db, 'M-TEST', WINDOWS[1]!)).toEqual([WINDOWS[1]]);
  });

  test('is judged as usual if a person vouches for the zone, not if another merchant proved it', async () => {
    const trusted = createZoneGate('UTC', { isTrusted: true });
    expect(await readMoved(-7 * 60_000, 0, { zoneGate: trusted })).toMatchObject(
      uncertified('lacks 3 stored entries'),
    );
    const proven = createZoneGate('UTC');
    const other = createMemoryPlatform({ bookings: spread(2, WINDOWS[2]!, 'O-') });
    await sync(other.reader, { merchant: { ...MERCHANT, merchantNo: 'M-OTHER' }, zoneGate: proven });
    expect(await readMoved(-7 * 60_000, 0, { zoneGate: proven })).toMatchObject(
      uncertified('nothing of this run proves the time zone'),
    );
  });

  test('raises no doubt once it came in another window, moved to a later day', async () => {
    const [first, second] = WINDOWS as [Window, Window];
    const more = { limits: { windowsInProgressMax: 1 }, windows: [first, second] };
    const platform = createMemoryPlatform({
      bookings: [...spread(1, first, 'A-'), ...spread(3, second, 'B-')],
    });
    await sync(platform.reader, more);
    platform.bookings[0] = { ...platform.bookings[0]!, trueMs: second.beginMs + 3_600_000 };
    expect(await sync(platform.reader, { ...more, runId: await nextRun() })).toMatchObject({
      amended: 1,
      vanished: 0,
      uncertified: [],
    });
    expect(await certifiedWindows(database.db, 'M-TEST', ALL)).toEqual([
      { beginMs: first.beginMs, endMs: second.endMs },
    ]);
  });

  test('in a part that is now empty is believed to be gone if the whole window lacks little', async () => {
    const window = WINDOWS[0]!;
    const platform = createMemoryPlatform({ bookings: spread(400, window) });
    const more = { limits: { pageNumMax: 1 }, windows: [window] };
    await sync(platform.reader, more);
    platform.bookings.splice(10, 50);
    expect(await sync(platform.reader, { ...more, runId: await nextRun() })).toMatchObject({
      vanished: 50,
      uncertified: [],
    });
    expect(await stored()).toEqual(platform.truth(window));
  });

  test('stays unproven if a run is killed before all parts were read', async () => {
    const window = WINDOWS[0]!;
    let dies = false;
    const platform = createMemoryPlatform({
      bookings: spread(400, window),
      onQuery: (query) => {
        if (dies && query.window.beginMs > window.beginMs + 40_000_000) throw new PlatformUnreachable('gone');
      },
    });
    const more = { limits: { pageNumMax: 1, windowsInProgressMax: 1 }, windows: [window] };
    await sync(platform.reader, more);
    platform.bookings.splice(10, 5);
    dies = true;
    await sync(platform.reader, { ...more, runId: await nextRun() });
    expect(await certifiedWindows(database.db, 'M-TEST', window)).toEqual([]);
    dies = false;
    expect(await sync(platform.reader, { ...more, runId: await nextRun() })).toMatchObject({ vanished: 5 });
    expect(await certifiedWindows(database.db, 'M-TEST', window)).toEqual([window]);
  });

  test('because it comes unreadable is quarantined, not vanished', async () => {
    const platform = createMemoryPlatform({ bookings: spread(100, ALL) });
    await sync(platform.reader);
    const was = platform.bookings[30]!;
    platform.bookings[30] = {
      ...was,
      unreadable: {
        raw: `{"batchNo":"${was.batchNo}"}`,
        reason: 'vailAmount is missing',
        batchNo: was.batchNo,
      },
    };
    expect(await sync(platform.reader, { runId: await nextRun() })).toMatchObject({
      vanished: 0,
      quarantined: 1,
      uncertified: [],
    });
    expect(await vanishedCount()).toBe(0);
  });
});

test('two identical unreadable entries without batchNo are certified, stored once and counted', async () => {
  const wreck = { raw: '{"broken":1}', reason: 'batchNo is missing', batchNo: null };
  const bookings = spread(20, WINDOWS[0]!).map((booking, n) =>
    n < 2 ? { ...booking, unreadable: wreck } : booking,
  );
  const report = await sync(createMemoryPlatform({ bookings }).reader);
  expect(report).toMatchObject({ inserted: 18, quarantined: 1, uncertified: [] });
  expect(await listQuarantine(database.db)).toMatchObject([{ raw: wreck.raw, occurrences: 2 }]);
});

test('an entry that was not asked for is quarantined until a reading without it is certified', async () => {
  const [first, second] = [WINDOWS[0]!, WINDOWS[1]!];
  const stray = spread(1, { beginMs: second.beginMs + 43_200_000, endMs: second.endMs }, 'STRAY')[0]!;
  const platform = createMemoryPlatform({ bookings: [...spread(20, first), stray] });
  let strays = true;
  const straying: LedgerReader = {
    page: async (query, signal) => {
      const page = await platform.reader.page(query, signal);
      if (!strays || query.batchNo !== undefined || query.window.beginMs !== first.beginMs) return page;
      return { ...page, total: page.total + 1, entries: [...page.entries, ...platform.truth(second)] };
    },
  };
  const report = await sync(straying, { windows: [first] });
  expect(report.quarantined).toBe(1);
  expect(report.uncertified).toMatchObject([{ problem: expect.stringContaining('lies outside the window') }]);
  expect(await listQuarantine(database.db)).toMatchObject([
    {
      batch_no: stray.batchNo,
      reason: expect.stringContaining(
        `batchNo ${stray.batchNo} is booked at 2026-03-02 12:00:00, which lies outside the window: the platform ignores `,
      ),
      raw: expect.stringContaining(`"batchNo":"${stray.batchNo}","currency":"USD"`),
    },
  ]);
  strays = false;
  await sync(straying, { windows: [first], runId: await nextRun() });
  expect(await listQuarantine(database.db)).toEqual([]);
});

test('for a platform that ignores dates in queries with a batchNo, no row is stored with a wrong zone', async () => {
  const platform = createMemoryPlatform({
    bookings: spread(250, { beginMs: WINDOWS[1]!.beginMs, endMs: WINDOWS[3]!.endMs }),
    zone: 'Asia/Shanghai',
    believedZone: 'UTC',
    faults: { ignoresWindowBesideBatchNo: true },
  });
  const { failure } = await sync(platform.reader);
  expect(failure?.message).toMatch(/PLATFORM_TIME_ZONE/);
  expect(await rowCount()).toBe(0);
});

test('a ledger without any entry is certified by one call, without a proof of the zone', async () => {
  expect(await sync(createMemoryPlatform({ bookings: [] }).reader)).toMatchObject({
    requests: 1,
    windows: 5,
  });
  expect(await certifiedWindows(database.db, 'M-TEST', ALL)).toEqual([ALL]);
});

test('after a platform fails midway, certified windows stay, and the report has the failure', async () => {
  const platform = createMemoryPlatform({
    bookings: spread(1_000, ALL),
    onQuery: ({ window }) => {
      if (window.beginMs === WINDOWS[3]!.beginMs) throw new PlatformUnreachable('no answer');
    },
  });
  const report = await sync(platform.reader, { limits: { widePages: 0, windowsInProgressMax: 1 } });
  expect(report.failure).toEqual(new PlatformUnreachable('no answer'));
  expect(report).toMatchObject({ windows: 3, inserted: 600, interrupted: false });
  const { beginMs } = ALL;
  expect(await certifiedWindows(database.db, 'M-TEST', ALL)).toEqual([{ beginMs, endMs: WINDOWS[2]!.endMs }]);
});

test('a refused merchant fails alone', async () => {
  const reader: LedgerReader = { page: () => Promise.reject(new PlatformRejected('401')) };
  const refused = { failure: new PlatformRejected('401'), windows: 0 };
  expect(await sync(reader, { limits: { widePages: 0 } })).toMatchObject({ ...refused, requests: 5 });
  // The wide window may be what is refused. So its halves are asked for, and theirs, down to a day.
  expect(await sync(reader)).toMatchObject({ ...refused, requests: 7 });
});

test('when asked to stop, it stops after a whole window and reports what it stored', async () => {
  const stop = new AbortController();
  const platform = createMemoryPlatform({ bookings: spread(1_000, ALL) });
  const report = await sync(platform.reader, {
    signal: stop.signal,
    limits: { widePages: 0, windowsInProgressMax: 1 },
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
  await releaseLeases(database.db, [lease]);
  await expect(sync(platform.reader)).rejects.toMatchObject({ name: 'LeaseLost' });
  expect(await rowCount()).toBe(0);
});

test('entries of a window that does not add up are stored without certificate', async () => {
  const platform = createMemoryPlatform({ bookings: spread(100, ALL) });
  const lying: LedgerReader = {
    page: async (query, signal) => {
      const page = await platform.reader.page(query, signal);
      const isOdd = query.window.beginMs <= WINDOWS[1]!.beginMs && query.window.endMs >= WINDOWS[1]!.endMs;
      return isOdd ? { ...page, total: page.total + 1 } : page;
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
  expect((await sync(noting)).notices).toEqual({ 'currency XTS is on no list': 1 });
});
