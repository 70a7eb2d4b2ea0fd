import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PAGE_SIZE_MAX } from '../../src/platform/wire.ts';
import { pagesNow, roundAfter, roundNow, type PageRound } from '../../src/sync/page-round.ts';

const NIGHTS_MAX = 500;
const NIGHT_MS = 86_400_000;
const ORDERS = {
  'oldest first': (rank: number) => rank,
  'newest first': (rank: number) => -rank,
  // A fixed order that has nothing to do with time.
  mixed: (rank: number) => Math.imul(rank + 1, 2_654_435_761) >>> 0,
};

/** Plays nights until a second round begins. Returns the ranks seen in the first round, and how many nights it took. */
function playRound(
  order: keyof typeof ORDERS,
  { entries, growth, pagesMax }: { entries: number; growth: number; pagesMax: number },
): { seen: Set<number>; nights: number } {
  const seen = new Set<number>();
  let round: PageRound | null = null;
  for (let night = 0; ; night += 1) {
    const now = new Date(night * NIGHT_MS);
    const count = entries + night * growth;
    round = roundNow(round, count, now);
    if (round.beganAt.getTime() > 0 || night > NIGHTS_MAX) return { seen, nights: night };
    const ranks = Array.from({ length: count }, (_, rank) => rank).sort(
      (a, b) => ORDERS[order](a) - ORDERS[order](b),
    );
    const pages = pagesNow(round, count, pagesMax);
    const shown = pages.map((page) => ranks.slice(page * PAGE_SIZE_MAX, (page + 1) * PAGE_SIZE_MAX));
    for (const rank of shown.flat()) seen.add(rank);
    round = roundAfter(
      round,
      count,
      pages,
      (shown[0] ?? []).map((rank) => ({ bookedMs: rank })),
    );
  }
}

const shapes = fc.record({
  entries: fc.integer({ min: 0, max: 1_500 }),
  growth: fc.integer({ min: 0, max: 250 }),
  pagesMax: fc.integer({ min: 1, max: 3 }),
});

test.each([
  ['oldest first', 0],
  ['newest first', 1 / 6],
] as const)(
  'pages that come %s: a round shows all that there was when it began, except for a share of %d, however the ledger grows',
  (order, shareMax) => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const { seen, nights } = playRound(order, shape);
        const missed = Array.from({ length: shape.entries }, (_, rank) => rank).filter(
          (rank) => !seen.has(rank),
        );
        expect(missed.length).toBeLessThanOrEqual(shareMax * shape.entries);
        // At least a fifth of a page is new each night.
        expect(nights).toBeLessThanOrEqual(5 * Math.ceil(shape.entries / PAGE_SIZE_MAX) + 1);
      }),
      { numRuns: 150 },
    );
  },
);

test.each(Object.keys(ORDERS) as (keyof typeof ORDERS)[])(
  'pages that come %s: a ledger without new entries takes as many nights as it has pages',
  (order) => {
    for (const entries of [1, 100, 101, 1_234]) {
      const { seen, nights } = playRound(order, { entries, growth: 0, pagesMax: 1 });
      expect([seen.size, nights]).toEqual([entries, Math.ceil(entries / PAGE_SIZE_MAX)]);
    }
  },
);

test.each([
  ['oldest first', 30],
  ['newest first', 30],
  ['mixed', 60],
] as const)(
  'pages that come %s: of a ledger that grows by a page a night, all is seen in %d nights',
  (order, nightsMax) => {
    const { seen, nights } = playRound(order, { entries: 3_000, growth: 100, pagesMax: 1 });
    const shown = Array.from({ length: 3_000 }, (_, rank) => rank).filter((rank) => seen.has(rank));
    expect(nights).toBeLessThanOrEqual(nightsMax);
    expect(shown.length).toBeGreaterThan(order === 'mixed' ? 2_400 : 2_999);
  },
);
