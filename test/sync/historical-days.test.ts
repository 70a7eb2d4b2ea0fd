import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import type { BusinessDay } from '../../src/ledger/entry.ts';
import { PlatformRejected } from '../../src/platform/errors.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import { startRun } from '../../src/store/runs.ts';
import {
  DIFFERING_DAYS_MAX,
  FOLLOW_CALLS_MAX,
  checkHistoricalDays,
  type HistoricalCheck,
  type HistoricalCheckOptions,
} from '../../src/sync/historical-days.ts';
import { planWindows } from '../../src/sync/wide-windows.ts';
import { syncMerchant } from '../../src/sync/sync.ts';
import { freshDatabase } from '../support/database.ts';
import {
  createMemoryPlatform,
  spread,
  type MemoryPlatform,
  type MemoryPlatformOptions,
} from './memory-platform.ts';

const ZONE = 'UTC';
const FIRST = '2026-01-01';
const DAYS = 64;
const PER_DAY = 5;
const dayAt = (nth: number): BusinessDay => addDays(FIRST, nth);
const LAST = dayAt(DAYS - 1);
const NOW = new Date('2026-04-01T00:00:00Z');
const MERCHANT = { merchantNo: 'M-TEST', token: 'made-up' };

let database: Database;
let lease: Lease;

beforeEach(async () => {
  database = await freshDatabase();
  lease = await acquireLease(database.db, { name: 'ledger', holder: 'test', ttlMs: 600_000 });
});
afterEach(() => database.close());

/** A platform all of whose days are stored. */
async function storedPlatform(more: Partial<MemoryPlatformOptions> = {}): Promise<MemoryPlatform> {
  const bookings = Array.from({ length: DAYS }, (_, nth) =>
    spread(PER_DAY, dayWindow(dayAt(nth), ZONE), `${dayAt(nth)}-`),
  ).flat();
  const platform = createMemoryPlatform({ bookings, ...more });
  const run = { command: 'sync', holder: 'test', fromDay: null, toDay: null, now: NOW } as const;
  const report = await syncMerchant({
    reader: platform.reader,
    db: database.db,
    lease,
    merchant: MERCHANT,
    windows: planWindows({ fromDay: FIRST, toDay: LAST, zone: ZONE, latestMs: NOW.getTime() }),
    zone: ZONE,
    runId: await startRun(database.db, run),
    now: () => NOW,
    clockToleranceS: 2,
    signal: new AbortController().signal,
  });
  expect(report).toMatchObject({ failure: null, uncertified: [] });
  platform.queries.splice(0);
  return platform;
}

const lookBy = (reader: LedgerReader, more: Partial<HistoricalCheckOptions> = {}) =>
  checkHistoricalDays({
    reader,
    db: database.db,
    merchant: MERCHANT,
    zone: ZONE,
    older: [{ from: FIRST, to: LAST }],
    recent: null,
    clockSkewMs: 0,
    round: null,
    windowsMax: 2,
    now: NOW,
    signal: new AbortController().signal,
    ...more,
  });
const look = async (
  reader: LedgerReader,
  more: Partial<HistoricalCheckOptions> = {},
): Promise<HistoricalCheck> => {
  const made = await lookBy(reader, more);
  if ('notMade' in made) throw new Error(made.notMade);
  return made;
};
const numberOf = (nth: number, at: number): string => `${dayAt(nth)}-${String(at).padStart(7, '0')}`;
const takeOut = ({ bookings }: MemoryPlatform, batchNo: string): void => {
  bookings.splice(
    bookings.findIndex((one) => one.batchNo === batchNo),
    1,
  );
};

test('an unchanged ledger costs a call, whose page is the next one of the round, and nothing differs', async () => {
  const { reader, queries } = await storedPlatform();
  expect(await look(reader)).toEqual({
    from: FIRST,
    to: LAST,
    total: DAYS * PER_DAY,
    ...{ stored: DAYS * PER_DAY, storedOlder: DAYS * PER_DAY },
    differing: [],
    alsoDiffering: [],
    hasMore: false,
    isContradicted: false,
    cap: null,
    isLimitNew: false,
    isOverdue: false,
    round: {
      ...{ read: 100, of: DAYS * PER_DAY, beganAt: NOW, throughMs: Date.parse('2026-01-20T19:12:00Z') },
      ...{ widestMs: null, order: 'oldest first', refused: null },
    },
    requests: 1,
  });
  expect(queries).toHaveLength(1);
});

