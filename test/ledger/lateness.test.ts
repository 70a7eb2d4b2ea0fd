/** What is said of lateness follows from the bounds that are known, and never says more. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import {
  addMonths,
  finalityOf,
  isRuledOut,
  latenessAt,
  latenessOf,
  NOTHING_MEASURED,
  periodFrom,
  lookbackDaysNeeded,
  type LateCount,
  type SampledMonth,
} from '../../src/ledger/lateness.ts';

const lateCount = fc
  .record({ daysMin: fc.nat(40), width: fc.nat(20), entries: fc.integer({ min: 1, max: 30 }) })
  .map(({ daysMin, width, entries }): LateCount => {
    const daysMax = Math.max(1, daysMin + width);
    return { daysMin, daysMax, entries };
  });
const lateCounts = fc.array(lateCount, { maxLength: 12 });
const share = fc.constantFrom(0.01, 0.5, 0.9, 0.99, 1);
/** The smallest value that so large a share does not exceed, of all of them one by one. */
const percentile = (values: readonly number[], part: number): number =>
  values
    .toSorted((a, b) => a - b)
    .find((value) => values.filter((one) => one <= value).length >= part * values.length)!;
const each = (late: readonly LateCount[], value: (one: LateCount) => number): number[] =>
  late.flatMap((one) => Array.from({ length: one.entries }, () => value(one)));

describe('a percentile', () => {
  test('is that of the bounds, entry by entry', () => {
    fc.assert(
      fc.property(lateCounts, share, (late, part) => {
        const lateness = latenessAt(late, part);
        expect(lateness).toEqual(
          late.length === 0
            ? null
            : {
                atLeast: percentile(
                  each(late, ({ daysMin }) => daysMin),
                  part,
                ),
                atMost: percentile(
                  each(late, ({ daysMax }) => daysMax),
                  part,
                ),
              },
        );
      }),
    );
  });

  test('holds the true one, wherever between its bounds each entry came', () => {
    fc.assert(
      fc.property(
        lateCounts,
        share,
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        (late, part, at) => {
          fc.pre(late.length > 0);
          const truth = each(late, ({ daysMin, daysMax }) => {
            const where: number = at.next().value as number;
            return daysMin + where * (daysMax - daysMin);
          });
          const { atLeast, atMost } = latenessAt(late, part)!;
          expect(percentile(truth, part)).toBeGreaterThanOrEqual(atLeast);
          expect(percentile(truth, part)).toBeLessThanOrEqual(atMost);
        },
      ),
    );
  });
});

describe('the days to read again', () => {
  test('find 99 % of the late entries, unless the bounds forbid it', () => {
    fc.assert(
      fc.property(lateCounts, fc.nat(40), fc.nat(40), (late, least, most) => {
        const days = lookbackDaysNeeded(late, { least, most });
        expect(days).toBeGreaterThanOrEqual(least);
        expect(days).toBeLessThanOrEqual(Math.max(least, most));
        const all = each(late, ({ daysMax }) => daysMax);
        const isFound = (reach: number) => all.filter((one) => one - 1 <= reach).length >= 0.99 * all.length;
        if (days < most) expect(isFound(days)).toBe(true);
        if (days > least) expect(isFound(days - 1)).toBe(false);
      }),
    );
  });

  test.each([
    ['nothing came late', [], 7],
    ['all came within the days read anyway', [{ daysMin: 0, daysMax: 5, entries: 900 }], 7],
    ['some came later', [{ daysMin: 8, daysMax: 15, entries: 3 }], 14],
    ['they came later than a setting allows', [{ daysMin: 40, daysMax: 60, entries: 3 }], 31],
    [
      'one of very many came later',
      [
        { daysMin: 0, daysMax: 2, entries: 200 },
        { daysMin: 200, daysMax: 201, entries: 1 },
      ],
      7,
    ],
  ])('%s', (_, late, days) => {
    expect(lookbackDaysNeeded(late, { least: 7, most: 31 })).toBe(days);
  });
});

describe('when a day is final', () => {
  const month = (entries: number, watchedDays: number): SampledMonth => ({
    month: '2026-01-01',
    entries,
    sampledOn: addDays('2026-01-31', watchedDays),
  });

  test.each([
    ['nothing was measured', NOTHING_MEASURED, null],
    ['too few entries were watched for the rule of three', { late: [], watched: [month(2_994, 40)] }, null],
    [
      'enough were watched, and none came late',
      { late: [], watched: [month(2_995, 40)] },
      { afterDays: 1, watchedEntries: 2_995, laterEntries: 0 },
    ],
    ['enough were watched, but not for long', { late: [], watched: [month(50_000, 31)] }, null],
    [
      'a few came late, and many were watched',
      { late: [{ daysMin: 0, daysMax: 3, entries: 2 }], watched: [month(10_000, 40)] },
      { afterDays: 1, watchedEntries: 10_000, laterEntries: 2 },
    ],
    [
      'a few came late, and not so many were watched',
      { late: [{ daysMin: 0, daysMax: 3, entries: 2 }], watched: [month(5_000, 40)] },
      { afterDays: 3, watchedEntries: 5_000, laterEntries: 0 },
    ],
    [
      'they came later than anything was watched',
      { late: [{ daysMin: 20, daysMax: 30, entries: 9 }], watched: [month(5_000, 40)] },
      null,
    ],
  ])('%s', (_, measured, finality) => {
    expect(finalityOf(measured)).toEqual(finality);
  });

  test('what is ruled out is what the binomial distribution rules out', () => {
    const chanceOf = (seen: number, later: number, part: number): number => {
      let [chance, sum] = [(1 - part) ** seen, 0];
      for (let k = 0; k <= later; k += 1) {
        sum += chance;
        chance *= ((seen - k) / (k + 1)) * (part / (1 - part));
      }
      return sum;
    };
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20_000 }), fc.nat(30), (seen, later) => {
        fc.pre(later < seen * 0.001);
        const chance = chanceOf(seen, later, 0.001);
        fc.pre(Math.abs(chance - 0.05) > 1e-9);
        expect(isRuledOut({ seen, later, share: 0.001 })).toBe(chance <= 0.05);
      }),
    );
  });

  test('is not said where as many came late as would be allowed, however many were watched', () => {
    expect(isRuledOut({ seen: 10_000_000, later: 10_000, share: 0.001 })).toBe(false);
    expect(isRuledOut({ seen: 10_000_000, later: 9_500, share: 0.001 })).toBe(true);
  });
});

test('months are counted over the ends of years, and the period slides', () => {
  expect(addMonths('2026-01-01', -1)).toBe('2025-12-01');
  expect(addMonths('2026-03-31', -1)).toBe('2026-02-01');
  expect(periodFrom('2026-03-10')).toBe('2025-02-01');
});

test('all of it, told', () => {
  const late = [
    { daysMin: 0, daysMax: 2, entries: 5 },
    { daysMin: 6, daysMax: 9, entries: 1 },
  ];
  const watched = [{ month: '2026-01-01', entries: 4_000, sampledOn: '2026-03-20' }];
  expect(latenessOf({ late, watched }, '2026-03-20')).toEqual({
    since: '2025-02-01',
    watchedEntries: 4_000,
    lateEntries: 6,
    median: { atLeast: 0, atMost: 2 },
    p99: { atLeast: 6, atMost: 9 },
    worst: { atLeast: 6, atMost: 9 },
    final: { afterDays: 9, watchedEntries: 4_000, laterEntries: 0 },
  });
});
