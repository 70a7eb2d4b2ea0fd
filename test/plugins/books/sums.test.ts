import { expect, test } from 'vitest';
import { SUM_CANDIDATES_MAX, sumsOf } from '../../../src/plugins/books/sums.ts';
import { randomOf } from '../../support/random.ts';

/** Every subset of 2 to `max` places, one bit each. */
function allSubsets(target: number, amounts: readonly number[], max: number): string[] {
  const found: string[] = [];
  for (let bits = 1; bits < 2 ** amounts.length; bits++) {
    const places = amounts.flatMap((_, place) => ((bits >> place) & 1 ? [place] : []));
    if (places.length < 2 || places.length > max) continue;
    if (places.reduce((sum, place) => sum + amounts[place]!, 0) === target) found.push(places.join());
  }
  return found.toSorted();
}

const text = (cents: number): string => (cents / 100).toFixed(2);

test('finds each subset that adds up, once, and no other', () => {
  const next = randomOf(2404);
  const below = (end: number): number => Math.floor(next() * end);
  let found = 0;
  for (let nth = 0; nth < 1_500; nth++) {
    const amounts = Array.from({ length: 1 + below(9) }, () => (1 + below(40)) * (next() < 0.2 ? -1 : 1));
    const max = 2 + below(5);
    const target = 1 + below(90);
    const expected = allSubsets(target, amounts, max);
    const solutions = sumsOf(text(target), amounts.map(text), max)!;
    expect(solutions.map(({ places }) => places.join()).toSorted()).toEqual(expected);
    found += expected.length;
  }
  expect(found).toBeGreaterThan(500);
});

test.each([
  ['five candidates, two of them', ['1000.01', '2000', '3000', '4000', '5000'], '3000.01', false],
  ['less money is less proof', ['10.01', '20', '30', '40', '50'], '30.01', true],
  ['full units are fewer sums than cents', ['1001', '2000', '3000', '4000', '5000'], '3001', true],
])('chance: %s', (_, amounts, target, mayBeChance) => {
  expect(sumsOf(target, amounts, 2)).toEqual([{ places: [0, 1], mayBeChance }]);
});

test('gives no solution rather than some of them', () => {
  const ones = (length: number) => Array.from({ length }, () => '1.00');
  expect(sumsOf('2', ones(SUM_CANDIDATES_MAX + 1), 2)).toBeNull();
  expect(sumsOf('6', ones(SUM_CANDIDATES_MAX), 6)).toBeNull();
  expect(sumsOf('2', ones(5), 2)).toHaveLength(10);
});
