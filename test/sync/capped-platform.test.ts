/** Lists and totals that end at a cap, totals that count the whole ledger, and how many calls replies that never add up may cost. */
import { expect, test } from 'vitest';
import type { Window } from '../../src/ledger/entry.ts';
import type { LedgerPage, LedgerReader } from '../../src/platform/ledger-reader.ts';
import { READ_LIMITS } from '../../src/sync/limits.ts';
import { readWindows } from '../../src/sync/read-windows.ts';
import { createReadingWork } from '../../src/sync/reading-work.ts';
import { planWindows, wideOf } from '../../src/sync/wide-windows.ts';
import { createMemoryPlatform, spread, type MemoryPlatform } from './memory-platform.ts';

const DAYS = planWindows({
  fromDay: '2026-03-01',
  toDay: '2026-03-08',
  zone: 'UTC',
  latestMs: Date.parse('2026-04-01T00:00:00Z'),
});
const ALL: Window = { beginMs: DAYS[0]!.beginMs, endMs: DAYS.at(-1)!.endMs };

type Change = (page: LedgerPage, all: number) => LedgerPage;

/** Reads the eight days as one window, from a platform that is asked for the first time. */
async function readFirst(platform: MemoryPlatform, change: Change) {
  let calls = 0;
  const reader: LedgerReader = {
    page: async (query, signal) => {
      calls += 1;
      return change(await platform.reader.page(query, signal), platform.bookings.length);
    },
  };
  const work = createReadingWork(DAYS.length, READ_LIMITS);
  const proven = new Set<string>();
  const problems: string[] = [];
  const failure = await readWindows({
    ...{ reader, work, asked: [{ ...wideOf(DAYS), readBefore: [] }] },
    merchant: { merchantNo: 'M-TEST', token: 'made-up' },
    storedNear: () => Promise.resolve(null),
    signal: new AbortController().signal,
    onFirstPage: () => Promise.resolve(),
    onContradiction: () => undefined,
    onWindowDone: () => undefined,
    onReading: (_, { reading }) => {
      if (reading.certified) for (const { batchNo } of reading.entries) proven.add(batchNo);
      else problems.push(reading.problem!);
      return Promise.resolve();
    },
  }).then(
    () => null,
    (error: unknown) => (error as Error).message,
  );
  return { calls, proven: proven.size, problems, caps: work.caps(), failure };
}

/** The memory platform sends pages of a window in order; with a cap the pages after it are empty. */
const cappedAt = (most: number) => {
  return (platform: MemoryPlatform): LedgerReader => ({
    page: async (query, signal) => {
      const page = await platform.reader.page(query, signal);
      const left = Math.max(0, most - 100 * (query.pageNum - 1));
      return { ...page, total: Math.min(most, page.total), entries: page.entries.slice(0, left) };
    },
  });
};

test.each([
  ['the oldest 100', 280, 100, 'time'],
  ['the newest 100', 280, 100, 'latest first'],
  ['the oldest 1,000', 1_360, 1_000, 'time'],
  ['the oldest 130, as the rest of the week would be quiet', 280, 130, 'time'],
] as const)(
  'a platform that shows %s is named, and each day is read by itself',
  async (_, count, most, order) => {
    const platform = createMemoryPlatform({ bookings: spread(count, ALL), faults: { order } });
    const capped = { ...platform, reader: cappedAt(most)(platform) };
    const { caps, proven, problems, failure } = await readFirst(capped, (page) => page);
    expect(caps[0]).toMatch(new RegExp(`the total is ${most}, .* caps its results at ${most}$`));
    expect([proven, problems, failure]).toEqual([count, [], null]);
  },
);

test('no day is proven that holds more than the cap', async () => {
  const platform = createMemoryPlatform({ bookings: spread(8 * 150, ALL) });
  const capped = { ...platform, reader: cappedAt(100)(platform) };
  const { proven, problems } = await readFirst(capped, (page) => page);
  expect(proven).toBe(0);
  expect(problems).toHaveLength(DAYS.length);
  expect(problems[0]).toMatch(
    /^the window .* could not be certified: the total is 100, but its parts hold 150/,
  );
});

test('a cap that hides one entry is found by the halves, which show it', async () => {
  const platform = createMemoryPlatform({ bookings: spread(101, ALL) });
  const capped = { ...platform, reader: cappedAt(100)(platform) };
  const { caps, proven, problems } = await readFirst(capped, (page) => page);
  expect(caps[0]).toMatch(/the total is 100, but its parts hold 101: the platform caps its results at 100$/);
  expect([proven, problems]).toEqual([101, []]);
});

test('a window of a hundred entries that is whole is proven by its halves', async () => {
  const platform = createMemoryPlatform({ bookings: spread(100, ALL) });
  const { calls, proven, caps } = await readFirst(platform, (page) => page);
  expect({ calls, proven, caps }).toEqual({ calls: 4, proven: 100, caps: [] });
});

test('an entry that comes between a window and its halves is no cap', async () => {
  const platform = createMemoryPlatform({ bookings: spread(100, ALL) });
  let calls = 0;
  const { proven, caps, problems } = await readFirst(platform, (page) => {
    calls += 1;
    if (calls === 2) platform.bookings.push(...spread(1, ALL, 'LATE'));
    return page;
  });
  expect({ proven, caps, problems }).toEqual({ proven: 101, caps: [], problems: [] });
});

test.each([
  [200, 20],
  [3_000, 600],
])(
  'totals that count a whole ledger of %d entries end the reading after at most %d calls, by that name',
  async (count, most) => {
    const platform = createMemoryPlatform({ bookings: spread(count, ALL) });
    const { calls, failure, proven } = await readFirst(platform, (page, all) => ({
      ...page,
      total: all + 5_000,
    }));
    expect(failure).toMatch(
      new RegExp(`states the total ${count + 5_000} for each of \\d+ windows .* counts all of the ledger`),
    );
    expect(proven).toBe(0);
    expect(calls).toBeLessThanOrEqual(most);
  },
);

test('replies that never add up end the reading at a limit of calls, by that name', async () => {
  const platform = createMemoryPlatform({ bookings: spread(200, ALL) });
  let nth = 0;
  const { calls, failure } = await readFirst(platform, (page) => ({ ...page, total: 150 + (nth += 1) }));
  const most = READ_LIMITS.callsMin + READ_LIMITS.callsPerWindow * DAYS.length;
  expect(failure).toContain(
    `reading was stopped after ${most} calls, the limit for 8 windows and 0 proven pages`,
  );
  expect(calls).toBe(most);
});
