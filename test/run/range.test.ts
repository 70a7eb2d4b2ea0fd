import { describe, expect, test } from 'vitest';
import {
  countDaysMissing,
  coverageOf,
  provenStretch,
  daysOfBacklog,
  stretchesOf,
} from '../../src/run/coverage.ts';
import { EXIT, UsageError, exitCodeOf, mostSevere } from '../../src/run/verdict/exit-codes.ts';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import { askableDays, askedRange, nightlyRange } from '../../src/run/range.ts';

const DAY_MS = 86_400_000;
const ZONE = 'Asia/Shanghai';

describe('the days asked for', () => {
  const today = '2026-03-10';

  test('both ends are as given', () => {
    expect(askedRange({ from: '2026-03-01', to: '2026-03-04' }, today, ZONE)).toEqual({
      from: '2026-03-01',
      to: '2026-03-04',
    });
  });

  test('one end alone: from runs to yesterday, to is that one day', () => {
    expect(askedRange({ from: '2026-03-01' }, today, ZONE)).toEqual({ from: '2026-03-01', to: '2026-03-09' });
    expect(askedRange({ from: today }, today, ZONE)).toEqual({ from: today, to: today });
    expect(askedRange({ to: '2026-03-04' }, today, ZONE)).toEqual({ from: '2026-03-04', to: '2026-03-04' });
  });

  test('none: the nightly default', () => {
    expect(askedRange({}, today, ZONE)).toBeNull();
  });

  test.each([
    [{ from: '2026-03-05', to: '2026-03-04' }, 'lies after'],
    [{ from: '2026-03-05', to: '2026-03-11' }, 'has not begun'],
    [{ from: '2002-01-01', to: '2026-03-04' }, 'split it'],
    [{ from: '1999-01-01' }, '--from 1999-01-01 cannot be asked for: the earliest day is 2001-09-10'],
    [{ to: '0000-01-01' }, '--to 0000-01-01 cannot be asked for: the earliest day is 2001-09-10'],
    [
      { from: '2026-03-01', to: '9999-12-31' },
      '--to 9999-12-31 cannot be asked for: the latest day is 2286-11-20',
    ],
    [{ from: '9999-12-31' }, 'the latest day is 2286-11-20'],
  ])('%o is refused', (asked, why) => {
    expect(() => askedRange(asked, today, ZONE)).toThrow(UsageError);
    expect(() => askedRange(asked, today, ZONE)).toThrow(why);
  });
});

test.each(['Asia/Shanghai', 'Pacific/Kiritimati', 'Etc/GMT+12', 'UTC', 'America/New_York'])(
  'the first and last day accepted are the outermost ones whose timestamps have 13 digits: %s',
  (zone) => {
    const { from, to } = askableDays(zone);
    const isAskable = (day: string) =>
      dayWindow(day, zone).beginMs >= 1_000_000_000_000 && dayWindow(day, zone).endMs <= 9_999_999_999_999;
    expect([addDays(from, -1), from, to, addDays(to, 1)].map(isAskable)).toEqual([false, true, true, false]);
    expect(askedRange({ to: from }, to, zone)).toEqual({ from, to: from });
  },
);

describe('the nightly default', () => {
  test('is yesterday and the days read again', () => {
    expect(nightlyRange('2026-03-10', 7, null)).toEqual({ from: '2026-03-02', to: '2026-03-09' });
    expect(nightlyRange('2026-03-10', 0, null)).toEqual({ from: '2026-03-09', to: '2026-03-09' });
  });

  test('reaches back over missed nights', () => {
    expect(nightlyRange('2026-03-10', 2, '2026-02-20')).toEqual({ from: '2026-02-20', to: '2026-03-09' });
    expect(nightlyRange('2026-03-10', 2, '2026-03-09')).toEqual({ from: '2026-03-07', to: '2026-03-09' });
  });
});