describe('further ranges', () => {
  const MONTH = { from: FIRST, to: '2026-01-31' };
  const exchange = (platform: MemoryPlatform) => {
    takeOut(platform, numberOf(24, 2));
    platform.bookings.push(...spread(1, dayWindow(dayAt(50), ZONE), 'LATE-'));
  };

  test('that are as they are stored cost a call each', async () => {
    const { reader } = await storedPlatform();
    const both = [MONTH, { from: '2026-02-01', to: LAST }];
    expect(await look(reader, { alsoCompared: both })).toMatchObject({
      requests: 3,
      alsoDiffering: [],
      differing: [],
    });
  });

  test('show an exchange of entries that leaves the total of all days as it was', async () => {
    const platform = await storedPlatform();
    exchange(platform);
    expect(await look(platform.reader)).toMatchObject({ total: DAYS * PER_DAY, differing: [] });
    const { differing, alsoDiffering, isContradicted } = await look(platform.reader, {
      alsoCompared: [MONTH],
    });
    expect([differing, isContradicted]).toEqual([[dayAt(24)], false]);
    expect(alsoDiffering).toEqual([{ ...MONTH, total: 31 * PER_DAY - 1, stored: 31 * PER_DAY }]);
  });

  test('are not followed twice where all days together differ', async () => {
    const platform = await storedPlatform();
    takeOut(platform, numberOf(24, 2));
    const alone = await look(platform.reader);
    const both = await look(platform.reader, { alsoCompared: [MONTH] });
    expect([both.differing, both.requests - alone.requests]).toEqual([[dayAt(24)], 1]);
  });

  test('beside the days are followed as well', async () => {
    const platform = await storedPlatform();
    takeOut(platform, numberOf(3, 2));
    takeOut(platform, numberOf(60, 2));
    const days = { from: dayAt(20), to: LAST };
    const { differing } = await look(platform.reader, {
      older: [days],
      alsoCompared: [{ from: FIRST, to: dayAt(18) }],
    });
    expect(differing).toEqual([dayAt(3), dayAt(60)]);
  });

  test('whose halves agree say nothing about any day', async () => {
    const platform = await storedPlatform();
    const { page } = platform.reader;
    const { endMs } = dayWindow(MONTH.to, ZONE);
    const lying: LedgerReader = {
      page: async (query, signal) => {
        const reply = await page(query, signal);
        const isMonth =
          query.window.endMs === endMs && query.window.beginMs === dayWindow(FIRST, ZONE).beginMs;
        return isMonth ? { ...reply, total: reply.total + 1 } : reply;
      },
    };
    const { differing, isContradicted } = await look(lying, { alsoCompared: [MONTH] });
    expect([differing, isContradicted]).toEqual([[], true]);
  });
});

test('the same round total for days apart from each other, of which more are stored, is a cap', async () => {
  const platform = await storedPlatform();
  const capped: LedgerReader = {
    page: async (query, signal) => {
      const page = await platform.reader.page(query, signal);
      return { ...page, total: Math.min(100, page.total) };
    },
  };
  expect(await look(capped)).toMatchObject({ cap: 100, differing: [] });
  expect(await look(platform.reader)).toMatchObject({ cap: null });
});

