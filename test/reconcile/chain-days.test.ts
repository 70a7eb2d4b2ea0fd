/** Chaining day after day, each from the closing before, gives the same days as one chain over all of them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ContinuityBreak, LedgerEntry } from '../../src/ledger/entry.ts';
import {
  chainDays,
  type ChainDaysOptions,
  type ChainedDays,
  markUndecided,
  decisionOf,
  type ToDecide,
} from '../../src/reconcile/chain-days.ts';
import type { DayFigures } from '../../src/store/account-days.ts';
import { entryOf } from '../ledger/all-orders.ts';

const DAY_S = 86_400;
const DAYS = 4;

const aroundMidnight = fc
  .tuple(fc.integer({ min: 1, max: DAYS - 1 }), fc.integer({ min: -5, max: 5 }))
  .map(([day, second]) => day * DAY_S + second);
const anyTime = fc.integer({ min: 0, max: DAYS * DAY_S - 10 });

/** Entries of some days, mostly around midnight. Some are late, some missing, some have a wrong balance. */
const histories = fc
  .record({
    balanceMax: fc.constantFrom(2, 4, 1_000_000),
    kind: fc.constantFrom('true', 'late', 'late and missing', 'late and torn'),
    draws: fc.array(
      fc.record({
        second: fc.oneof({ weight: 4, arbitrary: aroundMidnight }, { weight: 1, arbitrary: anyTime }),
        after: fc.nat(),
        odds: fc.integer({ min: 0, max: 9 }),
        torn: fc.nat(),
      }),
      { minLength: 6, maxLength: 20 },
    ),
  })
  .map(({ balanceMax, kind, draws }) => {
    const seconds = draws.map(({ second }) => second).sort((a, b) => a - b);
    let balance = 0;
    const lines = draws.flatMap(({ after, odds, torn }, index) => {
      const before = kind === 'late and torn' && odds > 6 ? torn % (balanceMax + 1) : balance;
      balance = after % (balanceMax + 1);
      if (kind === 'late and missing' && odds === 5) return [];
      const late = kind === 'true' || odds > 3 ? 0 : 1 + (odds % 2);
      return [{ second: seconds[index]! + late, before, after: balance }];
    });
    return lines.toSorted((a, b) => a.second - b.second).map(entryOf);
  });

const reading = (entries: readonly LedgerEntry[]): Omit<ToDecide, 'days' | 'before'> => ({
  joins: () => Promise.resolve(true),
  async *read(day) {
    yield await Promise.resolve(entries.filter(({ bookedAt }) => bookedAt.startsWith(day)));
  },
  clockToleranceS: 2,
});

const chained = (
  entries: readonly LedgerEntry[],
  days: readonly string[],
  before: DayFigures | undefined,
  { isBrokenAfter = false, closing }: Partial<Pick<ChainDaysOptions, 'isBrokenAfter' | 'closing'>> = {},
): Promise<ChainedDays> =>
  chainDays({
    ...reading(entries),
    account: { merchantNo: 'M', currency: 'JPY' },
    ...{ days, before, isBrokenAfter, closing },
    zone: 'UTC',
    minorUnits: 0,
    signal: new AbortController().signal,
  });

/** Hints depend on the breaks around, so they are not compared here. */
const unhinted = (breaks: readonly ContinuityBreak[]) =>
  breaks
    .map((found) => ({ ...found, hint: null, hintBatchNo: null }))
    .toSorted((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));

