/** Silences in made-up lives of accounts: what is cut is found, and honest days are not. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { silenceOf, type ActiveDay } from '../../src/ledger/silence.ts';
import { seeded } from '../../src/plugins/sandbox/ledger.ts';

const MONDAY = '2026-03-02';
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const BIN_MS = 600_000;

/** How often entries come at an hour of a weekday, as multiples of the average of a day; Sunday is 0. */
type Habit = (weekday: number, hour: number) => number;

const office = (hour: number): number => (hour >= 9 && hour < 18 ? 24 / 9 : 0);
const isWeekend = (weekday: number): boolean => weekday === 0 || weekday === 6;
const HABITS: readonly (readonly [string, Habit])[] = [
  ['steady', () => 1],
  ['of office hours', (_, hour) => office(hour)],
  ['of weekdays', (weekday) => (isWeekend(weekday) ? 0 : 1)],
  [
    'of office hours with half a Friday',
    (weekday, hour) => (isWeekend(weekday) || (weekday === 5 && hour >= 12) ? 0 : office(hour)),
  ],
];
const QUIET_EVENINGS: Habit = (_, hour) => (hour < 9 ? 0 : hour < 13 ? 5 : hour < 23 ? 0.2 : 0);

interface Life {
  readonly day: string;
  /** When its entries came, in ms since midnight, sorted. */
  readonly atMs: readonly number[];
}

/** So many days of a Poisson account that begins within its first one. */
function lifeOf(habit: Habit, { days, aDay, seed }: Readonly<{ days: number; aDay: number; seed: number }>) {
  const random = seeded(`${seed}`);
  const first = addDays(MONDAY, Math.floor(random() * 7));
  const beginsMs = random() * DAY_MS;
  const atMsOf = (weekday: number): number[] => {
    const atMs: number[] = [];
    for (let binMs = 0; binMs < DAY_MS; binMs += BIN_MS) {
      const expected = (aDay * habit(weekday, binMs / HOUR_MS) * BIN_MS) / DAY_MS;
      for (let waited = -Math.log(1 - random()); waited < expected; waited -= Math.log(1 - random()))
        atMs.push(binMs + (waited / expected) * BIN_MS);
    }
    return atMs;
  };
  return Array.from({ length: days }, (_, nth): Life => {
    const day = addDays(first, nth);
    const atMs = atMsOf(new Date(day).getUTCDay());
    return { day, atMs: nth === 0 ? atMs.filter((ms) => ms >= beginsMs) : atMs };
  });
}

const activeOf = (life: readonly Life[]): Map<string, ActiveDay> =>
  new Map(
    life
      .filter(({ atMs }) => atMs.length > 0)
      .map(({ day, atMs }) => [day, { count: atMs.length, tailMs: DAY_MS - atMs.at(-1)! }]),
  );

/** The nights on which an alarm is raised, each with the days up to it. */
const alarms = (life: readonly Life[]): string[] =>
  life.flatMap(({ day }, nth) => (silenceOf(activeOf(life.slice(0, nth + 1)), day) === null ? [] : [day]));

describe('honest accounts', () => {
  test.each([...HABITS, ['with quiet evenings', QUIET_EVENINGS] as const])(
    '%s raise at most one alarm in 10,000 nights',
    (_, habit) => {
      const sizes = [12, 15, 20, 30, 50, 80, 150, 400];
      const lives = Array.from({ length: 160 }, (_, nth) =>
        lifeOf(habit, { days: 40, aDay: sizes[nth % sizes.length]!, seed: nth + 1 }),
      );
      expect(lives.flatMap(alarms).length).toBeLessThanOrEqual(1);
    },
    60_000,
  );
});

