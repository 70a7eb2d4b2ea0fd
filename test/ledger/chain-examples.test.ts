/** The smallest possible examples of ledgers that a chain could easily get wrong, or did. */
import { describe, expect, test } from 'vitest';
import { breakCount, chainOf, entryOf, isHonest, MIDNIGHT_MS, stepsOf, type Line } from './all-orders.ts';

const line = (second: number, before: number, after: number): Line => ({ second, before, after });
const pathOf = (lines: readonly Line[], start: number | null, clockToleranceS = 2): string => {
  const ledger = { lines, start, clockToleranceS };
  const steps = stepsOf(ledger);
  expect(isHonest(ledger, steps)).toBe(true);
  return steps
    .map(
      (step) =>
        `${step.break === null ? '' : '! '}${step.entry.bookedMs / 1_000 - MIDNIGHT_MS / 1_000}: ${step.before}->${step.after}`,
    )
    .join(', ');
};

describe('an unknown opening', () => {
  test('is decided by the next entries, ten minutes later', () => {
    const lines = [line(0, 10, 0), line(0, 0, 10), line(600, 5, 7), line(600, 0, 5)];
    expect(pathOf(lines, null)).toBe('0: 0->10, 0: 10->0, 600: 0->5, 600: 5->7');
  });

  test('is decided by the first entries that can decide it, a day and many circuits later', () => {
    const circuits = Array.from({ length: 200 }, (_, index) => [
      line(index * 432, 0, 10),
      line(index * 432, 10, 0),
    ]).flat();
    const steps = stepsOf({ lines: [...circuits, line(86_500, 10, 12)], start: null, clockToleranceS: 2 });
    expect(breakCount(steps)).toBe(0);
    expect(steps[0]!.before).toBe(10n);
  });

  test('is decided by later entries if entries of two seconds might trade places', () => {
    expect(pathOf([line(0, 0, 10), line(1, 10, 0), line(500, 10, 15)], null)).toBe(
      '1: 10->0, 0: 0->10, 500: 10->15',
    );
    expect(pathOf([line(0, 0, 10), line(1, 10, 0), line(500, 0, 15)], null)).toBe(
      '0: 0->10, 1: 10->0, 500: 0->15',
    );
  });
});

describe('a second whose entries can end on several balances', () => {
  test('ends on the balance that the next second starts from', () => {
    // From 0 two orders are possible. The next second starts from the end of the one that comes first by number.
    const lines = [line(5, 0, 1), line(5, 0, 2), line(9, 1, 7)];
    expect(pathOf(lines, 0, 0)).toBe('5: 0->2, ! 5: 0->1, 9: 1->7');
  });

  test('ends on the balance that a later second decides', () => {
    const lines = [line(5, 90, 1), line(5, 80, 2), line(9, 1, 2), line(9, 2, 1), line(30, 2, 4)];
    expect(pathOf(lines, 0, 0)).toBe('! 5: 90->1, ! 5: 80->2, 9: 2->1, 9: 1->2, 30: 2->4');
  });

  test('has a break inside if that saves a break in the next second', () => {
    expect(pathOf([line(5, 1, 2), line(5, 2, 3), line(9, 2, 6)], 2, 0)).toBe('5: 2->3, ! 5: 1->2, 9: 2->6');
  });
});

describe('the clock tolerance', () => {
  test('lets no entry come before another one that is older by more than the tolerance', () => {
    // In the order of the balances, the seconds are 5, 7, 4.
    const lines = [line(4, 2, 3), line(5, 0, 1), line(7, 1, 2)];
    const ledger = { lines, start: 0, clockToleranceS: 2 };
    const steps = stepsOf(ledger);
    expect(isHonest(ledger, steps)).toBe(true);
    expect(breakCount(steps)).toBe(2);
    expect(breakCount(stepsOf({ ...ledger, clockToleranceS: 3 }))).toBe(0);
  });

  test('also limits several small moves in a row', () => {
    const lines = [line(0, 3, 4), line(2, 2, 3), line(4, 1, 2), line(6, 0, 1)];
    expect(breakCount(stepsOf({ lines, start: 0, clockToleranceS: 5 }))).toBeGreaterThan(0);
    expect(breakCount(stepsOf({ lines, start: 0, clockToleranceS: 6 }))).toBe(0);
  });

  test('avoids a break with the help of earlier entries that chained already', () => {
    const lines = [line(0, 0, 5), line(1, 5, 0), line(2, 0, 7), line(3, 0, 5), line(4, 5, 0)];
    expect(breakCount(stepsOf({ lines, start: 0, clockToleranceS: 2 }))).toBe(0);
  });

  test('also finds the order after a missing entry', () => {
    expect(pathOf([line(0, 0, 1), line(2, 8, 9), line(3, 7, 8), line(9, 9, 4)], 0)).toBe(
      '0: 0->1, ! 3: 7->8, 2: 8->9, 9: 9->4',
    );
  });
});

describe('where another chain may continue', () => {
  const settledAfter = (lines: readonly Line[], start: number | null, second: number): boolean => {
    const chain = chainOf(start, 2);
    chain.push(lines.map(entryOf));
    return chain.isSettledAt(MIDNIGHT_MS + second * 1_000);
  };

  test('not while a break might still be avoided, and at once when it cannot', () => {
    const broken = [line(0, 0, 1), line(10, 5, 6)];
    expect(settledAfter(broken, 0, 12)).toBe(false);
    expect(settledAfter(broken, 0, 13)).toBe(true);
    expect(settledAfter([line(0, 0, 1), line(10, 1, 6)], 0, 11)).toBe(true);
  });

  test('even if the opening or the end of a second is undecided, once it is late enough', () => {
    expect(settledAfter([line(0, 0, 10), line(0, 10, 0)], null, 2)).toBe(false);
    expect(settledAfter([line(0, 0, 10), line(0, 10, 0)], null, 3)).toBe(true);
    expect(settledAfter([line(0, 0, 10), line(0, 10, 0)], 0, 80_000)).toBe(true);
    expect(settledAfter([line(0, 0, 10), line(0, 20, 30)], 5, 80_000)).toBe(true);
  });

  test('a break at the start asks for the entries before it, if they are close in time', () => {
    const wants = (second: number, bookedMs: number): boolean => {
      const chain = chainOf(0, 2);
      chain.push([line(second, 3, 4)].map(entryOf));
      chain.isSettledAt(bookedMs);
      return chain.wantsEarlier();
    };
    // The chain starts one minute before midnight.
    expect(wants(-57, MIDNIGHT_MS)).toBe(true);
    expect(wants(5, MIDNIGHT_MS + 10_000)).toBe(false);
  });
});

test('200,000 entries of one second that do not chain come out with a break each', { tags: ['long'] }, () => {
  const lines = Array.from({ length: 200_000 }, (_, index) => line(5, index * 10 + 1, index * 10 + 2));
  const ledger = { lines, start: 0, clockToleranceS: 2 };
  const steps = stepsOf(ledger, 200_000);
  expect(breakCount(steps)).toBe(200_000);
  expect(isHonest(ledger, steps)).toBe(true);
});
