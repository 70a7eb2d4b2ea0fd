/** How many entries the chain holds while several openings fit them. */
import { expect, test } from 'vitest';
import type { Chain } from '../../src/ledger/chain/chain.ts';
import { chainOf, entryOf } from './all-orders.ts';

/** The bound that `places.ts` states. */
const HELD_MAX = 250_000;

/** As many entries of that second; every two lead from 0 to 10 and back, or from 10 to 0 and on to 10. */
function pushSecond(chain: Chain, second: number, count: number): number {
  const lines = Array.from({ length: count }, (_, nth) =>
    nth % 2 === 0 ? { second, before: 0, after: 10 } : { second, before: 10, after: 0 },
  );
  return chain.push(lines.map((line, nth) => entryOf(line, second * 1_000_000 + nth))).length;
}

test('undecided entries of several seconds are held up to the bound, and given out above it', () => {
  const chain = chainOf(null, 2);
  const half = HELD_MAX / 2;
  expect(pushSecond(chain, 0, half)).toBe(0);
  expect(pushSecond(chain, 100, half)).toBe(0);
  expect(pushSecond(chain, 200, 2), 'as many as the bound').toBe(0);
  expect(pushSecond(chain, 300, 2), 'two more').toBe(HELD_MAX + 2);
  expect(chain.end()).toHaveLength(2);
});

test('one second alone is held with any number of entries: the next one may decide', () => {
  const chain = chainOf(null, 2);
  expect(pushSecond(chain, 0, HELD_MAX + 2)).toBe(0);
  expect(chain.push([entryOf({ second: 100, before: 0, after: 7 }, 100_000_000)])).toEqual([]);
  const [first] = chain.end();
  expect(first).toMatchObject({ break: null, entry: { balance: '10' } });
});
