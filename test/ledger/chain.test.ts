import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldDays } from '../../src/ledger/chain/account-days.ts';
import { createChain, type ChainStart } from '../../src/ledger/chain/chain.ts';
import type { ChainStep } from '../../src/ledger/chain/chain-link.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { fromScaled } from '../../src/ledger/money.ts';

const MIDNIGHT_MS = Date.UTC(2026, 2, 1);

/** Entries of a consistent account. Each line has a net in cents and a second; batchNos are in the order of booking. */
function ledger(
  opening: number,
  lines: readonly (readonly [second: number, cents: number])[],
): LedgerEntry[] {
  let balance = opening;
  return lines.map(([second, cents], index) => {
    balance += cents;
    const bookedMs = MIDNIGHT_MS + second * 1_000;
    const amount = fromScaled(BigInt(Math.abs(cents)), 2);
    return {
      batchNo: `B${String(index).padStart(7, '0')}`,
      currency: 'USD',
      transactionType: 'PAY',
      credit: cents >= 0 ? amount : null,
      debit: cents >= 0 ? null : amount,
      balance: fromScaled(BigInt(balance), 2),
      bookedAt: new Date(bookedMs).toISOString().slice(0, 19).replace('T', ' '),
      bookedMs,
    };
  });
}

const byTime = (a: LedgerEntry, b: LedgerEntry) =>
  a.bookedMs - b.bookedMs || (a.batchNo < b.batchNo ? -1 : a.batchNo > b.batchNo ? 1 : 0);

function chained(
  entries: readonly LedgerEntry[],
  start: ChainStart | null = null,
  chunk = 1_000,
): ChainStep[] {
  const chain = createChain({ clockToleranceS: 2, start });
  const sorted = [...entries].sort(byTime);
  const steps: ChainStep[] = [];
  for (let at = 0; at < sorted.length; at += chunk) steps.push(...chain.push(sorted.slice(at, at + chunk)));
  return [...steps, ...chain.end()];
}

const breaksOf = (steps: readonly ChainStep[]) =>
  steps.flatMap((step) => (step.break === null ? [] : [step.break]));
const batchNos = (steps: readonly ChainStep[]) => steps.map((step) => step.entry.batchNo);
const opening = (cents: number): ChainStart => ({
  balance: fromScaled(BigInt(cents), 2),
  batchNo: 'OPENING',
  bookedMs: MIDNIGHT_MS - 60_000,
});

/** The same entries with batchNos that say nothing about their order. */
function renumbered(entries: readonly LedgerEntry[], order: readonly number[]): LedgerEntry[] {
  return entries.map((entry, index) => ({ ...entry, batchNo: `R${String(order[index]).padStart(7, '0')}` }));
}

/** A reproducible shuffle of 0..count-1. */
function shuffledNumbers(count: number, seed: number): number[] {
  const numbers = Array.from({ length: count }, (_, index) => index);
  let state = seed;
  for (let at = count - 1; at > 0; at -= 1) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const other = state % (at + 1);
    [numbers[at], numbers[other]] = [numbers[other]!, numbers[at]!];
  }
  return numbers;
}

const lines = fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: -50_000, max: 50_000 })), {
  minLength: 1,
  maxLength: 60,
});

/** Turns gaps of 0 to 3 seconds between entries into the seconds they are booked at. */
const inSeconds = (gaps: readonly (readonly [number, number])[]): [number, number][] => {
  let second = 10;
  return gaps.map(([gap, cents]) => [(second += gap), cents]);
};