describe('a total that differs', () => {
  test('is traced to the days, whether entries are lost or came late', async () => {
    const platform = await storedPlatform();
    takeOut(platform, numberOf(20, 0));
    takeOut(platform, numberOf(20, 4));
    takeOut(platform, numberOf(DAYS - 1, 4));
    platform.bookings.push(...spread(1, dayWindow(dayAt(10), ZONE), 'LATE-'));
    const { differing, hasMore, requests, total, stored } = await look(platform.reader);
    expect([differing, hasMore]).toEqual([[dayAt(10), dayAt(20), LAST], false]);
    expect([total, stored]).toEqual([DAYS * PER_DAY - 2, DAYS * PER_DAY]);
    expect(requests).toBeLessThanOrEqual(1 + FOLLOW_CALLS_MAX);
  });

  test('on more days than one run reads again is reported for the rest, with a limited number of calls', async () => {
    const platform = await storedPlatform();
    for (let nth = 0; nth < DAYS; nth += 2) takeOut(platform, numberOf(nth, 2));
    const { differing, hasMore, requests, round } = await look(platform.reader);
    expect(hasMore).toBe(true);
    expect(differing.length).toBeGreaterThan(0);
    expect(differing.length).toBeLessThanOrEqual(DIFFERING_DAYS_MAX);
    expect(differing).toEqual(differing.map((_, at) => dayAt(2 * at)));
    expect(requests).toBeLessThanOrEqual(1 + FOLLOW_CALLS_MAX);
    // The same page is compared again.
    expect(round.read).toBe(0);
  });

  test.each([0, 1, DAYS * PER_DAY + 1, 2 ** 31, 999_999_999_999_999])(
    'while the totals of both halves agree says nothing about any day: %d',
    async (total) => {
      const { reader } = await storedPlatform();
      const wide: LedgerReader = {
        page: async (query, signal) => {
          const page = await reader.page(query, signal);
          const isComplete = query.window.endMs - query.window.beginMs > (DAYS - 1) * 86_400_000;
          return isComplete ? { ...page, total } : page;
        },
      };
      const { differing, isContradicted, hasMore, requests } = await look(wide);
      expect([differing, isContradicted, hasMore, requests]).toEqual([[], true, false, 4]);
    },
  );
});

describe('the entries of a page', () => {
  test.each([
    ['an amount', (one: { credit: string }) => ({ ...one, credit: '9.99' })],
    ['a currency', (one: { currency: string }) => ({ ...one, currency: 'EUR' })],
  ])('name the day of one with %s different from the stored one', async (_, change) => {
    const platform = await storedPlatform();
    const at = platform.bookings.findIndex(({ batchNo }) => batchNo === numberOf(7, 3));
    platform.bookings[at] = change(platform.bookings[at]!) as (typeof platform.bookings)[number];
    expect(await look(platform.reader)).toMatchObject({ differing: [dayAt(7)], total: DAYS * PER_DAY });
  });

  test('name both days if one moved to another day', async () => {
    const platform = await storedPlatform();
    const at = platform.bookings.findIndex(({ batchNo }) => batchNo === numberOf(7, 3));
    const moved = platform.bookings[at]!;
    platform.bookings[at] = { ...moved, trueMs: moved.trueMs + 2 * 86_400_000 };
    expect(await look(platform.reader)).toMatchObject({ differing: [dayAt(7), dayAt(9)] });
  });

  test.each(['latest first', 'shuffled'] as const)(
    'show a change anywhere within seven nights where pages come %s',
    async (order) => {
      const platform = await storedPlatform({ faults: { order } });
      const found: string[] = [];
      let round: HistoricalCheckOptions['round'] = null;
      for (let night = 0; night < 8; night += 1) {
        const one: HistoricalCheck = await look(platform.reader, {
          round,
          now: new Date(NOW.getTime() + night * 86_400_000),
        });
        if (night === 0) {
          const at = platform.bookings.findIndex(({ batchNo }) => batchNo === numberOf(7, 3));
          platform.bookings[at] = { ...platform.bookings[at]!, credit: '9.99' };
        }
        found.push(...one.differing);
        round = one.round;
      }
      expect([...new Set(found)]).toEqual([dayAt(7)]);
    },
  );

  test('name the day of a stored one that became unreadable, but not of one that always was', async () => {
    const wreck = { raw: '{}', reason: 'broken' };
    const platform = await storedPlatform();
    const at = platform.bookings.findIndex(({ batchNo }) => batchNo === numberOf(3, 1));
    const one = platform.bookings[at]!;
    platform.bookings[at] = { ...one, unreadable: { ...wreck, batchNo: one.batchNo } };
    expect(await look(platform.reader)).toMatchObject({ differing: [dayAt(3)], total: DAYS * PER_DAY });
  });
});

