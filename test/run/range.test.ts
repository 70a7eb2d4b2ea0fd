import { describe, expect, test } from 'vitest';
import { coverageOf } from '../../src/run/coverage.ts';
import { EXIT, UsageError, exitCodeOf, gravest } from '../../src/run/exit-codes.ts';
import { askedRange, nightlyRange } from '../../src/run/range.ts';

const DAY_MS = 86_400_000;

describe('the days asked for', () => {
  const today = '2026-03-10';

  test('both ends stand as given', () => {
    expect(askedRange({ from: '2026-03-01', to: '2026-03-04' }, today)).toEqual({
      from: '2026-03-01',
      to: '2026-03-04',
    });
  });

  test('one end alone: from runs to yesterday, to is that one day', () => {
    expect(askedRange({ from: '2026-03-01' }, today)).toEqual({ from: '2026-03-01', to: '2026-03-09' });
    expect(askedRange({ from: today }, today)).toEqual({ from: today, to: today });
    expect(askedRange({ to: '2026-03-04' }, today)).toEqual({ from: '2026-03-04', to: '2026-03-04' });
  });

  test('none: the nightly default', () => {
    expect(askedRange({}, today)).toBeNull();
  });

  test.each([
    [{ from: '2026-03-05', to: '2026-03-04' }, 'lies after'],
    [{ from: '2026-03-05', to: '2026-03-11' }, 'has not begun'],
    [{ from: '1990-01-01', to: '2026-03-04' }, 'split it'],
  ])('%o is refused', (asked, why) => {
    expect(() => askedRange(asked, today)).toThrow(UsageError);
    expect(() => askedRange(asked, today)).toThrow(why);
  });
});

describe('the nightly default', () => {
  test('is yesterday and the re-sweep', () => {
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

  test('joins adjacent windows and tells what is left to read', () => {
    expect(coverageOf([days(2, 2), days(0, 1)], 4 * DAY_MS - 1)).toEqual({
      provenThroughMs: 3 * DAY_MS - 1,
      missing: [days(3, 3)],
    });
  });

  test('a hole of a few days is missing, and proof ends before it', () => {
    expect(coverageOf([days(0, 1), days(4, 9)], 10 * DAY_MS - 1)).toEqual({
      provenThroughMs: 2 * DAY_MS - 1,
      missing: [days(2, 3)],
    });
  });

  test('a stretch of months between two histories is not a missed night', () => {
    expect(coverageOf([days(0, 1), days(100, 101)], 102 * DAY_MS - 1)).toEqual({
      provenThroughMs: 102 * DAY_MS - 1,
      missing: [],
    });
  });

  test('however long the downtime before now was, it is missing', () => {
    expect(coverageOf([days(0, 1)], 102 * DAY_MS - 1)).toEqual({
      provenThroughMs: 2 * DAY_MS - 1,
      missing: [days(2, 101)],
    });
  });
});

describe('exit codes', () => {
  test('70 before 4 before 3', () => {
    expect(gravest([EXIT.needsPerson, EXIT.incomplete, EXIT.done])).toBe(4);
    expect(gravest([EXIT.needsPerson, EXIT.fault, EXIT.incomplete])).toBe(70);
    expect(gravest([])).toBe(0);
  });

  test('an error nobody foresaw is a fault', () => {
    expect(exitCodeOf(new TypeError('x'))).toBe(70);
    expect(exitCodeOf('x')).toBe(70);
    expect(exitCodeOf(new UsageError('x'))).toBe(2);
  });
});