describe('the balance chain', () => {
  test('one second of three entries, numbered against their order, comes out in the order of balances', () => {
    const entries = renumbered(
      ledger(10_000, [
        [5, 300],
        [5, -100],
        [5, 700],
      ]),
      [2, 1, 0],
    );
    const steps = chained(entries, opening(10_000));
    expect(batchNos(steps)).toEqual(['R0000002', 'R0000001', 'R0000000']);
    expect(breaksOf(steps)).toEqual([]);
  });

  test('groups of entries of one second are put in order, however they are numbered', () => {
    fc.assert(
      fc.property(lines, fc.nat(), (gaps, seed) => {
        const entries = ledger(1_000_000, inSeconds(gaps));
        const steps = chained(renumbered(entries, shuffledNumbers(entries.length, seed)), opening(1_000_000));
        expect(breaksOf(steps)).toEqual([]);
        expect(steps.length).toBe(entries.length);
        expect(new Set(batchNos(steps)).size).toBe(entries.length);
        expect(steps.at(-1)!.entry.balance).toBe(entries.at(-1)!.balance);
      }),
      { numRuns: 300 },
    );
  });

  test('the result does not depend on the order of entries within a second, nor on how they are cut into pushes', () => {
    fc.assert(
      fc.property(lines, fc.nat(), fc.integer({ min: 1, max: 7 }), fc.nat(), (gaps, seed, chunk, dropped) => {
        const whole = renumbered(ledger(0, inSeconds(gaps)), shuffledNumbers(gaps.length, seed));
        const entries = whole.filter((_, index) => index !== dropped % whole.length);
        expect(chained(entries, null, chunk)).toEqual(chained(entries, null));
      }),
      { numRuns: 200 },
    );
  });

  test('entries that no later one can move are given out at once', () => {
    const entries = ledger(
      10_000,
      Array.from({ length: 20 }, (_, nth) => [60 * nth, 100 + nth] as const),
    );
    const chain = createChain({ clockToleranceS: 2, start: opening(10_000) });
    const given = entries.map((entry) => batchNos(chain.push([entry])));
    expect(given).toEqual(entries.map((_, nth) => (nth === 0 ? [] : [entries[nth - 1]!.batchNo])));
    expect(batchNos(chain.end())).toEqual([entries.at(-1)!.batchNo]);
  });

  test('clocks off by up to the tolerance change the order and cause no break', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.integer({ min: 1, max: 4 }),
            fc.integer({ min: 1, max: 9_999 }),
            fc.integer({ min: 0, max: 1 }),
          ),
          { minLength: 2, maxLength: 40 },
        ),
        (raw) => {
          let second = 10;
          const entries = ledger(
            0,
            raw.map(([gap, cents, late]) => [(second += gap) + late, cents]),
          );
          const steps = chained(entries, opening(0));
          expect(breaksOf(steps)).toEqual([]);
          expect(batchNos(steps)).toEqual(entries.map(({ batchNo }) => batchNo));
        },
      ),
      { numRuns: 300 },
    );
  });

  test('one missing entry gives one break, with its net, its neighbours and its span', () => {
    const entries = ledger(50_000, [
      [10, 100],
      [20, 250],
      [30, -75],
      [40, 60],
    ]);
    const steps = chained(
      entries.filter((_, index) => index !== 2),
      opening(50_000),
    );
    expect(breaksOf(steps)).toEqual([
      {
        afterBatchNo: 'B0000001',
        beforeBatchNo: 'B0000003',
        expectedBalance: '503.50',
        foundBalance: '502.75',
        missingNet: '-0.75',
        hint: 'unexplained',
        hintBatchNo: null,
        span: { beginMs: MIDNIGHT_MS + 20_000, endMs: MIDNIGHT_MS + 40_999 },
        day: '2026-03-01',
      },
    ]);
  });

  test('one entry missing from any rising ledger is one break of its net, and no break if it was the last', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 1, max: 9_999 })), {
          minLength: 1,
          maxLength: 50,
        }),
        fc.nat(),
        (gaps, at) => {
          const entries = ledger(0, inSeconds(gaps));
          const out = at % entries.length;
          const nets = breaksOf(
            chained(
              entries.filter((_, index) => index !== out),
              opening(0),
            ),
          ).map((b) => b.missingNet);
          expect(nets).toEqual(out === entries.length - 1 ? [] : [fromScaled(BigInt(gaps[out]![1]), 2)]);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('a second of unconnected entries has as few breaks as possible', () => {
    const pair = ledger(0, [
      [5, 100],
      [5, 100],
    ]);
    const apart = ledger(100_000, [
      [5, 100],
      [5, 100],
    ]).map((entry) => ({ ...entry, batchNo: `X${entry.batchNo}` }));
    expect(breaksOf(chained([...apart, ...pair], opening(0))).length).toBe(1);
    expect(breaksOf(chained([...apart, ...pair], opening(777))).length).toBe(2);
  });

  test('an unknown opening comes from the first entry, even if the first second is a circuit', () => {
    const entries = ledger(11_000, [
      [5, -1_000],
      [5, 1_000],
      [9, 500],
    ]);
    const steps = chained(entries);
    expect(breaksOf(steps)).toEqual([]);
    expect(fromScaled(steps[0]!.before, 2)).toBe('110.00');
  });

  test('entries with more decimals than those before keep all of them', () => {
    const [first, second] = ledger(0, [
      [1, 100],
      [2, 100],
    ]) as [LedgerEntry, LedgerEntry];
    const fine = { ...second, credit: '1.005', balance: '2.005' };
    expect(breaksOf(chained([first, fine], opening(0)))).toEqual([]);
  });

  test('5,000 entries of one second are chained without a break', () => {
    const entries = ledger(
      0,
      Array.from({ length: 5_000 }, (_, index) => [5, ((index * 7_919) % 2_000) - 700 || 1]),
    );
    const steps = chained(renumbered(entries, shuffledNumbers(5_000, 1)), opening(0));
    expect(steps.length).toBe(5_000);
    expect(breaksOf(steps)).toEqual([]);
  });

  test('a day of 100,000 entries, shuffled within their seconds, is continuous', { tags: ['long'] }, () => {
    const numbers = shuffledNumbers(100_000, 3);
    const entries = ledger(
      0,
      numbers.map((n, index) => [Math.floor(index * 0.86) - (n % 2), (n % 5_000) - 2_400 || 1]),
    );
    const sorted = entries.map((entry) => entry.bookedMs).sort((a, b) => a - b);
    const tidy = ledger(
      0,
      numbers.map((n, index) => [(sorted[index]! - MIDNIGHT_MS) / 1_000 + 1, (n % 5_000) - 2_400 || 1]),
    );
    const fold = foldDays({ opening: '0.00', minorUnits: 2 });
    const days = [
      ...fold.push(chained(renumbered(tidy, shuffledNumbers(100_000, 5)), opening(0))),
      ...fold.end(),
    ];
    expect(days.map(({ day, verdict, closing }) => ({ day, verdict, closing }))).toEqual([
      { day: '2026-03-01', verdict: 'continuous', closing: tidy.at(-1)!.balance },
    ]);
  });
});