test('count an unreadable one as it came', async () => {
  const known = spread(1, dayWindow(dayAt(2), ZONE), 'WRECK-')[0]!;
  const unreadable = { raw: '{"batchNo":"WRECK-0000000"}', reason: 'broken', batchNo: known.batchNo };
  const bookings = [...spread(3, dayWindow(dayAt(1), ZONE), 'B-'), { ...known, unreadable }];
  const platform = await storedPlatform({ bookings });
  expect(await look(platform.reader)).toMatchObject({ total: 4, stored: 4, differing: [], requests: 1 });
});

test.each([
  [2_000, 2],
  [-2_000, 1],
])('do not differ at the edges with timestamps %d ms off', async (lagMs, requests) => {
  const platform = await storedPlatform({ lagMs });
  const days = { from: dayAt(3), to: dayAt(40) };
  expect(await look(platform.reader, { clockSkewMs: 2_000, older: [days] })).toMatchObject({
    differing: [],
    isContradicted: false,
    requests,
  });
  takeOut(platform, numberOf(20, 2));
  expect(await look(platform.reader, { clockSkewMs: 2_000, older: [days] })).toMatchObject({
    differing: [dayAt(20)],
  });
});

/** A platform that answers windows over nine days in one of these ways. */
const limitedTo9Days = ({ reader }: MemoryPlatform, answer: LedgerReader['page'] | null): LedgerReader => ({
  page: (query, signal) =>
    query.window.endMs - query.window.beginMs > 9 * 86_400_000
      ? (answer?.(query, signal) ??
        Promise.reject(new PlatformRejected('answered HTTP 400: the range is too long')))
      : reader.page(query, signal),
});

describe('windows over nine days', () => {
  const nothing: LedgerReader['page'] = () =>
    Promise.resolve({ total: 0, entries: [], unreadable: [], notices: [] });

  test.each([
    ['refused', () => null],
    ['answered empty', () => nothing],
    [
      'cut to their last days',
      ({ reader }: MemoryPlatform): LedgerReader['page'] =>
        (query, signal) => {
          const { endMs } = query.window;
          return reader.page({ ...query, window: { beginMs: endMs - 8 * 86_400_000, endMs } }, signal);
        },
    ],
  ] as const)('that are %s: each entry is still compared within seven nights', async (_, answer) => {
    const platform = await storedPlatform();
    const reader = limitedTo9Days(platform, answer(platform));
    const found: string[] = [];
    let round: HistoricalCheckOptions['round'] = null;
    for (let night = 0; night < 15; night += 1) {
      if (night === 7) {
        const at = platform.bookings.findIndex(({ batchNo }) => batchNo === numberOf(1, 3));
        platform.bookings[at] = { ...platform.bookings[at]!, credit: '9.99' };
      }
      const now = new Date(NOW.getTime() + night * 86_400_000);
      const one: HistoricalCheck = await look(reader, { round, now });
      expect([one.isOverdue, one.round.refused, night > 0 && one.isLimitNew]).toEqual([
        false,
        null,
        expect.any(Boolean),
      ]);
      found.push(...one.differing);
      round = one.round;
    }
    expect(new Set(found)).toEqual(new Set([dayAt(1)]));
  });

  test('are known after one night: later ones ask for shorter windows', async () => {
    const platform = await storedPlatform();
    const reader = limitedTo9Days(platform, null);
    const first = await look(reader);
    expect(first).toMatchObject({ isLimitNew: true, hasMore: false, differing: [] });
    platform.queries.splice(0);
    const now = new Date(NOW.getTime() + 86_400_000);
    const second = await look(reader, { round: first.round, now });
    expect(second).toMatchObject({ isLimitNew: false, isContradicted: false });
    expect(second.requests).toBe(platform.queries.length);
  });
});

