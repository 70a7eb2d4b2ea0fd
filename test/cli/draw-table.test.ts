/** Tables for a terminal against cli-table3. */
import Table from 'cli-table3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { drawTable } from '../../src/cli/output/draw-table.ts';
import { showableText } from '../../src/ledger/text.ts';

type Columns = Parameters<typeof drawTable>[0];

const NO_LINES = Object.fromEntries(
  ['top', 'bottom', 'left', 'mid', 'right']
    .flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
    .map((part) => [part, '']),
);

function drawWithPackage(columns: Columns, [head, ...rows]: string[][]): string {
  const drawn = new Table({
    head: head!,
    colAligns: columns.map(({ isRight }) => (isRight ? 'right' : 'left')),
    colWidths: columns.map(({ width }) => width),
    wordWrap: true,
    chars: { ...NO_LINES, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  drawn.push(...rows);
  return drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

const left = { isRight: false, width: null };
const right = { isRight: true, width: null };

test('columns are aligned by what the terminal shows, where East Asian characters are wide', () => {
  const rows = [
    ['name', 'sum', 'x'],
    ['東京', '1.00', '1'],
    ['Café', '12.00', '2'],
    ['👍🏽', '３', '3'],
    ['', '', ''],
  ];
  expect(drawTable([left, right, left], rows).split('\n')).toEqual([
    'name    sum  x',
    '東京   1.00  1',
    'Café  12.00  2',
    '👍🏽       ３  3',
    '',
  ]);
});

test('sentences are broken at spaces, and only a word that is too long is cut, between characters', () => {
  const sentences = [{ isRight: false, width: 8 }, left];
  const rows = [
    ['why', 'x'],
    ['one two three', '1'],
    ['unbreakable', '2'],
    ['aaaaaa👍👍', '3'],
    ['aaaa👍🏽👍🏽👍🏽', '4'],
  ];
  expect(drawTable(sentences, rows).split('\n')).toEqual([
    'why       x',
    'one two   1',
    'three',
    'unbreak…  2',
    'aaaaaa…   3',
    'aaaa👍🏽…   4',
  ]);
});

/** Pictures that Unicode has had since 2019: later ones are one column wide in cli-table3, and two on a terminal. */
const PICTURES = [
  '👍',
  '👍🏽',
  '☝',
  '☝🏻',
  '❤',
  '❤\ufe0f',
  '🇩🇪',
  '🇩',
  '1\ufe0f\u20e3',
  '👩',
  '™',
  '™\ufe0f',
  '⌚',
];
const hasLaterPicture = (text: string): boolean =>
  /\p{Emoji_Presentation}|\p{Emoji_Modifier}/u.test(
    PICTURES.reduce((rest, known) => rest.replaceAll(known, ' '), text),
  );

/** Characters of several code points. */
const IN_PARTS = /[\p{Regional_Indicator}\p{Emoji_Modifier}\ufe0f]/u;

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'day', '12.00', 'unbreakable', '-', '') },
  { weight: 4, arbitrary: fc.constantFrom(' ', '  ', '\u00a0', '\u3000') },
  { weight: 2, arbitrary: fc.constantFrom('東京', '한국', 'ｶﾅ', 'Ｆ', '。', 'é', 'ß', '\u{20000}', '〈') },
  { weight: 1, arbitrary: fc.constantFrom(...PICTURES) },
);
const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));

const tableOf = (cell: fc.Arbitrary<string>, width: fc.Arbitrary<number | null>) =>
  fc.nat(4).chain((count) =>
    fc.record({
      columns: fc.array(fc.record({ isRight: fc.boolean(), width }), { minLength: count, maxLength: count }),
      rows: fc.array(fc.array(cell, { minLength: count, maxLength: count }), { minLength: 1, maxLength: 6 }),
    }),
  );

test('any table has the bytes of cli-table3’s, unless that cuts a character in half', () => {
  const width = fc.option(fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 6 })));
  fc.assert(
    fc.property(tableOf(text, width), ({ columns, rows }) => {
      const theirs = drawWithPackage(columns, rows);
      fc.pre(!theirs.includes('…') || (theirs.isWellFormed() && !IN_PARTS.test(rows.flat().join(''))));
      expect(drawTable(columns, rows)).toBe(theirs);
    }),
    { numRuns: 500 },
  );
});

test('whatever a cell contains, it is as wide as for cli-table3', () => {
  const any = fc
    .oneof(
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.string({ unit: 'grapheme', maxLength: 4 }),
      fc
        .array(fc.constantFrom('a', 'e\u0301', '\u036f', '東', '\ufe0f'), { maxLength: 5 })
        .map((parts) => parts.join('')),
    )
    .map(showableText)
    .filter((shown) => !hasLaterPicture(shown));
  fc.assert(
    fc.property(tableOf(any, fc.constant(null)), ({ columns, rows }) => {
      expect(drawTable(columns, rows)).toBe(drawWithPackage(columns, rows));
    }),
    { numRuns: 500 },
  );
});

test('the characters before, at and after each end of a range of wide ones are as wide as for cli-table3', () => {
  const ends = [
    ...[
      0x1100, 0x115f, 0x2329, 0x232a, 0x2e80, 0x303e, 0x303f, 0x3040, 0x3247, 0x3250, 0x4dbf, 0x4e00, 0xa4c6,
    ],
    ...[
      0xa960, 0xa97c, 0xac00, 0xd7a3, 0xf900, 0xfaff, 0xfe10, 0xfe19, 0xfe30, 0xfe6b, 0xff01, 0xff60, 0xffe0,
    ],
    ...[0xffe6, 0x1b000, 0x1b001, 0x1f200, 0x1f251, 0x20000, 0x3fffd, 0x300, 0x36f, 0x7e, 0xa0],
  ];
  const rows = ends
    .flatMap((end) => [end - 1, end, end + 1])
    .map((code) => [showableText(String.fromCodePoint(code)), 'x']);
  expect(drawTable([right, left], rows)).toBe(drawWithPackage([right, left], rows));
});
