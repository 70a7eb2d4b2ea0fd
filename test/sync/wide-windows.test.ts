/** Days are asked for together, and each is judged, certified and stored as if it had been asked for alone. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { dayWindow } from '../../src/ledger/business-day.ts';
import type { Window } from '../../src/ledger/entry.ts';
import { PlatformRejected, PlatformUnreachable } from '../../src/platform/errors.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import { startRun } from '../../src/store/runs.ts';
import { type SeenWindow, certifiedWindows, uncertifiedOfEach } from '../../src/store/certificates.ts';
import { SECOND_READING_AFTER_MS } from '../../src/store/absent-entries.ts';
import { syncMerchant, type SyncOptions } from '../../src/sync/sync.ts';
import { inGroups, widen, planWindows } from '../../src/sync/wide-windows.ts';
import { freshDatabase } from '../support/database.ts';
import { acceptAllHeld } from '../support/held.ts';
import { createMemoryPlatform, spread, type Booking, type Faults } from './memory-platform.ts';

const NOW = new Date('2026-04-01T00:00:00Z');
const MERCHANT = { merchantNo: 'M-TEST', token: 'made-up' };
const daysFrom = (fromDay: string, toDay: string, zone = 'UTC'): Window[] =>
  planWindows({ fromDay, toDay, zone, latestMs: NOW.getTime() });
const DAYS = daysFrom('2026-03-01', '2026-03-08');
const ALL: Window = { beginMs: DAYS[0]!.beginMs, endMs: DAYS.at(-1)!.endMs };
const THIRD = DAYS[2]!;

describe('the plan', () => {
  const seenDay = (window: Window, total: number, isDoubtful = false): SeenWindow => ({
    ...window,
    total,
    isDoubtful,
  });
  const plan = (windows: readonly Window[], seen: readonly SeenWindow[], more = {}) =>
    widen(
      windows.map((window) => ({ window })),
      { seen, zone: 'UTC', entriesMax: 2_000, ...more },
    ).map(({ planned }) => planned.length);

  test('joins as many days as are expected to fit, by what they held when they were read last', () => {
    expect(
      plan(
        DAYS,
        DAYS.map((day) => seenDay(day, 20)),
      ),
    ).toEqual([8]);
    expect(
      plan(
        DAYS,
        DAYS.map((day) => seenDay(day, 600)),
      ),
    ).toEqual([3, 3, 2]);
    expect(
      plan(
        DAYS,
        DAYS.map((day) => seenDay(day, 2_000)),
      ),
    ).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
  });

  test('expects of a day not read yet what the days seen have on average', () => {
    const before = daysFrom('2026-02-26', '2026-02-28').map((day) => seenDay(day, 600));
    expect(plan(DAYS, before)).toEqual([3, 3, 2]);
  });

  test('joins all days of a ledger never read: its first page will tell how many there are', () => {
    expect(plan(DAYS, [])).toEqual([8]);
    expect(plan(DAYS, [], { entriesMax: 0 })).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
  });

  test('leaves a day alone that was not certified or held what cannot be read', () => {
    const seen = DAYS.map((day) => seenDay(day, day === THIRD ? 2_000_000_000 : 20, day === THIRD));
    expect(plan(DAYS, seen)).toEqual([2, 1, 5]);
  });

  test('joins neither over a gap, nor over a change of the clock', () => {
    expect(plan([...DAYS.slice(0, 2), ...DAYS.slice(3)], [])).toEqual([2, 5]);
    const zone = 'Europe/Berlin';
    const days = daysFrom('2026-03-27', '2026-03-30', zone);
    expect(plan(days, [], { zone })).toEqual([3, 2]);
  });

  test('cuts days into groups of about as many', () => {
    expect(inGroups(DAYS, 3).map((group) => group.length)).toEqual([3, 2, 3]);
    expect(inGroups(DAYS.slice(0, 2), 5).map((group) => group.length)).toEqual([1, 1]);
  });
});

describe('reading', () => {
  let database: Database;
  let lease: Lease;
  beforeEach(async () => {
    database = await freshDatabase();
    lease = await acquireLease(database.db, { name: 'ledger', holder: 'test', ttlMs: 600_000 });
  });
  afterEach(() => database.close());

  const sync = async (reader: LedgerReader, more: Partial<SyncOptions> = {}) =>
    syncMerchant({
      reader,
      db: database.db,
      lease,
      merchant: MERCHANT,
      windows: DAYS,
      zone: 'UTC',
      timeZoneTrusted: true,
      runId: await startRun(database.db, {
        command: 'sync',
        holder: 'test',
        fromDay: null,
        toDay: null,
        now: NOW,
      }),
      now: () => NOW,
      signal: new AbortController().signal,
      ...more,
    });
  const platformOf = (bookings: readonly Booking[], faults: Faults = {}) =>
    createMemoryPlatform({ bookings, faults });
  const certificates = async () =>
    (
      await database.db
        .selectFrom('certificate')
        .select(['begin_ms', 'through_ms', 'total'])
        .where('problem', 'is', null)
        .orderBy('begin_ms')
        .execute()
    ).map((row) => [row.begin_ms, row.through_ms, row.total]);
  const proven = () => certifiedWindows(database.db, 'M-TEST', ALL);
  const withoutThird = [
    { beginMs: ALL.beginMs, endMs: THIRD.beginMs - 1 },
    { beginMs: THIRD.endMs + 1, endMs: ALL.endMs },
  ];

  test('eight days of 20 entries cost two calls, and each day has its own certificate', async () => {
    const platform = platformOf(spread(160, ALL));
    expect(await sync(platform.reader)).toMatchObject({ requests: 2, windows: 8, inserted: 160 });
    const days = DAYS.map(({ beginMs, endMs }) => [beginMs, endMs, 20]);
    expect(await certificates()).toEqual(days);
    expect(await sync(platform.reader)).toMatchObject({ requests: 2, windows: 8, unchanged: 160 });
    expect(await certificates()).toEqual(days);
  });

  test('a ledger never read that is too deep for one window costs one call more than its pages, and both halves of one of its like days', async () => {
    const platform = platformOf(spread(12_040, ALL));
    const { requests } = await sync(platform.reader);
    expect(requests).toBe(1 + 8 * 16 + 2);
    expect(await sync(platform.reader)).toMatchObject({ requests: 8 * 16 + 2, unchanged: 12_040 });
  });

  test('entries gone from one day are judged by that day, though others of the window are there', async () => {
    const bookings = spread(160, ALL);
    await sync(platformOf(bookings).reader);
    const isThird = ({ trueMs }: Booking) => trueMs >= THIRD.beginMs && trueMs <= THIRD.endMs;
    const emptied = platformOf(bookings.filter((one) => !isThird(one)));
    const report = await sync(emptied.reader);
    // Two pages of eight days, and then the day by itself, and those before and after it: one page, one and two, with the
    // halves of the full one.
    expect(report).toMatchObject({ requests: 8, vanished: 0, unchanged: 140 });
    expect(report.uncertified).toMatchObject([
      { window: THIRD, problem: expect.stringContaining('lacks 20 stored entries'), isHeld: true },
    ]);
    expect(await proven()).toEqual(withoutThird);
    const later = new Date(NOW.getTime() + SECOND_READING_AFTER_MS);
    expect(await sync(emptied.reader, { now: () => later })).toMatchObject({ vanished: 0 });
    await acceptAllHeld(database.db, later);
    expect(await sync(emptied.reader, { now: () => later })).toMatchObject({ vanished: 20, uncertified: [] });
    expect(await proven()).toEqual([ALL]);
  });

  test('an entry gone and another late on other days of the window are each found on their day', async () => {
    const bookings = spread(160, ALL);
    await sync(platformOf(bookings).reader);
    const late = spread(1, { beginMs: THIRD.beginMs + 5_000, endMs: THIRD.beginMs + 5_999 }, 'LATE');
    const report = await sync(platformOf([...bookings.slice(1), ...late]).reader);
    expect(report).toMatchObject({ requests: 5, inserted: 1, vanished: 1, unchanged: 159, uncertified: [] });
    expect((await certificates()).map(([, , total]) => total)).toEqual([19, 20, 21, 20, 20, 20, 20, 20]);
  });

  test('an entry whose time moved to another day of the window is one amendment, and no doubt', async () => {
    const [first, ...others] = spread(160, ALL);
    await sync(platformOf([first!, ...others]).reader);
    const moved = { ...first!, trueMs: THIRD.beginMs + 5_000 };
    const report = await sync(platformOf([moved, ...others]).reader);
    expect(report).toMatchObject({ requests: 2, amended: 1, vanished: 0, uncertified: [] });
    expect(await proven()).toEqual([ALL]);
  });

  test('what cannot be read is stored for its own day, and the next night reads that day by itself', async () => {
    const wreck: Booking = {
      ...spread(1, THIRD, 'W')[0]!,
      unreadable: { raw: '{"odd":1}', reason: 'no batchNo', batchNo: null },
    };
    const platform = platformOf([...spread(120, ALL), wreck]);
    await sync(platform.reader);
    const [kept] = await database.db.selectFrom('quarantined_entry').selectAll().execute();
    expect([kept!.begin_ms, kept!.end_ms]).toEqual([THIRD.beginMs, THIRD.endMs]);
    expect((await certificates()).map(([beginMs, , total]) => [beginMs, total])).toEqual(
      DAYS.map(({ beginMs }) => [beginMs, beginMs === THIRD.beginMs ? 16 : 15]),
    );
    platform.queries.splice(0);
    await sync(platform.reader);
    expect(platform.queries.map(({ window }) => window)).toEqual([withoutThird[0], THIRD, withoutThird[1]]);
  });

  test('an empty window of which entries are stored proves none of its days without a proof of the zone', async () => {
    await sync(platformOf(spread(10, THIRD)).reader);
    expect((await certificates()).map(([, , total]) => total)).toEqual([0, 0, 10, 0, 0, 0, 0, 0]);
    await database.db.deleteFrom('certificate').execute();
    const empty = platformOf([]);
    const failing: LedgerReader = {
      page: (query, signal) =>
        query.batchNo === undefined
          ? empty.reader.page(query, signal)
          : Promise.reject(new PlatformUnreachable('no answer')),
    };
    const { uncertified } = await sync(failing, { timeZoneTrusted: false });
    expect(uncertified.map(({ problem }) => /came back empty (\w+)/.exec(problem)![1])).toEqual([
      ...['together', 'together', 'while', 'together', 'together', 'together', 'together', 'together'],
    ]);
    expect(await proven()).toEqual([]);
  });

  test.each([
    ['once', 1],
    ['as often as more than one day is asked for', Infinity],
  ])(
    'if a window comes back empty %s though entries of it are stored, its new day is asked for by itself',
    async (_, times) => {
      const bookings = spread(160, ALL);
      const isNew = ({ trueMs }: Booking) => trueMs >= DAYS.at(-1)!.beginMs;
      await sync(platformOf(bookings.filter((one) => !isNew(one))).reader, { windows: DAYS.slice(0, -1) });
      const platform = platformOf(bookings);
      let left = times;
      const lying: LedgerReader = {
        page: async (query, signal) => {
          const page = await platform.reader.page(query, signal);
          if (query.window.endMs - query.window.beginMs < 86_400_000 || left === 0) return page;
          left -= 1;
          return { ...page, total: 0, entries: [] };
        },
      };
      expect(await sync(lying)).toMatchObject({ inserted: 20, vanished: 0, uncertified: [] });
      expect(await proven()).toEqual([ALL]);
      expect((await certificates()).at(-1)![2]).toBe(20);
    },
  );

  test('a day that comes back empty after that, alone too, is not believed empty in this run', async () => {
    const bookings = spread(160, ALL);
    const known = bookings.filter(({ trueMs }) => trueMs < DAYS.at(-1)!.beginMs);
    await sync(platformOf(known).reader, { windows: DAYS.slice(0, -1) });
    const platform = platformOf(known);
    const lying: LedgerReader = {
      page: async (query, signal) => {
        const page = await platform.reader.page(query, signal);
        const isWide = query.window.endMs - query.window.beginMs > 86_400_000;
        return isWide ? { ...page, total: 0, entries: [] } : page;
      },
    };
    const { uncertified } = await sync(lying);
    expect(uncertified).toEqual([
      {
        window: DAYS.at(-1),
        problem: expect.stringMatching(/not steady about it: .* 0 entries at first, and 140 when/),
      },
    ]);
    expect(await proven()).toEqual([{ beginMs: ALL.beginMs, endMs: DAYS.at(-1)!.beginMs - 1 }]);
    // The next run reads it steadily, and believes it.
    expect(await sync(platform.reader)).toMatchObject({ uncertified: [] });
    expect(await proven()).toEqual([ALL]);
  });

  /** Answers as if it had these bookings only, which may be others for each window and each reading. */
  const switching = (bookingsOf: (window: Window, nth: number) => readonly Booking[]): LedgerReader => {
    let readings = 0;
    return {
      page: (query, signal) => {
        if (query.pageNum === 1) readings += 1;
        return platformOf(bookingsOf(query.window, readings)).reader.page(query, signal);
      },
    };
  };
  const isOf =
    (...days: Window[]) =>
    ({ trueMs }: Booking) =>
      days.some(({ beginMs, endMs }) => trueMs >= beginMs && trueMs <= endMs);
  const LAST = DAYS.at(-1)!;
  const FOUR = { beginMs: LAST.beginMs + 3_600_000, endMs: LAST.beginMs + 7_200_000 };
  const STORED = spread(70, { beginMs: ALL.beginMs, endMs: LAST.beginMs - 1 });
  const NEW = spread(4, FOUR, 'NEW');
  const KNOWN = STORED.filter((one) => !isOf(THIRD)(one));
  const storeSeven = () => sync(platformOf(STORED).reader, { windows: DAYS.slice(0, -1) });
  const provenWithoutLast = [{ beginMs: ALL.beginMs, endMs: LAST.beginMs - 1 }];
  const newOnes = () =>
    database.db
      .selectFrom('ledger_entry')
      .select('batch_no')
      .where('booked_ms', '>=', LAST.beginMs)
      .execute();

  test.each([
    ['none', []],
    ['two', NEW.slice(0, 2)],
  ])(
    'a new day whose entries came at first, and of which %s come after that, is left to the next run',
    async (_, left) => {
      await storeSeven();
      const { uncertified } = await sync(
        switching((_window, nth) => (nth === 1 ? [...KNOWN, ...NEW] : [...STORED, ...left])),
      );
      expect(uncertified).toEqual([
        {
          window: LAST,
          problem: expect.stringMatching(
            new RegExp(`came without ${4 - left.length} entries that the platform showed .* such as NEW`),
          ),
        },
      ]);
      expect(await proven()).toEqual(provenWithoutLast);
      // What came is kept, as of every reading that proves nothing.
      expect(await newOnes()).toEqual(left.map(({ batchNo }) => ({ batch_no: batchNo })));
      expect(await sync(platformOf([...STORED, ...NEW]).reader)).toMatchObject({
        inserted: 4 - left.length,
        uncertified: [],
      });
      expect(await proven()).toEqual([ALL]);
    },
  );

  test.each([
    ['an entry shown at first', [...KNOWN, ...NEW], [...STORED, ...NEW.slice(1)], 'came without 1 entry'],
    ['all that is stored', [...KNOWN, ...NEW], [...STORED, ...NEW].filter(isOf(THIRD)), 'came without 4'],
    ['all, after others had been lacking', KNOWN, STORED, 'not steady about it'],
  ])(
    'a day that an earlier run proved is unproven from when it comes without %s until it is read again',
    async (_, first, then, problem) => {
      const proving = first === KNOWN ? [...STORED, ...NEW] : [...STORED, ...NEW.slice(1)];
      await sync(platformOf(proving).reader);
      expect(await proven()).toEqual([ALL]);
      const report = await sync(switching((_window, nth) => (nth === 1 ? first : then)));
      expect(report).toMatchObject({ vanished: 0 });
      expect(report.uncertified).toContainEqual({ window: LAST, problem: expect.stringContaining(problem) });
      const { db } = database;
      expect((await uncertifiedOfEach(db, ['M-TEST'], LAST)).get('M-TEST')).toEqual([
        { ...LAST, problem: expect.stringContaining(problem) },
      ]);
      expect(await certifiedWindows(db, 'M-TEST', LAST)).toEqual([]);
      expect(await sync(platformOf([...STORED, ...NEW]).reader)).toMatchObject({ uncertified: [] });
      expect(await proven()).toEqual([ALL]);
      expect(await newOnes()).toHaveLength(NEW.length);
    },
  );

  test('a new day whose entries came at first, and not with other days after that, is asked for by itself', async () => {
    await storeSeven();
    const { inserted, uncertified } = await sync(
      switching(({ beginMs, endMs }, nth) =>
        nth === 1 ? [...KNOWN, ...NEW] : endMs - beginMs > 86_400_000 ? STORED : [...STORED, ...NEW],
      ),
    );
    expect({ inserted, uncertified }).toEqual({ inserted: 4, uncertified: [] });
    expect(await proven()).toEqual([ALL]);
  });

  test.each([
    ['comes empty', [], [expect.stringContaining('not steady about it')]],
    ['has entries', NEW, []],
  ])(
    'a new day that is empty beside days that lack nothing, and %s when it is asked for by itself, is judged by that',
    async (_, alone, problems) => {
      await storeSeven();
      const { uncertified } = await sync(
        switching(({ beginMs }, nth) =>
          nth === 1 ? KNOWN : beginMs === LAST.beginMs ? [...STORED, ...alone] : STORED,
        ),
      );
      expect(uncertified.map(({ problem }) => problem)).toEqual(problems);
      expect(await proven()).toEqual(problems.length === 0 ? [ALL] : provenWithoutLast);
    },
  );

  test('a new day that is empty beside others is believed if only a reply without any entry was wrong', async () => {
    await storeSeven();
    const report = await sync(switching((_window, nth) => (nth === 1 ? [] : STORED)));
    expect(report).toMatchObject({ windows: 8, uncertified: [] });
    expect(await proven()).toEqual([ALL]);
  });

  test('a quiet day that is proven stays so, though the platform is not steady about the days around it', async () => {
    const quiet = STORED.filter(isOf(DAYS[0]!, THIRD));
    await sync(platformOf(quiet).reader);
    const lacking = quiet.filter(isOf(DAYS[0]!));
    expect(await sync(switching((_, nth) => (nth === 1 ? lacking : quiet)))).toMatchObject({
      uncertified: [],
    });
    expect(await proven()).toEqual([ALL]);
  });

  test('an entry taken back and another one late in one night leave quiet days as they are', async () => {
    const busy = STORED.filter(isOf(DAYS[0]!, THIRD));
    await sync(platformOf(busy).reader, { windows: DAYS.slice(0, -1) });
    const gone = busy.filter(({ batchNo }) => batchNo !== busy[0]!.batchNo);
    const late = spread(1, { beginMs: THIRD.beginMs + 5_000, endMs: THIRD.beginMs + 5_999 }, 'LATE');
    const report = await sync(switching((_window, nth) => (nth === 1 ? gone : [...gone, ...late])));
    // All of the window, the day that lacks an entry, and the seven others.
    expect(report).toMatchObject({ requests: 3, inserted: 1, vanished: 1, uncertified: [] });
    expect(await proven()).toEqual([ALL]);
  });

  test('a stored entry that came at first and not after that is not taken for gone', async () => {
    await storeSeven();
    const [first, ...others] = STORED.filter(isOf(THIRD));
    const { vanished, uncertified } = await sync(
      switching((_window, nth) => (nth === 1 ? [...KNOWN, first!] : [...KNOWN, ...others])),
      { windows: DAYS.slice(0, -1) },
    );
    expect({ vanished, windows: uncertified.map(({ window }) => window) }).toEqual({
      vanished: 0,
      windows: [THIRD],
    });
  });

  test('days that the platform dropped cost a call each, and the others no more than their pages', async () => {
    const windows = daysFrom('2026-01-01', '2026-03-31');
    const kept = spread(300, { beginMs: windows[60]!.beginMs, endMs: windows[89]!.endMs });
    const dropped = spread(600, { beginMs: windows[0]!.beginMs, endMs: windows[59]!.endMs }, 'OLD');
    await sync(platformOf([...dropped, ...kept]).reader, { windows });
    const { requests } = await sync(platformOf(kept).reader, { windows });
    // A page more after each full last one: the entire window, its kept days, its dropped days together (then nine at a time, as such
    // an answer may have been cut short), and each by itself. Halves of a full one.
    expect(requests).toBe(4 + 4 + 1 + 7 + 60 + 2);
  });

  test('a platform that refuses windows longer than three days is read in shorter ones', async () => {
    const platform = platformOf(spread(160, ALL));
    const refusing: LedgerReader = {
      page: (query, signal) =>
        query.window.endMs - query.window.beginMs > 3 * 86_400_000
          ? Promise.reject(new PlatformRejected('range too long'))
          : platform.reader.page(query, signal),
    };
    for (const provesNewest of [false, true]) {
      expect(await sync(refusing, { provesNewest })).toMatchObject({ failure: null, uncertified: [] });
      expect(await proven()).toEqual([ALL]);
    }
  });

  test('if the order changes with every call, the days are read in windows of one page', async () => {
    const platform = platformOf(spread(1_600, ALL), { order: 'shuffled' });
    const { requests } = await sync(platform.reader);
    expect(await proven()).toEqual([ALL]);
    expect(requests).toBeLessThan(16 + (2 * 1_600) / 60);
  });

  test('an entry that comes between two pages costs one more reading, and no certificate', async () => {
    let isLate = false;
    const platform = createMemoryPlatform({
      bookings: spread(160, ALL),
      onQuery: ({ pageNum }, _, bookings) => {
        if (pageNum !== 2 || isLate) return;
        isLate = true;
        bookings.push(...spread(1, THIRD, 'LATE'));
      },
    });
    expect(await sync(platform.reader)).toMatchObject({
      requests: 4,
      windows: 8,
      inserted: 161,
      uncertified: [],
    });
  });

  test('the newest day of a window too deep to be looked at whole still proves the zone', async () => {
    const zone = 'Africa/Algiers';
    const windows = planWindows({
      fromDay: '2026-03-22',
      toDay: '2026-03-29',
      zone,
      latestMs: NOW.getTime(),
    });
    const days = { beginMs: windows[0]!.beginMs, endMs: dayWindow('2026-03-28', zone).endMs };
    const newest = spread(
      3,
      { beginMs: windows.at(-1)!.endMs - 7_200_000, endMs: windows.at(-1)!.endMs - 5_400_000 },
      'N-',
    );
    const platform = createMemoryPlatform({
      bookings: [...spread(11_000, days), ...newest],
      zone: 'Europe/Berlin',
      believedZone: zone,
    });
    const more = { windows, zone, timeZoneTrusted: false, provesNewest: true };
    await expect(sync(platform.reader, more)).rejects.toMatchObject({
      name: 'TimeZoneWrong',
      offsetMinutes: 120,
    });
    expect(await database.db.selectFrom('ledger_entry').select('batch_no').execute()).toEqual([]);
  });
});