test('days that are refused for good are named with the night since which they are', async () => {
  const platform = await storedPlatform();
  const endMs = dayWindow(dayAt(1), ZONE).endMs;
  const reader: LedgerReader = {
    page: (query, signal) =>
      query.window.beginMs <= endMs
        ? Promise.reject(new PlatformRejected('answered HTTP 400: too long ago'))
        : platform.reader.page(query, signal),
  };
  let round: HistoricalCheckOptions['round'] = null;
  for (let night = 0; night < 9; night += 1) {
    const now = new Date(NOW.getTime() + night * 86_400_000);
    round = (await look(reader, { round, now })).round;
    expect(round.refused).toEqual({ beginMs: dayWindow(FIRST, ZONE).beginMs, endMs, since: NOW });
  }
  // In the first night in which they are shown again, nothing is refused any more.
  const now = new Date(NOW.getTime() + 9 * 86_400_000);
  round = (await look(platform.reader, { round, now })).round;
  expect(round.refused).toBeNull();
});

test('days that were refused are asked for again every night, and what was answered counts no longer', async () => {
  const platform = await storedPlatform();
  const refusing = (...days: number[]): LedgerReader => ({
    page: (query, signal) => {
      const isRefused = days
        .map((day) => dayWindow(dayAt(day), ZONE))
        .some(({ beginMs, endMs }) => query.window.beginMs <= endMs && query.window.endMs >= beginMs);
      return isRefused
        ? Promise.reject(new PlatformRejected('answered HTTP 400: system busy'))
        : platform.reader.page(query, signal);
    },
  });
  const nightly = async (reader: LedgerReader, night: number, round: HistoricalCheckOptions['round']) =>
    (await look(reader, { round, now: new Date(NOW.getTime() + night * 86_400_000) })).round;
  const first = await nightly(refusing(2), 0, null);
  expect(first.refused).toEqual({ ...dayWindow(dayAt(2), ZONE), since: NOW });
  const moved = await nightly(refusing(DAYS - 1), 5, first);
  expect(moved.refused).toMatchObject(dayWindow(dayAt(DAYS - 1), ZONE));
  expect(moved.refused!.since.getTime()).toBe(NOW.getTime() + 5 * 86_400_000);
});

describe('pages of the total', () => {
  /** Nights until the round is through, with the calls of each. */
  async function roundOf(order: 'time' | 'latest first' | 'shuffled') {
    const platform = await storedPlatform({ faults: { order } });
    const calls: number[] = [];
    let round: HistoricalCheckOptions['round'] = null;
    for (let night = 0; night < 7; night += 1) {
      const now = new Date(NOW.getTime() + night * 86_400_000);
      const one: HistoricalCheck = await look(platform.reader, { round, now, windowsMax: 1 });
      expect([one.differing, one.hasMore, one.isContradicted]).toEqual([[], false, false]);
      calls.push(one.requests);
      round = one.round;
    }
    expect(round?.read).toBe(DAYS * PER_DAY);
    return calls;
  }

  test('cost the round no call where they are spans of time, whichever comes first', async () => {
    expect(await roundOf('time')).toEqual([1, 1, 1, 1, 1, 1, 1]);
    const [first, ...others] = await roundOf('latest first');
    expect([first, ...others.slice(0, 5)]).toEqual([2, 1, 1, 1, 1, 1]);
  });

  test('that have no order are left alone: windows are asked for', async () => {
    expect((await roundOf('shuffled')).slice(0, 4)).toEqual([2, 1, 2, 1]);
  });

  test('whose later ones state another total: the first page is asked, and windows are', async () => {
    const platform = await storedPlatform();
    const { page } = platform.reader;
    const reader: LedgerReader = {
      page: async (query, signal) => {
        const reply = await page(query, signal);
        return query.pageNum === 1 ? reply : { ...reply, total: 0, entries: [] };
      },
    };
    const first = await look(reader, { windowsMax: 1 });
    const { differing, round, requests } = await look(reader, {
      ...{ round: first.round, windowsMax: 1 },
      now: new Date(NOW.getTime() + 3 * 86_400_000),
    });
    expect([differing, requests, round.read > first.round.read]).toEqual([[], 3, true]);
  });
});