describe('account days', () => {
  const fold = (entries: readonly LedgerEntry[], start: ChainStart | null) => {
    const days = foldDays({ opening: start?.balance ?? null, minorUnits: 2 });
    const done = days.push(chained(entries, start));
    return { days: [...done, ...days.end()], breaks: days.breaks() };
  };

  test('each day opens with the closing of the day before', () => {
    const { days } = fold(
      ledger(10_000, [
        [10, 500],
        [20, -200],
        [86_410, 50],
      ]),
      null,
    );
    expect(days).toEqual([
      {
        currency: '',
        day: '2026-03-01',
        opening: '100.00',
        creditTotal: '5.00',
        creditCount: 1,
        debitTotal: '2.00',
        debitCount: 1,
        closing: '103.00',
        verdict: 'continuous',
        breakCount: 0,
        breaksAfter: 0,
        lastBatchNo: 'B0000001',
        lastBookedMs: MIDNIGHT_MS + 20_000,
        isOrderFinal: true,
        startsWithBreak: false,
      },
      {
        currency: '',
        day: '2026-03-02',
        opening: '103.00',
        creditTotal: '0.50',
        creditCount: 1,
        debitTotal: '0.00',
        debitCount: 0,
        closing: '103.50',
        verdict: 'continuous',
        breakCount: 0,
        breaksAfter: 0,
        lastBatchNo: 'B0000002',
        lastBookedMs: MIDNIGHT_MS + 86_410_000,
        isOrderFinal: true,
        startsWithBreak: false,
      },
    ]);
  });

  test('if entries trade places over midnight, the sums of both days are still right', () => {
    const { days } = fold(
      ledger(10_000, [
        [86_400, 500],
        [86_399, -200],
        [86_500, 50],
      ]),
      opening(10_000),
    );
    expect(days.map((d) => [d.day, d.opening, d.closing, d.verdict, d.isOrderFinal])).toEqual([
      ['2026-03-01', '100.00', '98.00', 'reordered', false],
      ['2026-03-02', '98.00', '103.50', 'reordered', true],
    ]);
  });

  test('a missing last entry of a day breaks that day and the next day with entries, with its amount', () => {
    const entries = ledger(10_000, [
      [10, 500],
      [20, -200],
      [86_410, 50],
    ]).filter((_, index) => index !== 1);
    const { days, breaks } = fold(entries, opening(10_000));
    expect(days.map((d) => [d.day, d.opening, d.closing, d.verdict, d.breakCount, d.breaksAfter])).toEqual([
      ['2026-03-01', '100.00', '105.00', 'broken', 1, 1],
      ['2026-03-02', '105.00', '103.50', 'broken', 1, 0],
    ]);
    expect(breaks.map((b) => [b.day, b.missingNet])).toEqual([['2026-03-02', '-2.00']]);
  });
});
