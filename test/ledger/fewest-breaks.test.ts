/** Compares the breaks of the chain with those of every possible order: it must have as few as it promises. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ChainStep } from '../../src/ledger/chain/chain-link.ts';
import {
  breakCount,
  chainOf,
  entryOf,
  fewestJumps,
  isHonest,
  smallLedgers,
  stepsOf,
  type Line,
  type SmallLedger,
} from './all-orders.ts';

/** Runs of each property. It takes thousands, as each mistake found so far showed in one ledger of several hundred. */
const RUNS = { numRuns: 2_000 } as const;

const inTime = (ledger: SmallLedger): SmallLedger => ({ ...ledger, clockToleranceS: 0 });

describe('compared with every order of a small ledger', () => {
  test('every entry comes once, in an allowed order, with a break exactly where a balance does not follow', () => {
    fc.assert(
      fc.property(smallLedgers, (ledger) => {
        expect(isHonest(ledger, stepsOf(ledger))).toBe(true);
      }),
      RUNS,
    );
  });

  test('there are no more breaks than in the best order in which time never goes back', () => {
    fc.assert(
      fc.property(smallLedgers, (ledger) => {
        expect(breakCount(stepsOf(ledger))).toBeLessThanOrEqual(fewestJumps(inTime(ledger)));
      }),
      RUNS,
    );
  });

  test('without a tolerance there are exactly as few breaks as in that order', () => {
    fc.assert(
      fc.property(smallLedgers.map(inTime), (ledger) => {
        expect(breakCount(stepsOf(ledger))).toBe(fewestJumps(ledger));
      }),
      RUNS,
    );
  });

  test('there is no break if some allowed order has none, and never fewer than in the best allowed order', () => {
    let mended = 0;
    fc.assert(
      fc.property(smallLedgers, (ledger) => {
        const fewest = fewestJumps(ledger);
        const found = breakCount(stepsOf(ledger));
        expect(found).toBeGreaterThanOrEqual(fewest);
        if (fewest === 0) expect(found).toBe(0);
        if (found < fewestJumps(inTime(ledger))) mended += 1;
      }),
      RUNS,
    );
    expect(mended).toBeGreaterThan(100);
  });

  test('entries that are all within the tolerance have as few breaks as in any order', () => {
    fc.assert(
      fc.property(smallLedgers, (drawn) => {
        const lines = drawn.lines.map((line) => ({ ...line, second: line.second % 4 }));
        const ledger = {
          ...drawn,
          lines: lines.toSorted((a, b) => a.second - b.second),
          clockToleranceS: 3,
        };
        expect(breakCount(stepsOf(ledger))).toBe(fewestJumps(ledger));
      }),
      RUNS,
    );
  });

  test('the cuts into pushes, and the order within a second, change nothing', () => {
    fc.assert(
      fc.property(smallLedgers, fc.integer({ min: 1, max: 3 }), (ledger, piece) => {
        const steps = stepsOf(ledger);
        expect(stepsOf(ledger, piece)).toEqual(steps);
        const chain = chainOf(ledger.start, ledger.clockToleranceS);
        const entries = ledger.lines.map(entryOf).reverse();
        expect([...chain.push(entries.toSorted((a, b) => a.bookedMs - b.bookedMs)), ...chain.end()]).toEqual(
          steps,
        );
      }),
      { numRuns: 1_000 },
    );
  });
});

test('more decimals that come while the order is undecided change nothing', () => {
  const spelled = (amount: string | null, decimals: number): string | null =>
    amount === null || decimals === 0 ? amount : `${amount}.${'0'.repeat(decimals)}`;
  fc.assert(
    fc.property(smallLedgers, fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 8 }), (ledger, drawn) => {
      const entries = ledger.lines.map(entryOf).map((entry, index) => ({
        ...entry,
        credit: spelled(entry.credit, drawn[index]!),
        debit: spelled(entry.debit, drawn[index]!),
        balance: spelled(entry.balance, drawn[index]!)!,
      }));
      const chain = chainOf(ledger.start, ledger.clockToleranceS);
      const outline = (steps: readonly ChainStep[]) =>
        steps.map(({ entry, ...step }) => [entry.batchNo, step.break !== null, step.moved]);
      expect(outline([...chain.push(entries), ...chain.end()])).toEqual(outline(stepsOf(ledger)));
    }),
    { numRuns: 2_000 },
  );
});

/** A history of many entries with balances that never repeat, each booked up to a second late. */
function lateHistory(entries: number, perSecond: number, seed: number): Line[] {
  let state = seed;
  const draw = (): number => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648);
  const lines: Line[] = [];
  let before = 0;
  for (let index = 0; index < entries; index += 1) {
    const after = draw();
    lines.push({ second: Math.floor(index / perSecond) + ((draw() >> 16) % 2), before, after });
    before = after;
  }
  return lines.sort((a, b) => a.second - b.second);
}

describe('dense ledgers', () => {
  test.each([1, 2, 3, 5])('%i entries a second, each up to a second late, have no break', (perSecond) => {
    const ledger = { lines: lateHistory(20_000, perSecond, perSecond), start: 0, clockToleranceS: 2 };
    const steps = stepsOf(ledger);
    expect(breakCount(steps)).toBe(0);
    expect(isHonest(ledger, steps)).toBe(true);
  });

  test('one entry missing among late ones is one break, wherever it is', () => {
    const lines = lateHistory(2_000, 1, 7);
    for (let out = 1; out < lines.length - 1; out += 97) {
      const ledger = { lines: lines.toSpliced(out, 1), start: 0, clockToleranceS: 2 };
      expect(breakCount(stepsOf(ledger))).toBe(1);
    }
  });
});
