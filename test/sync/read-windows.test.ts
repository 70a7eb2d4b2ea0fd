import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LedgerEntry, Window } from '../../src/ledger/entry.ts';
import { mergeWindows } from '../../src/ledger/window.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import type { WindowReading } from '../../src/store/compare-with-stored.ts';
import { READ_LIMITS, type ReadLimits } from '../../src/sync/limits.ts';
import { readWindows } from '../../src/sync/read-windows.ts';
import { createReadingWork } from '../../src/sync/reading-work.ts';
import { createMemoryPlatform, spread, type Booking, type Faults } from './memory-platform.ts';
import { virtualLine } from './virtual-line.ts';

const MERCHANT = { merchantNo: 'M-TEST', token: 'made-up' };
const BEGIN_MS = Date.parse('2026-03-01T00:00:00Z');
const DAY_MS = 86_400_000;
const days = (count: number): Window[] =>
  Array.from({ length: count }, (_, day) => ({
    beginMs: BEGIN_MS + day * DAY_MS,
    endMs: BEGIN_MS + (day + 1) * DAY_MS - 1,
  }));
const DAY = days(1)[0]!;
const HOUR: Window = { beginMs: BEGIN_MS, endMs: BEGIN_MS + 3_600_000 - 1 };
const SECOND: Window = { beginMs: BEGIN_MS, endMs: BEGIN_MS + 999 };

interface Part {
  readonly window: Window;
  readonly reading: WindowReading;
}

async function readAll(
  reader: LedgerReader,
  windows: readonly Window[],
  limits: Partial<ReadLimits> = {},
  onReading: (part: Part) => Promise<void> = () => Promise.resolve(),
): Promise<{ parts: Part[]; requests: number; windowsDone: number }> {
  const parts: Part[] = [];
  let requests = 0;
  let windowsDone = 0;
  await readWindows({
    reader: {
      page: (query, signal) => {
        requests += 1;
        return reader.page(query, signal);
      },
    },
    merchant: MERCHANT,
    asked: windows.map((window) => ({ window, currency: null, planned: [window] })),
    limits,
    work: createReadingWork(windows.length, { ...READ_LIMITS, ...limits, callsMin: Infinity }),
    storedNear: () => Promise.resolve(null),
    signal: new AbortController().signal,
    onFirstPage: () => Promise.resolve(),
    onContradiction: () => undefined,
    onReading: async ({ window }, { reading }) => {
      await onReading({ window, reading });
      parts.push({ window, reading });
    },
    onWindowDone: () => (windowsDone += 1),
  });
  parts.sort((a, b) => a.window.beginMs - b.window.beginMs);
  return { parts, requests, windowsDone };
}

const byBatchNo = (entries: readonly LedgerEntry[]) =>
  [...entries].sort((a, b) => (a.batchNo < b.batchNo ? -1 : 1));
const entriesOf = (parts: readonly Part[]) => byBatchNo(parts.flatMap(({ reading }) => reading.entries));
const allCertified = (parts: readonly Part[]) => parts.every(({ reading }) => reading.certified);

test('a small window costs one call, and its only reading is certified', async () => {
  const platform = createMemoryPlatform({ bookings: spread(40, DAY) });
  const { parts, requests, windowsDone } = await readAll(platform.reader, [DAY]);
  expect(parts).toEqual([
    {
      window: DAY,
      reading: {
        entries: platform.truth(DAY),
        unreadable: [],
        total: 40,
        requests: 1,
        certified: true,
        problem: null,
      },
    },
  ]);
  expect({ requests, windowsDone }).toEqual({ requests: 1, windowsDone: 1 });
});

test('an empty window is certified by one call', async () => {
  const { parts, requests } = await readAll(createMemoryPlatform({ bookings: [] }).reader, [DAY]);
  expect(parts.map(({ reading }) => [reading.certified, reading.total, requests])).toEqual([[true, 0, 1]]);
});

test('an unchanging ledger costs its pages, and only if the last page is full three calls more: the next page, and both halves', async () => {
  for (const [count, calls] of [
    [1, 1],
    [99, 1],
    [100, 4],
    [101, 2],
    [250, 3],
    [300, 6],
    [9_999, 100],
    [10_000, 103],
  ] as const) {
    const platform = createMemoryPlatform({ bookings: spread(count, DAY) });
    const { parts, requests } = await readAll(platform.reader, [DAY]);
    expect([count, requests, entriesOf(parts)]).toEqual([count, calls, platform.truth(DAY)]);
  }
});