describe('a frozen account', () => {
  const FROZEN = fc.record({
    nth: fc.integer({ min: 15, max: 34 }),
    atMs: fc.integer({ min: 0, max: DAY_MS - 1 }),
    aDay: fc.integer({ min: 60, max: 300 }),
    seed: fc.integer({ min: 1, max: 1_000_000 }),
  });

  test.each(HABITS)('%s is found the same night or after the next day with entries', (_, habit) => {
    fc.assert(
      fc.property(FROZEN, ({ nth, atMs, aDay, seed }) => {
        const life = lifeOf(habit, { days: 45, aDay, seed });
        const frozen = life.map(({ day, atMs: own }, index) => ({
          day,
          atMs: index < nth ? own : index > nth ? [] : own.filter((ms) => ms < atMs),
        }));
        const next = life.findIndex((one, index) => index > nth && one.atMs.length > 0);
        const found = [nth, next].some((night) => silenceOf(activeOf(frozen), life[night]!.day) !== null);
        expect(found).toBe(true);
      }),
    );
  });

  test('that is steady is found the same night where half a day is missing', () => {
    fc.assert(
      fc.property(FROZEN, ({ nth, atMs, aDay, seed }) => {
        const life = lifeOf(() => 1, { days: nth + 1, aDay, seed });
        const cut = { ...life[nth]!, atMs: life[nth]!.atMs.filter((ms) => ms < atMs / 2) };
        const silence = silenceOf(activeOf([...life.slice(0, nth), cut]), cut.day);
        const tails = life.slice(1, nth).map((one) => DAY_MS - one.atMs.at(-1)!);
        if (cut.atMs.length > 0)
          expect(silence).toEqual({
            newestDay: cut.day,
            days: 0,
            longest: 0,
            usualTailMs: Math.max(...tails),
          });
      }),
    );
  });
});

describe('the habit', () => {
  const life = (counts: readonly number[], tailMs = HOUR_MS): Map<string, ActiveDay> =>
    new Map(counts.map((count, nth) => [addDays(MONDAY, nth), { count, tailMs }]));

  test.each([
    ['the newest day is cut', [15, 15, 15, 15, 1]],
    ['the first day is cut', [1, 15, 15, 15, 15]],
    ['both are', [2, 15, 15, 15, 2]],
  ])('is that of a busy account where %s', (_, counts) => {
    // The Monday after the first weekend, on which no entry is due.
    expect(silenceOf(life(counts), addDays(MONDAY, 7))).toMatchObject({ days: 1, longest: 0 });
  });

  test.each([
    ['a day between is quiet', [15, 15, 1, 15, 15, 15]],
    ['so few days are known that the others are no habit', [15, 15, 1]],
    ['it has few entries a day', [6, 6, 6, 6, 6]],
  ])('is that of no busy account where %s', (_, counts) => {
    expect(silenceOf(life(counts), addDays(MONDAY, 7))).toBeNull();
  });

  test('of a first short Friday is not known from the days before it', () => {
    const days = life([60, 60, 60, 60, 30]);
    days.set(addDays(MONDAY, 4), { count: 30, tailMs: 14 * HOUR_MS });
    expect(silenceOf(days, addDays(MONDAY, 4))).toBeNull();
  });

  test('of a weekday alone counts, too, where another one ends early', () => {
    const counts = Array.from({ length: 37 }, () => 200);
    const days = life(counts);
    for (let nth = 4; nth < 37; nth += 7)
      days.set(addDays(MONDAY, nth), { count: 100, tailMs: 12 * HOUR_MS });
    expect(silenceOf(days, addDays(MONDAY, 36))).toBeNull();
    days.set(addDays(MONDAY, 36), { count: 60, tailMs: 16 * HOUR_MS });
    expect(silenceOf(days, addDays(MONDAY, 36))).toMatchObject({ days: 0, usualTailMs: HOUR_MS });
  });

  test('says nothing where the end of the newest day is not known', () => {
    const days = life([60, 60, 60, 60, 60, 60, 60, 60]);
    days.set(addDays(MONDAY, 7), { count: 1, tailMs: null });
    expect(silenceOf(days, addDays(MONDAY, 7))).toBeNull();
  });
});
