import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wrapped } from '../../src/ledger/wrapped.ts';

test('a sentence is wrapped between words, and keeps its indentation', () => {
  const text = [
    'break 1: open',
    '  After B1 the balance is 10.00 USD, but B2 starts from 12.00.',
    '  - So a net credit of 2.00 USD is not accounted for.',
  ].join('\n');
  expect(wrapped(text, 40).split('\n')).toEqual([
    'break 1: open',
    '  After B1 the balance is 10.00 USD, but',
    '  B2 starts from 12.00.',
    '  - So a net credit of 2.00 USD is not',
    '    accounted for.',
  ]);
});

test.each([
  ['a command to copy', '  npx daybook statements get --merchant SANDBOX-10001 --currency EUR'],
  ['a row of a table', 'merchant  day         opening  credits  a sentence that is long enough'],
  ['a path without a space', '  /a/long/path/that/no/terminal/of/forty/columns/takes.csv'],
])('%s is not changed', (_, text) => {
  expect(wrapped(text, 40)).toBe(text);
});

test('no word is lost, and no line is longer than necessary', () => {
  const word = fc.stringMatching(/^[a-z.,]{1,12}$/);
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1 }),
      fc.nat(6),
      fc.integer({ min: 10, max: 60 }),
      (words, indent, width) => {
        const line = ' '.repeat(indent) + words.join(' ');
        const rows = wrapped(line, width).split('\n');
        expect(rows.join(' ').split(/\s+/).filter(Boolean)).toEqual(words);
        for (const row of rows) {
          expect(row.startsWith(' '.repeat(indent))).toBe(true);
          expect(row.length <= width || !row.trim().includes(' ')).toBe(true);
        }
      },
    ),
  );
});