test('a total that hides entries after a full last page is noticed', async () => {
  const platform = createMemoryPlatform({ bookings: spread(130, DAY) });
  const hiding: LedgerReader = {
    page: async (query, signal) => ({ ...(await platform.reader.page(query, signal)), total: 100 }),
  };
  const { parts } = await readAll(hiding, [DAY]);
  expect(parts[0]!.reading).toMatchObject({ certified: false });
  expect(parts[0]!.reading.problem).toContain('page 2 held 30 entries where a total of 100 leaves none');
  expect(entriesOf(parts)).toEqual(platform.truth(DAY));
});

test('a platform that repeats its last page beyond the end is certified', async () => {
  const platform = createMemoryPlatform({ bookings: spread(200, DAY) });
  const clamping: LedgerReader = {
    page: (query, signal) => platform.reader.page({ ...query, pageNum: Math.min(2, query.pageNum) }, signal),
  };
  const { parts } = await readAll(clamping, [DAY]);
  expect([allCertified(parts), entriesOf(parts)]).toEqual([true, platform.truth(DAY)]);
});

test('100,000 entries of one day cost less than 1.03 times their pages', { tags: ['long'] }, async () => {
  const platform = createMemoryPlatform({ bookings: spread(100_000, DAY) });
  const { parts, requests } = await readAll(platform.reader, [DAY]);
  expect(parts.reduce((count, { reading }) => count + reading.entries.length, 0)).toBe(100_000);
  expect(allCertified(parts)).toBe(true);
  expect(requests / 1_000).toBeLessThan(1.03);
});

test.each([
  ['over 30 days', 30],
  ['over 3 days, each deep', 3],
])(
  '50 ms a call and 16 at once: 100,000 entries %s take less than 1.10 times the ideal',
  { tags: ['long'] },
  async (_, dayCount) => {
    const windows = days(dayCount);
    const all = { beginMs: windows[0]!.beginMs, endMs: windows.at(-1)!.endMs };
    const platform = createMemoryPlatform({ bookings: spread(100_000, all) });
    const line = virtualLine(platform.reader, { latencyMs: 50, concurrency: 16 });
    const { requests } = await readAll(line.reader, windows);
    expect(line.inFlightMost()).toBe(16);
    expect(line.elapsedMs() / ((requests * 50) / 16)).toBeLessThan(1.1);
  },
);

/** Reads until the platform fails after that many calls. Returns the days certified by then; the first day is 0. */
async function certifiedBeforeDeath(
  bookings: Booking[],
  windows: readonly Window[],
  { concurrency, callsMax }: { readonly concurrency: number; readonly callsMax: number },
): Promise<number[]> {
  const platform = createMemoryPlatform({ bookings });
  let calls = 0;
  const dying: LedgerReader = {
    page: (query, signal) => {
      calls += 1;
      if (calls > callsMax) throw new Error('down');
      return platform.reader.page(query, signal);
    },
  };
  const certified: number[] = [];
  const line = virtualLine(dying, { latencyMs: 50, concurrency });
  await readAll(line.reader, windows, {}, ({ window, reading }) => {
    if (reading.certified) certified.push(Math.floor((window.beginMs - BEGIN_MS) / DAY_MS));
    return Promise.resolve();
  }).catch(() => undefined);
  return certified.sort((a, b) => a - b);
}

test('if the platform fails midway, the oldest windows are certified, in whatever order they were requested', async () => {
  const windows = days(40);
  const all = { beginMs: windows[0]!.beginMs, endMs: windows.at(-1)!.endMs };
  // Eight pages a day. Forty calls are five days at best, one after the other.
  const bookings = spread(40 * 780, all);
  for (const asked of [windows, windows.toReversed()]) {
    const certified = await certifiedBeforeDeath(bookings, asked, { concurrency: 8, callsMax: 40 });
    expect(certified.slice(0, 4)).toEqual([0, 1, 2, 3]);
  }
});

test(
  'the same if large days are split: the oldest parts of the oldest day come first',
  { tags: ['long'] },
  async () => {
    const windows = days(3);
    const all = { beginMs: windows[0]!.beginMs, endMs: windows.at(-1)!.endMs };
    const bookings = spread(3 * 33_000, all);
    // A third of all calls, and some first pages. The first day is complete, and the last has next to nothing.
    const certified = await certifiedBeforeDeath(bookings, windows, { concurrency: 16, callsMax: 400 });
    expect(certified.filter((day) => day === 0)).toHaveLength(5);
    expect(certified).not.toContain(2);
  },
);

