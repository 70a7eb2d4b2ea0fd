/** What the benchmark says of rounds that differ. */
import { expect, test } from 'vitest';
import { meets, ofRounds, ratesOf, type Measured } from '../../bench/measure.ts';

test('rounds come to their middle figure and limit, and to how far a single ratio is from theirs', () => {
  expect(ofRounds([10, 30, 20], [10, 10, 10])).toEqual({ figure: 20, limit: 10, ratio: 2, noise: 1 });
  expect(ofRounds([20], [10])).toEqual({ figure: 20, limit: 10, ratio: 2 });
  expect(ratesOf(100, [1_000, 500])).toEqual([100, 200]);
});

const [AT_LEAST, AT_MOST] = [{ atLeast: 0.4 }, { atMost: 1.2 }];

test.each<[string, Pick<Measured, 'ratio' | 'noise' | 'target'>, ReturnType<typeof meets>]>([
  ['reached', { ratio: 0.5, noise: 0.05, target: AT_LEAST }, 'pass'],
  ['missed', { ratio: 0.3, noise: 0.05, target: AT_LEAST }, 'FAIL'],
  ['too near to be told, reached', { ratio: 0.42, noise: 0.05, target: AT_LEAST }, 'unsure'],
  ['too near to be told, missed', { ratio: 1.25, noise: 0.1, target: AT_MOST }, 'unsure'],
  ['of one round', { ratio: 1.19, target: AT_MOST }, 'pass'],
  ['of one round, missed', { ratio: 1.21, target: AT_MOST }, 'FAIL'],
])('a target %s', (_, row, verdict) => {
  expect(meets({ what: '', figure: row.ratio, limit: 1, limitIs: '', unit: '', ...row })).toBe(verdict);
});
