/** How far two words are from each other, compared with another reckoning. */
import fc from 'fast-check';
import { distance as theirs } from 'fastest-levenshtein';
import { expect, test } from 'vitest';
import { didYouMean, distance } from '../../src/settings/problem.ts';

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd', '_'), maxLength: 12 });

test('the distance is the same as elsewhere', () => {
  fc.assert(
    fc.property(word, word, (one, other) => {
      expect(distance(one, other)).toBe(theirs(one, other));
    }),
  );
});

test('the nearest name is meant if a third of it is wrong at most', () => {
  expect(didYouMean('timeOut', ['timeZone', 'timeoutMs', 'token'])).toBe('timeoutMs');
  expect(didYouMean('tokn', ['token', 'timeZone'])).toBe('token');
  expect(didYouMean('unrelated', ['token', 'timeZone'])).toBe(null);
});