test(
  'there are never more pages in memory than the limit, however slow the store',
  { tags: ['long'] },
  async () => {
    const windows = days(40);
    const all = { beginMs: windows[0]!.beginMs, endMs: windows.at(-1)!.endMs };
    const platform = createMemoryPlatform({ bookings: spread(60_000, all) });
    let fetched = 0;
    let stored = 0;
    let most = 0;
    const counting: LedgerReader = {
      page: async (query, signal) => {
        const page = await platform.reader.page(query, signal);
        // Of halves that are asked for to find a cap, only the total is kept.
        if (
          windows.some(
            ({ beginMs, endMs }) => beginMs === query.window.beginMs && endMs === query.window.endMs,
          )
        )
          fetched += page.entries.length;
        most = Math.max(most, fetched - stored);
        return page;
      },
    };
    const limits = { pagesInProgressMax: 60, windowsInProgressMax: 8 };
    await readAll(counting, windows, limits, async ({ reading }) => {
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
      stored += reading.entries.length;
    });
    expect(stored).toBe(60_000);
    expect(most).toBeLessThanOrEqual(60 * 100);
  },
);

test('many entries within a few seconds are read by splitting again', async () => {
  const bookings = [0, 7_200, 50_000].flatMap((atS, index) =>
    spread(9_000, { beginMs: BEGIN_MS + atS * 1_000, endMs: BEGIN_MS + atS * 1_000 + 2_999 }, `C${index}-`),
  );
  const platform = createMemoryPlatform({ bookings });
  const { parts } = await readAll(platform.reader, [DAY]);
  expect([allCertified(parts), entriesOf(parts)]).toEqual([true, platform.truth(DAY)]);
});

test('5,000 entries of one millisecond are read in one window', async () => {
  const bookings = spread(5_000, { beginMs: BEGIN_MS, endMs: BEGIN_MS });
  const platform = createMemoryPlatform({ bookings });
  const { parts, requests } = await readAll(platform.reader, [DAY]);
  expect([allCertified(parts), entriesOf(parts), requests]).toEqual([true, platform.truth(DAY), 53]);
});

test.each([
  ['of one millisecond, with more pages than a window may have', 0],
  ['spread over the milliseconds', 999],
])('12,000 entries of one second, %s, are stored as that second', async (_, spreadMs) => {
  const bookings = spread(12_000, { beginMs: BEGIN_MS, endMs: BEGIN_MS + spreadMs });
  const platform = createMemoryPlatform({ bookings });
  const { parts } = await readAll(platform.reader, [DAY]);
  expect([allCertified(parts), entriesOf(parts)]).toEqual([true, platform.truth(DAY)]);
  expect(parts.filter(({ reading }) => reading.total > 0).map(({ window }) => window)).toEqual([SECOND]);
  for (const { window } of parts) expect([window.beginMs % 1_000, window.endMs % 1_000]).toEqual([0, 999]);
});

test('if the order changes with every request, windows of one page are used', async () => {
  const platform = createMemoryPlatform({ bookings: spread(6_000, DAY), faults: { order: 'shuffled' } });
  const { parts, requests } = await readAll(platform.reader, [DAY]);
  expect([allCertified(parts), entriesOf(parts)]).toEqual([true, platform.truth(DAY)]);
  expect(requests).toBeLessThan(60 * 2 + 101 * 1.2);
});

test('the parts of windows that are split side by side are asked for in the order of time', async () => {
  const windows = days(2);
  const all = { beginMs: windows[0]!.beginMs, endMs: windows.at(-1)!.endMs };
  const platform = createMemoryPlatform({ bookings: spread(1_200, all) });
  const limits = { pageNumMax: 1, windowsInProgressMax: 2 };
  const { parts } = await readAll(platform.reader, windows, limits);
  expect([allCertified(parts), entriesOf(parts)]).toEqual([true, platform.truth(all)]);
  const asked = platform.queries.map(({ window }) => window.beginMs);
  expect(asked.slice(0, 2)).toEqual(windows.map(({ beginMs }) => beginMs));
  expect(asked.slice(2)).toEqual(asked.slice(2).sort((a, b) => a - b));
});

test('once the order has changed, later windows are not read in several pages', async () => {
  const windows = days(20);
  const all = { beginMs: windows[0]!.beginMs, endMs: windows.at(-1)!.endMs };
  const platform = createMemoryPlatform({ bookings: spread(40_000, all), faults: { order: 'shuffled' } });
  const { parts, requests } = await readAll(platform.reader, windows, { windowsInProgressMax: 2 });
  expect([allCertified(parts), entriesOf(parts)]).toEqual([true, platform.truth(all)]);
  expect(requests / 400).toBeLessThan(2.1);
});