/** Chains each day once it is over, from the closing before, together with the earlier days that it needs. */
async function dayByDay(entries: readonly LedgerEntry[], days: readonly string[]) {
  const figures = new Map<string, DayFigures>();
  const breaks = new Map<string, ContinuityBreak[]>();
  let together = 0;
  for (let last = 0; last < days.length; last += 1) {
    let first = last;
    const takeOpenOnes = (): void => {
      while (first > 0 && !figures.get(days[first - 1]!)!.isOrderFinal) first -= 1;
    };
    takeOpenOnes();
    const before = () => figures.get(days[first - 1] ?? '');
    const chain = (until = last, change: Parameters<typeof chained>[3] = {}) =>
      chained(entries, days.slice(first, until + 1), before(), change);
    const asked = { ...reading(entries), days: days.slice(first, last + 1), before: before() };
    const { decides, others } = await decisionOf(asked);
    if (decides) while (before()?.otherClosings !== undefined) first -= 1;
    takeOpenOnes();
    let made = await chain();
    made = others.length === 0 ? made : { ...made, days: markUndecided(made.days, others) };
    while (made.brokenAtStart) {
      first -= 1;
      takeOpenOnes();
      made = await chain();
    }
    if (first < last) together += 1;
    for (const day of made.days) figures.set(day.day, day);
    for (const day of days.slice(first, last + 1)) {
      breaks.set(
        day,
        made.breaks.filter((found) => found.day === day),
      );
    }
    // A break right before these days also counts for the day before them.
    if (first > 0) {
      const front = first - 1;
      const { closing: balance, otherClosings } = figures.get(days[front]!)!;
      const closing = { balance, isCertain: otherClosings === undefined };
      first = front;
      takeOpenOnes();
      const again = await chain(front, { isBrokenAfter: made.days[0]!.startsWithBreak, closing });
      for (const day of again.days) figures.set(day.day, day);
    }
  }
  return { figures: [...figures.values()], breaks: [...breaks.values()].flat(), together };
}

test('day by day gives the figures and breaks of one pass over all days', { tags: ['long'] }, async () => {
  let together = 0;
  let days = 0;
  await fc.assert(
    fc.asyncProperty(histories, async (entries) => {
      const listed = [...new Set(entries.map(({ bookedAt }) => bookedAt.slice(0, 10)))].sort();
      const whole = await chained(entries, listed, undefined);
      const apart = await dayByDay(entries, listed);
      expect(apart.figures).toEqual(whole.days);
      expect(unhinted(apart.breaks)).toEqual(unhinted(whole.breaks));
      together += apart.together;
      days += listed.length;
    }),
    { numRuns: 2_500 },
  );
  // Both cases occur: days that continue from a closing, and days that cannot.
  expect(together).toBeGreaterThan(500);
  expect(days - together).toBeGreaterThan(2_000);
});

test('days that fit several openings are final once a later day decides, all of them together', async () => {
  // Of two entries that cancel, either may be the first one: each day fits two openings.
  const open = [0, 1].flatMap((day) => [
    { second: day * DAY_S + 3_600, before: 100, after: 110 },
    { second: day * DAY_S + 3_600, before: 110, after: 100 },
  ]);
  const decides = { second: 2 * DAY_S + 3_600, before: 100, after: 101 };
  const days = ['2026-03-01', '2026-03-02', '2026-03-03'];
  const figures = async (lines: typeof open, listed: readonly string[]) =>
    (await chained(lines.map(entryOf), listed, undefined)).days.map(
      ({ opening, closing, isOrderFinal, otherClosings }) => [
        opening,
        closing,
        isOrderFinal,
        otherClosings ?? [],
      ],
    );
  expect(await figures([...open, decides], days)).toEqual([
    ['100', '100', true, []],
    ['100', '100', true, []],
    ['100', '101', true, []],
  ]);
});

test('a day stays final where the next one ends on a break at midnight that entries to come may heal', async () => {
  const lines = [
    { second: 3_600, before: 100, after: 110 },
    { second: 2 * DAY_S - 1, before: 150, after: 160 },
  ];
  const { days } = await chained(lines.map(entryOf), ['2026-03-01', '2026-03-02'], undefined);
  expect(days.map(({ day, isOrderFinal }) => [day, isOrderFinal])).toEqual([
    ['2026-03-01', true],
    ['2026-03-02', false],
  ]);
});