describe('coverage by certificates', () => {
  const days = (from: number, to: number) => ({ beginMs: from * DAY_MS, endMs: (to + 1) * DAY_MS - 1 });

  test('nothing certified proves nothing', () => {
    expect(coverageOf([], 10 * DAY_MS)).toEqual({ provenThroughMs: null, missing: [] });
  });

  test('joins adjacent windows and returns what is left to read', () => {
    expect(coverageOf([days(2, 2), days(0, 1)], 4 * DAY_MS - 1)).toEqual({
      provenThroughMs: 3 * DAY_MS - 1,
      missing: [days(3, 3)],
    });
  });

  test('a gap of a few days is missing, and proof ends before it', () => {
    expect(coverageOf([days(0, 1), days(4, 9)], 10 * DAY_MS - 1)).toEqual({
      provenThroughMs: 2 * DAY_MS - 1,
      missing: [days(2, 3)],
    });
  });

  test('a gap of months between two histories is not a missed night', () => {
    expect(coverageOf([days(0, 1), days(100, 101)], 102 * DAY_MS - 1)).toEqual({
      provenThroughMs: 102 * DAY_MS - 1,
      missing: [],
    });
  });

  test('the downtime before now is missing, however long it was', () => {
    expect(coverageOf([days(0, 1)], 102 * DAY_MS - 1)).toEqual({
      provenThroughMs: 2 * DAY_MS - 1,
      missing: [days(2, 101)],
    });
  });
});

test('days missing are counted once each, up to yesterday: today is not over', () => {
  const day = (from: string, to = from) => ({
    beginMs: dayWindow(from, ZONE).beginMs,
    endMs: dayWindow(to, ZONE).endMs,
  });
  const missing = (...spans: ReturnType<typeof day>[]) =>
    countDaysMissing(spans, { zone: ZONE, now: new Date('2026-03-10T12:00:00+08:00') });
  expect(missing()).toBe(0);
  expect(missing(day('2026-03-08', '2026-03-10'))).toBe(2);
  expect(missing(day('2026-03-09', '2026-03-20'))).toBe(1);
  expect(missing(day('2026-03-10'))).toBe(0);
  expect(missing(day('2026-03-01', '2026-03-02'), day('2026-03-02', '2026-03-03'))).toBe(3);
});

describe('the stretch of proven days', () => {
  /** Days of January 1970, in UTC. */
  const days = (from: number, to: number) => ({
    beginMs: (from - 1) * DAY_MS,
    endMs: to * DAY_MS - 1,
  });
  const day = (n: number) => new Date((n - 1) * DAY_MS).toISOString().slice(0, 10);
  const stretch = (certified: number[][], missing: number[][] = [], unproven: number[] = []) => {
    const windows = (spans: number[][]) => spans.map(([from, to]) => days(from!, to!));
    const found = provenStretch(windows(certified), windows(missing), unproven.map(day), 'UTC');
    return found === null ? null : [found.from, found.to];
  };

  test.each<[string, Parameters<typeof stretch>, [number, number] | null]>([
    ['nothing certified', [[]], null],
    ['one history', [[[1, 9]]], [1, 9]],
    [
      'a hole',
      [
        [
          [1, 3],
          [5, 9],
        ],
        [[4, 4]],
      ],
      [1, 3],
    ],
    [
      'a gap between two histories that nobody asked for',
      [
        [
          [1, 3],
          [50, 59],
        ],
      ],
      [50, 59],
    ],
    [
      'the same gap, asked for',
      [
        [
          [1, 3],
          [50, 59],
        ],
        [[4, 49]],
      ],
      [1, 3],
    ],
    [
      'the same gap, partly asked for',
      [
        [
          [1, 3],
          [50, 59],
        ],
        [[20, 22]],
      ],
      [1, 3],
    ],
    ['a break', [[[1, 9]], [], [4]], [1, 3]],
    [
      'a break after a gap',
      [
        [
          [1, 3],
          [5, 9],
        ],
        [[4, 4]],
        [7],
      ],
      [1, 3],
    ],
    [
      'a break before a gap',
      [
        [
          [1, 6],
          [8, 9],
        ],
        [[7, 7]],
        [3],
      ],
      [1, 2],
    ],
    ['a break on the first day', [[[1, 9]], [], [1]], [2, 9]],
    ['a break on the last day', [[[1, 9]], [], [9]], [1, 8]],
    ['a break each day', [[[1, 2]], [], [1, 2]], null],
    ['something asked for before it', [[[50, 59]], [[1, 9]]], [50, 59]],
    [
      'a break in an unread gap',
      [
        [
          [1, 3],
          [50, 59],
        ],
        [],
        [20],
      ],
      [1, 3],
    ],
    [
      'a break in the second history',
      [
        [
          [1, 3],
          [50, 59],
        ],
        [],
        [55],
      ],
      [50, 54],
    ],
    ['what is not read yet', [[[1, 9]], [[10, 12]]], [1, 9]],
  ])('%s', (_, args, expected) => {
    expect(stretch(...args)).toEqual(expected === null ? null : expected.map(day));
  });

  test('a day that is only partly certified is not proven, at either end', () => {
    const certified = [{ beginMs: 1, endMs: 3 * DAY_MS - 2 }];
    expect(provenStretch(certified, [], [], 'UTC')).toEqual({ from: '1970-01-02', to: '1970-01-02' });
  });

  test('includes days of 23 and 25 hours', () => {
    const zone = 'Europe/Berlin';
    const [beginMs, endMs] = [Date.parse('2026-03-28T23:00:00Z'), Date.parse('2026-03-29T22:00:00Z') - 1];
    expect(provenStretch([{ beginMs, endMs }], [], [], zone)).toEqual({
      from: '2026-03-29',
      to: '2026-03-29',
    });
    expect(provenStretch([{ beginMs, endMs: endMs - 1 }], [], [], zone)).toBeNull();
  });
});