test('one second whose order changes with every request is read until all entries were seen', async () => {
  const bookings = spread(1_500, { beginMs: BEGIN_MS, endMs: BEGIN_MS });
  const platform = createMemoryPlatform({ bookings, faults: { order: 'shuffled' } });
  const { parts } = await readAll(platform.reader, [SECOND]);
  expect([allCertified(parts), entriesOf(parts)]).toEqual([true, platform.truth(DAY)]);
});

test('an entry that comes while pages are read is in the certified reading', async () => {
  const late = spread(1, { beginMs: BEGIN_MS + 5_000, endMs: BEGIN_MS + 5_000 }, 'LATE');
  const platform = createMemoryPlatform({
    bookings: spread(450, DAY),
    onQuery: (_, count, bookings) => {
      if (count === 3) bookings.push(...late);
    },
  });
  const { parts } = await readAll(platform.reader, [DAY]);
  expect([allCertified(parts), entriesOf(parts)]).toEqual([true, platform.truth(DAY)]);
  expect(entriesOf(parts)).toHaveLength(451);
});

test('if entries keep coming, the windows become one page each, and are certified', async () => {
  const platform = createMemoryPlatform({
    bookings: spread(2_000, DAY),
    onQuery: (_, count, bookings) => {
      const atMs = BEGIN_MS + ((count * 7_919_000) % DAY_MS);
      if (count < 200) bookings.push(...spread(1, { beginMs: atMs, endMs: atMs }, `LATE${count}-`));
    },
  });
  const { parts } = await readAll(platform.reader, [DAY]);
  expect(allCertified(parts)).toBe(true);
});

test('an unreadable entry counts for the certificate, by its batchNo or by its raw text', async () => {
  const [first, second, ...rest] = spread(30, DAY);
  const rejectedAs = (booking: Booking, batchNo: string | null): Booking => ({
    ...booking,
    unreadable: { raw: `{"n":${booking.batchNo}}`, reason: 'no batchNo', batchNo },
  });
  const bookings = [rejectedAs(first!, first!.batchNo), rejectedAs(second!, null), ...rest];
  const { parts } = await readAll(createMemoryPlatform({ bookings }).reader, [DAY]);
  expect(parts[0]!.reading).toMatchObject({ certified: true, total: 30 });
  expect([parts[0]!.reading.entries.length, parts[0]!.reading.unreadable.length]).toEqual([28, 2]);
});

test('a window that never adds up is given up with its figures, and the entries seen are kept', async () => {
  const platform = createMemoryPlatform({ bookings: spread(30, DAY) });
  const lying: LedgerReader = {
    page: async (query, signal) => ({ ...(await platform.reader.page(query, signal)), total: 31 }),
  };
  const { parts, requests } = await readAll(lying, [DAY]);
  expect(parts[0]!.reading).toMatchObject({
    certified: false,
    problem:
      'the window 2026-03-01T00:00:00.000Z to 2026-03-01T23:59:59.999Z could not be certified in 8 readings: ' +
      'page 1 of 31 entries held 30 where 31 were due',
  });
  expect([entriesOf(parts), requests]).toEqual([platform.truth(DAY), 8]);
});

test('only the part that does not add up stays without certificate', async () => {
  const platform = createMemoryPlatform({ bookings: spread(1_000, DAY) });
  const badMs = BEGIN_MS + 43_200_000;
  const lying: LedgerReader = {
    page: async (query, signal) => {
      const page = await platform.reader.page(query, signal);
      const isBad = query.window.beginMs <= badMs && badMs <= query.window.endMs;
      return { ...page, total: page.total + (isBad ? 1 : 0) };
    },
  };
  const { parts } = await readAll(lying, [DAY]);
  const bad = parts.filter(({ reading }) => !reading.certified);
  expect(bad).toHaveLength(1);
  expect(bad[0]!.window.endMs - bad[0]!.window.beginMs).toBeLessThan(DAY_MS / 10);
  expect(entriesOf(parts)).toEqual(platform.truth(DAY));
});

test.each([
  ['totals without end', (total: number) => 1e9 + total],
  ['totals that grow with every call', (total: number, count: number) => total + count],
])('%s cost a limited number of calls', async (_, wrong) => {
  const platform = createMemoryPlatform({ bookings: spread(3_000, DAY) });
  const lying: LedgerReader = {
    page: async (query, signal) => {
      const page = await platform.reader.page(query, signal);
      return { ...page, total: wrong(page.total, platform.queries.length) };
    },
  };
  const { parts, requests } = await readAll(lying, [DAY]);
  expect(requests).toBeLessThan(7_000);
  expect(parts.some(({ reading }) => !reading.certified)).toBe(true);
  expect(mergeWindows(parts.map(({ window }) => window))).toEqual([DAY]);
});

