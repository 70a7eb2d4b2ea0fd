/** The chain calls as few breaks as any order of the entries would, against every order there is. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createChain } from '../../src/ledger/chain.ts';
import type { ChainStep } from '../../src/ledger/chain-link.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { coverWithTrails, type Edge } from '../../src/ledger/trail.ts';

const MIDNIGHT_MS = Date.UTC(2026, 2, 1);
/** 5,040 orders. */
const ENTRIES_MAX = 7;
/** Few balances, so that entries meet, cross, loop and stand apart. */
const balance = fc.integer({ min: 0, max: 4 });
const edges = fc.array(fc.tuple(balance, balance), { minLength: 1, maxLength: ENTRIES_MAX });

type Pair = readonly [before: number, after: number];

/** Fewest jumps over every order of the pairs, from `start` (null: from wherever the first one begins). */
function fewestJumps(pairs: readonly Pair[], start: number | null): number {
  let fewest = Number.POSITIVE_INFINITY;
  const walk = (at: number | null, left: readonly Pair[], jumps: number): void => {
    if (jumps >= fewest) return;
    if (left.length === 0) {
      fewest = jumps;
      return;
    }
    left.forEach(([before, after], index) => {
      const jump = at !== null && at !== before ? 1 : 0;
      walk(after, left.toSpliced(index, 1), jumps + jump);
    });
  };
  walk(start, pairs, 0);
  return fewest;
}

const entryOf = ([before, after]: Pair, index: number, second: number): LedgerEntry => ({
  batchNo: `B${String(index).padStart(3, '0')}`,
  currency: 'JPY',
  transactionType: 'PAY',
  credit: after >= before ? String(after - before) : null,
  debit: after >= before ? null : String(before - after),
  balance: String(after),
  bookedAt: new Date(MIDNIGHT_MS + second * 1_000).toISOString().slice(0, 19).replace('T', ' '),
  bookedMs: MIDNIGHT_MS + second * 1_000,
});

function stepsOf(entries: readonly LedgerEntry[], start: number | null, clockToleranceS = 2): ChainStep[] {
  const chain = createChain({
    clockToleranceS,
    start:
      start === null ? null : { balance: String(start), batchNo: 'OPENING', bookedMs: MIDNIGHT_MS - 60_000 },
  });
  return [...chain.push(entries), ...chain.end()];
}
const breakCount = (steps: readonly ChainStep[]) => steps.filter((step) => step.break !== null).length;

/** Every entry once, and a break just where a balance does not follow: whatever is counted, it is counted rightly. */
function expectHonest(
  steps: readonly ChainStep[],
  entries: readonly LedgerEntry[],
  start: number | null,
): void {
  expect(steps.map(({ entry }) => entry.batchNo).sort()).toEqual(
    entries.map(({ batchNo }) => batchNo).sort(),
  );
  let reached = start === null ? null : BigInt(start);
  for (const step of steps) {
    expect(step.break !== null).toBe(reached !== null && reached !== step.before);
    reached = step.after;
  }
}

describe('the number of breaks is the fewest possible', () => {
  test('in one second', () => {
    fc.assert(
      fc.property(edges, fc.option(balance), (pairs, start) => {
        const entries = pairs.map((pair, index) => entryOf(pair, index, 10));
        const steps = stepsOf(entries, start);
        expectHonest(steps, entries, start);
        expect(breakCount(steps)).toBe(fewestJumps(pairs, start));
      }),
      { numRuns: 400 },
    );
  });

  test('none where entries of seconds near each other chain in any order at all', () => {
    // A walk over few balances, cut into seconds and then shuffled within them and across them.
    const walks = fc.tuple(
      fc.array(balance, { minLength: 3, maxLength: ENTRIES_MAX }),
      fc.array(fc.integer({ min: 0, max: 2 }), { minLength: ENTRIES_MAX, maxLength: ENTRIES_MAX }),
    );
    fc.assert(
      fc.property(walks, ([balances, seconds]) => {
        const drawn = balances.slice(1).map((after, at) => [balances[at]!, after, seconds[at]!] as const);
        const sorted = [...drawn].sort((a, b) => a[2] - b[2]);
        const entries = sorted.map(([before, after, second], index) =>
          entryOf([before, after], index, 10 + second),
        );
        const steps = stepsOf(entries, balances[0]!);
        expectHonest(steps, entries, balances[0]!);
        expect(breakCount(steps)).toBe(0);
      }),
      { numRuns: 600 },
    );
  });

  test('with an entry taken out of seconds near each other', () => {
    const walks = fc.tuple(
      fc.array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 4, maxLength: ENTRIES_MAX + 1 }),
      fc.array(fc.integer({ min: 0, max: 2 }), { minLength: ENTRIES_MAX, maxLength: ENTRIES_MAX }),
      fc.nat(),
    );
    fc.assert(
      fc.property(walks, ([balances, seconds, out]) => {
        const whole = balances.slice(1).map((after, at) => [balances[at]!, after, seconds[at]!] as const);
        const sorted = whole.toSpliced(out % whole.length, 1).sort((a, b) => a[2] - b[2]);
        const entries = sorted.map(([before, after, second], index) =>
          entryOf([before, after], index, 10 + second),
        );
        const steps = stepsOf(entries, balances[0]!);
        expectHonest(steps, entries, balances[0]!);
        const pairs = sorted.map(([before, after]): Pair => [before, after]);
        expect(breakCount(steps)).toBe(fewestJumps(pairs, balances[0]!));
      }),
      { numRuns: 400 },
    );
  });

  test('whatever the entries of seconds within the tolerance are', () => {
    const drawn = fc.array(fc.tuple(balance, balance, fc.integer({ min: 0, max: 2 })), {
      minLength: 1,
      maxLength: ENTRIES_MAX,
    });
    fc.assert(
      fc.property(drawn, fc.option(balance), (triples, start) => {
        const sorted = [...triples].sort((a, b) => a[2] - b[2]);
        const entries = sorted.map(([before, after, second], index) =>
          entryOf([before, after], index, 10 + second),
        );
        const steps = stepsOf(entries, start);
        expectHonest(steps, entries, start);
        const pairs = sorted.map(([before, after]): Pair => [before, after]);
        expect(breakCount(steps)).toBe(fewestJumps(pairs, start));
      }),
      { numRuns: 1_000 },
    );
  });

  test('the trails that cover a group are as few', () => {
    fc.assert(
      fc.property(edges, fc.option(balance), (pairs, start) => {
        const drawn: Edge[] = pairs.map(([before, after], index) => ({
          before: BigInt(before),
          after: BigInt(after),
          bookedMs: 0,
          batchNo: String(index),
        }));
        const cover = coverWithTrails(drawn, start === null ? null : BigInt(start));
        expect(cover.trails.flat()).toHaveLength(drawn.length);
        expect(cover.jumps).toBe(fewestJumps(pairs, start));
      }),
      { numRuns: 400 },
    );
  });
});