test('days in a row are one range, and a single day between two of them parts them', () => {
  const days = ['2026-03-04', '2026-02-28', '2026-03-01', '2026-03-06', '2026-03-05'];
  expect(stretchesOf(days)).toEqual([
    { from: '2026-02-28', to: '2026-03-01' },
    { from: '2026-03-04', to: '2026-03-06' },
  ]);
  expect(stretchesOf(['2026-03-03', '2026-03-01'])).toEqual([
    { from: '2026-03-01', to: '2026-03-01' },
    { from: '2026-03-03', to: '2026-03-03' },
  ]);
});

describe('days that were asked for earlier and are read now', () => {
  const missing = (...ranges: [string, string][]) => ({
    missingDays: ranges.map(([from, to]) => ({ from, to })),
  });
  const night = { from: '2026-03-03', to: '2026-03-09' };

  test('the oldest request comes first, with its oldest days, and the rest is for the next run', () => {
    const standing = [
      missing(['2026-02-01', '2026-02-03'], ['2026-02-10', '2026-02-11']),
      missing(['2025-01-01', '2025-12-31']),
    ];
    expect(daysOfBacklog(standing, night, [], 4)).toEqual([
      { from: '2026-02-01', to: '2026-02-03' },
      { from: '2026-02-10', to: '2026-02-10' },
    ]);
    expect(daysOfBacklog(standing, night, [], 7)).toEqual([
      { from: '2025-01-01', to: '2025-01-02' },
      { from: '2026-02-01', to: '2026-02-03' },
      { from: '2026-02-10', to: '2026-02-11' },
    ]);
  });

  test('days that the run reads anyway are not added, and no day is added twice', () => {
    const standing = [missing(['2026-03-01', '2026-03-20']), missing(['2026-03-02', '2026-03-11'])];
    expect(daysOfBacklog(standing, night, [], 5)).toEqual([
      { from: '2026-03-01', to: '2026-03-02' },
      { from: '2026-03-10', to: '2026-03-12' },
    ]);
  });
});

describe('exit codes', () => {
  test('70 before 4 before 3', () => {
    expect(mostSevere([EXIT.needsPerson, EXIT.incomplete, EXIT.done])).toBe(4);
    expect(mostSevere([EXIT.needsPerson, EXIT.fault, EXIT.incomplete])).toBe(70);
    expect(mostSevere([])).toBe(0);
  });

  test('an unexpected error is a fault', () => {
    expect(exitCodeOf(new TypeError('x'))).toBe(70);
    expect(exitCodeOf('x')).toBe(70);
    expect(exitCodeOf(new UsageError('x'))).toBe(2);
  });
});
