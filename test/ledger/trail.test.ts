import fc from 'fast-check';
import { expect, test } from 'vitest';
import { coverWithTrails, onlyOrder, type Edge } from '../../src/ledger/trail.ts';

/** A walk over few balances, so that it crosses itself, then shuffled by its batch numbers. */
const walk = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 6 }), fc.nat()), { minLength: 2, maxLength: 20 })
  .map((stops) => {
    const edges = stops.slice(1).map(([after, number], index): Edge => ({
      before: BigInt(stops[index]![0]),
      after: BigInt(after),
      bookedMs: 0,
      batchNo: `B${String(number)}-${String(index)}`,
    }));
    return edges.toSorted((a, b) => (a.batchNo < b.batchNo ? -1 : 1));
  });

test('the only order there is, is the one the trails give', () => {
  let found = 0;
  fc.assert(
    fc.property(walk, fc.integer({ min: 0, max: 6 }), (edges, start) => {
      const order = onlyOrder(edges, BigInt(start));
      if (order === null) return;
      found += 1;
      expect(coverWithTrails(edges, BigInt(start))).toEqual({ trails: [order], jumps: 0 });
    }),
    { numRuns: 2_000 },
  );
  expect(found).toBeGreaterThan(50);
});

test('two orders are not the only one, and none is none', () => {
  const edge = (before: bigint, after: bigint, batchNo: string): Edge => ({
    before,
    after,
    bookedMs: 0,
    batchNo,
  });
  const loops = [edge(1n, 2n, 'A'), edge(2n, 1n, 'B'), edge(1n, 3n, 'C'), edge(3n, 1n, 'D')];
  expect(onlyOrder(loops, 1n)).toBeNull();
  expect(onlyOrder([edge(2n, 3n, 'A'), edge(1n, 2n, 'B')], 1n)?.map(({ batchNo }) => batchNo)).toEqual([
    'B',
    'A',
  ]);
  expect(onlyOrder([edge(2n, 3n, 'A'), edge(1n, 2n, 'B')], 2n)).toBeNull();
});
