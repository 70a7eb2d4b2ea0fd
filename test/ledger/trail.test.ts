import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bestEnds, createSurvey, jumpsBetween, type Edge } from '../../src/ledger/chain/survey.ts';
import { onlyOrder, orderBetween, startFor } from '../../src/ledger/chain/trail.ts';

const edge = (before: bigint, after: bigint, batchNo: string): Edge => ({
  before,
  after,
  bookedMs: 0,
  batchNo,
});

/** Few different balances, so that entries connect, cross, loop and stand apart. */
const balance = fc.integer({ min: 0, max: 5 }).map(BigInt);
const edges = fc
  .array(fc.tuple(balance, balance), { minLength: 1, maxLength: 6 })
  .map((pairs) => pairs.map(([before, after], index) => edge(before, after, `B${index}`)));
const starts = fc.option(fc.uniqueArray(balance, { minLength: 1, maxLength: 3 }));

const jumpsOf = (order: readonly Edge[], start: bigint | null): number =>
  order.filter(({ before }, index) => {
    const reached = index === 0 ? start : order[index - 1]!.after;
    return reached !== null && reached !== before;
  }).length;

function ordersOf(rest: readonly Edge[]): Edge[][] {
  if (rest.length === 0) return [[]];
  return rest.flatMap((first, index) => ordersOf(rest.toSpliced(index, 1)).map((order) => [first, ...order]));
}

test('the fewest breaks, and all balances to end on with so few, are those of the best of all orders', () => {
  fc.assert(
    fc.property(edges, starts, (drawn, from) => {
      const found = ordersOf(drawn).flatMap((order) =>
        (from ?? [null]).map((start) => ({ end: order.at(-1)!.after, jumps: jumpsOf(order, start) })),
      );
      const fewest = Math.min(...found.map(({ jumps }) => jumps));
      const best = bestEnds(createSurvey(drawn), from);
      expect(best.jumps).toBe(fewest);
      expect(best.ends).toEqual(new Set(found.flatMap(({ end, jumps }) => (jumps === fewest ? [end] : []))));
    }),
    { numRuns: 600 },
  );
});

test('for each of those balances there is an order that ends on it with no more breaks', () => {
  fc.assert(
    fc.property(edges, starts, (drawn, from) => {
      const survey = createSurvey(drawn);
      const { jumps, ends } = bestEnds(survey, from);
      for (const end of ends) {
        const start = startFor(survey, from, { end, jumps, preferred: null });
        if (from !== null) expect(from).toContain(start);
        const order = orderBetween(drawn, start, end);
        expect(order.toSorted((a, b) => (a.batchNo < b.batchNo ? -1 : 1))).toEqual(drawn);
        expect(order.at(-1)!.after).toBe(end);
        expect(jumpsOf(order, start)).toBe(jumps);
        expect(jumpsBetween(survey, start, end)).toBe(jumps);
        expect(orderBetween(drawn.toReversed(), start, end)).toEqual(order);
      }
    }),
    { numRuns: 2_000 },
  );
});

test('a trail is cut if any other order has one more break', () => {
  const [second, first] = [edge(1n, 2n, 'A'), edge(2n, 3n, 'B')];
  // From 2 to 2: first B, and then A, which ends on the balance that the next second starts from.
  expect(orderBetween([second, first], 2n, 2n).map(({ batchNo }) => batchNo)).toEqual(['B', 'A']);
  expect(bestEnds(createSurvey([second, first]), [2n])).toEqual({ jumps: 1, ends: new Set([2n, 3n]) });
});

test('if there is only one order, the trails give it', () => {
  let found = 0;
  fc.assert(
    fc.property(edges, balance, (drawn, start) => {
      const order = onlyOrder(drawn, start);
      if (order === null) return;
      found += 1;
      expect(orderBetween(drawn, start, order.at(-1)!.after)).toEqual(order);
      expect(jumpsOf(order, start)).toBe(0);
    }),
    { numRuns: 3_000 },
  );
  expect(found).toBeGreaterThan(50);
});

test('of two orders neither is the only one, and without an order the result is null', () => {
  const loops = [edge(1n, 2n, 'A'), edge(2n, 1n, 'B'), edge(1n, 3n, 'C'), edge(3n, 1n, 'D')];
  expect(onlyOrder(loops, 1n)).toBeNull();
  expect(onlyOrder([edge(2n, 3n, 'A'), edge(1n, 2n, 'B')], 1n)?.map(({ batchNo }) => batchNo)).toEqual([
    'B',
    'A',
  ]);
  expect(onlyOrder([edge(2n, 3n, 'A'), edge(1n, 2n, 'B')], 2n)).toBeNull();
});
