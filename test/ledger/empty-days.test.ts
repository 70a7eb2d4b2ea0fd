import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { emptyBusyDays, USUAL_DAYS } from '../../src/ledger/empty-days.ts';
import { seeded } from '../../src/plugins/sandbox/ledger.ts';

const MONDAY = '2026-03-02';
const day = (n: number): string => addDays(MONDAY, n);
const daysFrom = (first: number, count: number) => Array.from({ length: count }, (_, n) => day(first + n));

/** Entries of `count` days that begin with a Monday. `entriesOn` says how many each day has. */
const ledger = (count: number, entriesOn: (n: number) => number): Map<string, number> =>
  new Map(daysFrom(0, count).map((one, n) => [one, entriesOn(n)]));
const reported = (entries: Map<string, number>, days: readonly string[]): string[] =>
  emptyBusyDays(entries, days).map((one) => one.day);

describe('a day without entries', () => {
  test('is reported if its weekday was busy in each of the last four weeks, with the usual numbers', () => {
    const entries = ledger(36, (n) => (n === 35 ? 0 : 11 + Math.floor(n / 7)));
    expect(emptyBusyDays(entries, [day(34), day(35)])).toEqual([{ day: day(35), fewest: 12, most: 15 }]);
  });

  test('is reported too if the day is missing from the counts', () => {
    const entries = ledger(35, () => 12);
    expect(reported(entries, [day(35)])).toEqual([day(35)]);
  });

  test('is not reported on a weekend, nor is the Monday after it', () => {
    const entries = ledger(60, (n) => (n % 7 > 4 ? 0 : 40));
    expect(reported(entries, daysFrom(USUAL_DAYS, 20))).toEqual([]);
    entries.set(day(42), 0);
    expect(reported(entries, daysFrom(USUAL_DAYS, 20))).toEqual([day(42)]);
  });

  test('is not reported in a quiet ledger, in a new one, or if the weekday was empty once recently', () => {
    expect(
      reported(
        ledger(35, () => 4),
        [day(35)],
      ),
    ).toEqual([]);
    expect(
      reported(
        ledger(35, (n) => (n % 2 === 0 ? 9 : 5)),
        [day(35)],
      ),
    ).toEqual([]);
    expect(
      reported(
        ledger(27, () => 50),
        [day(27)],
      ),
    ).toEqual([]);
    expect(
      reported(
        ledger(35, (n) => (n === 14 ? 0 : 50)),
        [day(35)],
      ),
    ).toEqual([]);
  });

  test('is reported once for a week without entries, and once for a ledger that ends', () => {
    const closed = ledger(70, (n) => (n >= 37 && n < 44 ? 0 : 30));
    expect(reported(closed, daysFrom(35, 35))).toEqual([day(37)]);
    const ended = ledger(70, (n) => (n >= 40 ? 0 : 30));
    expect(reported(ended, daysFrom(35, 35))).toEqual([day(40)]);
  });

  test('is reported alike, whichever days are asked about together', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(0, 8, 15, 25), { minLength: 50, maxLength: 50 }),
        fc.integer({ min: 35, max: 49 }),
        (counts, from) => {
          const entries = ledger(50, (n) => counts[n]!);
          const all = reported(entries, daysFrom(35, 15));
          const some = reported(entries, daysFrom(from, 50 - from));
          expect(some).toEqual(all.filter((one) => one >= day(from)));
          for (const one of all) expect(entries.get(one)).toBe(0);
        },
      ),
    );
  });

  test('is hardly ever reported by chance, whatever the average number of entries', () => {
    const random = seeded('by chance');
    /** Independent random entries: how many come before their waiting times add up to a day. */
    const drawn = (mean: number): number => {
      let count = -1;
      for (let wait = 0; wait < mean; count += 1) wait -= Math.log(1 - random());
      return count;
    };
    const DAYS = 20_000;
    const alarms = [4, 6, 8, 10, 12].flatMap((mean) => {
      const entries = ledger(DAYS, () => drawn(mean));
      return reported(entries, daysFrom(USUAL_DAYS, DAYS - USUAL_DAYS));
    });
    expect(alarms.length).toBeLessThanOrEqual(1);
  });
});
