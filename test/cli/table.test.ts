/** Tables for a terminal: aligned, and never wider than the terminal if something can be left out. */
import { expect, test } from 'vitest';
import { table } from '../../src/cli/output/text.ts';

const COLUMNS = ['day', '?>opening', '>closing', '?key'];
const ROWS = [
  ['2026-03-01', '1.00', '12345.00', 'a/long/key.csv'],
  ['2026-03-02', '12345.00', '2.00', 'b.csv'],
];

test('a table has any width if there is no terminal', () => {
  expect(table(COLUMNS, ROWS)).toBe(
    [
      'day          opening   closing  key',
      '2026-03-01      1.00  12345.00  a/long/key.csv',
      '2026-03-02  12345.00      2.00  b.csv',
    ].join('\n'),
  );
});

test.each([
  [46, 0, 'key'],
  [45, 1, 'opening'],
  [30, 1, 'opening'],
  [29, 2, 'closing'],
  [5, 2, 'closing'],
])('on %d columns %d are left out, and the last is %s', (width, left, last) => {
  const lines = table(COLUMNS, ROWS, width).split('\n');
  expect(lines[0]).toMatch(new RegExp(`${last === 'opening' ? 'closing' : last}$`));
  expect(lines[0]!.includes('opening')).toBe(left < 2);
  expect(lines.slice(3)).toEqual(
    left === 0 ? [] : [`(${left} column${left > 1 ? 's' : ''} more in a wider terminal, or with --json)`],
  );
});

test('sentences are wrapped, the widest first, and only then a column is left out', () => {
  const why = 'entries of the day were amended after it was published';
  const rows = [
    ['1', 'run', '3: done, but something needs a person', why],
    ['2', 'sync', '0: done', ''],
  ];
  const columns = ['run', '?what', '~end', '~why'];
  expect(table(columns, rows, 60)).toBe(
    [
      'run  end                         why',
      '1    3: done, but something      entries of the day were',
      '     needs a person              amended after it was',
      '                                 published',
      '2    0: done',
      '(1 column more in a wider terminal, or with --json)',
    ].join('\n'),
  );
  expect(table(columns, rows, 80).split('\n')[0]).toMatch(/^run  what  end +why$/);
  expect(table(columns, rows)).not.toContain('(1 column');
  for (const width of [40, 47, 60, 80]) {
    const widest = Math.max(
      ...table(columns, rows, width)
        .split('\n')
        .filter((line) => !line.startsWith('('))
        .map((line) => line.length),
    );
    expect(widest).toBeLessThanOrEqual(width);
  }
});

test('a word is never cut, however narrow the terminal is', () => {
  const key = 'merchant=10001/date=2026-03-31/10001_USD_2026-03-31.r1.csv';
  expect(
    table(['at', '~with', '~note'], [['now', key, 'asked for by the auditors of the first quarter']], 40),
  ).toContain(key);
});
