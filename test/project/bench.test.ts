/** What the benchmark says of rounds that differ. */
import { expect, test } from 'vitest';
import { meets, ofRounds, ratesOf } from '../../bench/measure.ts';

test('rounds come to their middle figure and limit, and to how far a single ratio is from theirs', () => {
  expect(ofRounds([10, 30, 20], [10, 10, 10])).toEqual({ figure: 20, limit: 10, ratio: 2, noise: 1 });
  expect(ofRounds([20], [10])).toEqual({ figure: 20, limit: 10, ratio: 2 });
  expect(ratesOf(100, [1_000, 500])).toEqual([100, 200]);
});

test.each([
  ['reached', { ratio: 0.5, noise: 0.05, target: { atLeast: 0.4 } }, 'pass'],
  ['missed', { ratio: 0.3, noise: 0.05, target: { atLeast: 0.4 } }, 'FAIL'],
  ['too near to be told, reached', { ratio: 0.42, noise: 0.05, target: { atLeast: 0.4 } }, 'unsure'],
  ['too near to be told, missed', { ratio: 1.25, noise: 0.1, target: { atMost: 1.2 } }, 'unsure'],
  ['of one round', { ratio: 1.19, target: { atMost: 1.2 } }, 'pass'],
  ['of one round, missed', { ratio: 1.21, target: { atMost: 1.2 } }, 'FAIL'],
])('a target %s', (_, { ratio, noise, target }, verdict) => {
  const row = { what: '', figure: ratio, limit: 1, limitIs: '', unit: '', ratio };
  expect(
    meets({ ...row, target: target as { atLeast: number }, ...(noise !== undefined && { noise }) }),
  ).toBe(verdict);
});