test('a reader that fails stops the reading, and no more calls are made', async () => {
  const platform = createMemoryPlatform({
    bookings: spread(3_000, DAY),
    onQuery: (_, count) => {
      if (count === 5) throw new Error('gone');
    },
  });
  await expect(readAll(platform.reader, days(50), { windowsInProgressMax: 2 })).rejects.toThrow('gone');
  expect(platform.queries.length).toBeLessThan(60);
});

/** A small ledger: up to two hours, seconds with many entries, times in ms or in full seconds. */
const ledgers = fc
  .record({
    crowds: fc.array(
      fc.record({
        atS: fc.integer({ min: 0, max: 3_599 }),
        overS: fc.constantFrom(0, 1, 2, 30, 600),
        count: fc.integer({ min: 1, max: 350 }),
      }),
      { maxLength: 6 },
    ),
    hasMs: fc.boolean(),
  })
  .map(({ crowds, hasMs }) =>
    crowds.flatMap(({ atS, overS, count }, index) => {
      const beginMs = BEGIN_MS + atS * 1_000;
      const endMs = Math.min(HOUR.endMs, beginMs + overS * 1_000 + 999);
      return spread(count, { beginMs, endMs }, `G${index}-`).map((booking) => ({
        ...booking,
        trueMs: hasMs ? booking.trueMs : Math.floor(booking.trueMs / 1_000) * 1_000,
      }));
    }),
  );

const probability = fc.constantFrom(0, 0, 0.05, 0.5, 1);
const order = fc.constantFrom('time' as const, 'latest first' as const, 'shuffled' as const);
/**
 * Either wrong totals or wrong contents. A reply in which both are wrong and match is a right reply from another
 * ledger.
 */
const faultsOf: fc.Arbitrary<Faults> = fc.oneof(
  fc.record({ order, wrongTotals: probability }),
  fc.record({ order, doubled: probability, short: probability, outOfScope: probability }),
);
const SMALL: Partial<ReadLimits> = {
  pageNumMax: 3,
  pageNumIndivisibleMax: 12,
  failedCallsMax: 300,
  pagesInProgressMax: 20,
  windowsInProgressMax: 4,
};

test(
  'whatever a platform does, a certified window holds what the platform held at one instant',
  { tags: ['long'] },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        ledgers,
        faultsOf,
        fc.integer(),
        fc.nat(60),
        async (bookings, faults, seed, lateCount) => {
          const joinedAt = new Map<string, number>();
          const platform = createMemoryPlatform({
            bookings,
            faults,
            seed,
            onQuery: (_, count, booked) => {
              if (count > lateCount) return;
              const atMs = BEGIN_MS + ((count * 7_919_000) % 3_600_000);
              const [late] = spread(1, { beginMs: atMs, endMs: atMs }, `LATE${count}-`);
              joinedAt.set(late!.batchNo, count);
              booked.push(late!);
            },
          });
          const { parts } = await readAll(platform.reader, [HOUR], SMALL);
          expect(mergeWindows(parts.map(({ window }) => window))).toEqual([HOUR]);
          for (const { window, reading } of parts) {
            if (!reading.certified) {
              expect(reading.problem).toMatch(/^the window .* could not be certified/);
              continue;
            }
            const lastJoined = Math.max(
              0,
              ...reading.entries.map(({ batchNo }) => joinedAt.get(batchNo) ?? 0),
            );
            const then = platform
              .truth(window)
              .filter(({ batchNo }) => (joinedAt.get(batchNo) ?? 0) <= lastJoined);
            expect(byBatchNo(reading.entries)).toEqual(then);
          }
        },
      ),
      { numRuns: 200 },
    );
  },
);

test(
  'an unchanging ledger is completely certified in any order, and cheaply if the order is stable',
  { tags: ['long'] },
  async () => {
    await fc.assert(
      fc.asyncProperty(ledgers, order, async (bookings, ordered) => {
        const platform = createMemoryPlatform({ bookings, faults: { order: ordered } });
        const { parts, requests } = await readAll(platform.reader, [HOUR]);
        expect(allCertified(parts)).toBe(true);
        expect(entriesOf(parts)).toEqual(platform.truth(HOUR));
        if (ordered !== 'shuffled') {
          expect(requests).toBeLessThanOrEqual(Math.max(1, Math.ceil(bookings.length / 100)) + 1);
        }
      }),
      { numRuns: 100 },
    );
  },
);
