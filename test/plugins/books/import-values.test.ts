import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'csv-stringify/sync';
import { Readable } from 'node:stream';
import { readMapping } from '../../../src/plugins/books/import/mapping.ts';
import { openSource, type Source, type SourceRow } from '../../../src/plugins/books/import/sources.ts';
import {
  amountReader,
  datePattern,
  momentReader,
  referenceKeysOf,
  workbookNumber,
} from '../../../src/plugins/books/import/values.ts';

const MAPPING = 'merchant: M1\nformat: csv\ncolumns: {number: no, booked: day, currency: c, amount: a}\n';

async function rowsIn(source: Source): Promise<readonly SourceRow[]> {
  const rows: SourceRow[] = [];
  for await (const part of source.rows) rows.push(...part);
  return rows;
}

describe('amounts', () => {
  it.each([
    ['point', '1,234.50', '1234.50'],
    ['point', '12,34,567.8', '1234567.8'],
    ['point', '(7.10)', '-7.10'],
    ['point', '7-', '-7'],
    ['point', '\u22127', '-7'],
    ['point', '+.5', '0.5'],
    ['point', '-0.00', '0.00'],
    ['point', '007', '7'],
    ['comma', '1.234,50', '1234.50'],
    ['comma', '1\u00a0234,5', '1234.5'],
    ['comma', '1.234', '1234'],
    ['comma', "1'234,5", '1234.5'],
    ['point', '1,50', null],
    ['comma', '1.50', null],
    ['comma', '1,234.50', null],
    ['point', '1.2.3', null],
    ['point', '1E+3', null],
    ['point', '-7-', null],
    ['point', '(-7)', null],
    ['point', '(7', null],
    ['point', '7)', null],
    ['point', '', null],
    ['point', '-', null],
    ['point', '.', null],
    ['point', '12 EUR', null],
  ] as const)('decimal %s: %s is %s', (decimal, text, amount) => {
    expect(amountReader(decimal)(text)).toBe(amount);
  });

  it('however an amount is grouped and signed, it is the same; with the other decimal mark it never becomes another', () => {
    const digits = fc.bigInt({ min: 0n, max: 10n ** 25n });
    fc.assert(
      fc.property(digits, fc.integer({ min: 0, max: 99 }), fc.boolean(), (integer, cents, isMinus) => {
        const part = String(cents).padStart(2, '0');
        const sign = isMinus && (integer > 0n || cents > 0) ? '-' : '';
        const grouped = String(integer).replaceAll(/\B(?=(\d{3})+$)/g, '.');
        expect(amountReader('comma')(`${isMinus ? '-' : ''}${grouped},${part}`)).toBe(
          `${sign}${integer}.${part}`,
        );
        expect(amountReader('point')(`${grouped},${part}`)).toBeNull();
      }),
    );
  });

  it('a number of a workbook has no binary noise, and none beyond its digits is read', () => {
    expect([0.1 + 0.2, 1234567.89, -5, 1e-7, 1_000_000].map(workbookNumber)).toEqual([
      '0.3',
      '1234567.89',
      '-5',
      '0.0000001',
      '1000000',
    ]);
    expect(amountReader('point')(workbookNumber(12345678901234567))).toBeNull();
    fc.assert(
      fc.property(fc.integer({ min: -(10 ** 12), max: 10 ** 12 }), (cents) => {
        expect(Number(workbookNumber(cents / 100))).toBe(cents / 100);
        expect(workbookNumber(cents / 100)).toMatch(/^-?\d+(\.\d{1,2})?$/);
      }),
    );
  });
});

describe('days and times', () => {
  const zones = { own: 'Europe/Berlin', platform: 'Asia/Shanghai' };
  const iso = momentReader({ format: 'csv', zone: 'Europe/Berlin' }, zones);
  it.each([
    ['2026-03-31', { day: '2026-03-31', bookedAt: null }],
    ['2026-03-31 18:30', { day: '2026-04-01', bookedAt: '2026-03-31T16:30:00.000Z' }],
    ['2026-03-31T18:30:00.123Z', { day: '2026-04-01', bookedAt: '2026-03-31T18:30:00.000Z' }],
    ['2026-03-31 18:30:00+08', { day: '2026-03-31', bookedAt: '2026-03-31T10:30:00.000Z' }],
    ['2026-03-31 18:30:00-0530', { day: '2026-04-01', bookedAt: '2026-04-01T00:00:00.000Z' }],
    // Twice on that day, and never on the other.
    ['2026-10-25 02:30:00', { day: '2026-10-25', bookedAt: '2026-10-25T00:30:00.000Z' }],
    ['2026-03-29 02:30:00', null],
    ['2026-02-29', null],
    ['2026-3-1', null],
    ['2026-03-31 24:00:00', null],
    ['', null],
  ])('%s', (text, moment) => expect(iso(text)).toEqual(moment));

  it.each([
    ['DD.MM.YYYY', '31.03.2026', '2026-03-31'],
    ['D/M/YY', '1/3/26', '2026-03-01'],
    ['MM/DD/YYYY hh:mm A', '03/31/2026 12:05 am', '2026-03-31'],
    ['YYYYMMDD', '20260331', '2026-03-31'],
    ['DD.MM.YYYY', '2026-03-31', undefined],
    ['DD.MM.YYYY', '31x03x2026', undefined],
    ['MM/DD/YYYY', '31/03/2026', undefined],
    ['MM/DD/YYYY hh:mm A', '03/31/2026 13:05 PM', undefined],
  ])('as %s: %s', (form, text, day) => {
    expect(momentReader({ dates: form, format: 'csv' }, { own: 'UTC', platform: 'UTC' })(text)?.day).toBe(
      day,
    );
  });
  it.each([
    'DD.MM',
    'YYYY-MM',
    'DD.MM.YYYY HH',
    'DD.MM.YYYY hh:mm',
    'DD.MM.YYYY HH:mm A',
    'DD.DD.MM.YYYY',
    '',
  ])('"%s" is no form', (form) => expect(datePattern(form)).toBeNull());
});

it('the parts of a reference, each once', () => {
  expect(referenceKeysOf('order B1, (B2)/B1;x|[B3]')).toEqual(['order', 'B1', 'B2', 'x', 'B3']);
  expect(referenceKeysOf('')).toEqual([]);
  expect(referenceKeysOf(' '.repeat(5))).toEqual([]);
  expect(referenceKeysOf(Array.from({ length: 90 }, (_, n) => `B${n}`).join(' '))).toHaveLength(50);
});

it('any table is read back from CSV, in whatever pieces, with its lines', async () => {
  const cell = fc.string({
    unit: fc.constantFrom('a', '1', ' ', '"', ',', ';', '\n', 'ü', '🪁', "'"),
    maxLength: 8,
  });
  const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.constantFrom(',', ';'),
      fc.constantFrom('\n', '\r\n'),
      fc.boolean(),
      fc.integer({ min: 1, max: 9 }),
      async (rows, delimiter, lineEnd, hasMark, pieceBytes) => {
        const wanted: { readonly line: number; readonly cells: readonly string[] }[] = [];
        let line = 1;
        for (const cells of rows) {
          if (cells.some((one) => one.trim() !== '')) wanted.push({ line, cells });
          line += 1 + cells.join('').split('\n').length - 1;
        }
        const text = stringify(rows, { delimiter, record_delimiter: lineEnd, quoted: true });
        const bytes = Buffer.from((hasMark ? '\ufeff' : '') + text);
        const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, at) =>
          bytes.subarray(at * pieceBytes, (at + 1) * pieceBytes),
        );
        const mapping = readMapping(`${MAPPING}delimiter: "${delimiter}"\n`, 'map.yaml');
        const source = openSource(mapping, {
          path: '-',
          env: {},
          stdin: Readable.from(pieces),
          isInsecureAllowed: false,
        });
        expect(await rowsIn(source)).toEqual(wanted);
      },
    ),
  );
});

it.each([
  ['windows-1252', Buffer.from([0x6e, 0x6f, 0x0a, 0xfc]), 'ü'],
  ['utf-16le', Buffer.from('\ufeffno\nü', 'utf16le'), 'ü'],
])(
  'another encoding is an error that says so, and read where it is named: %s',
  async (encoding, bytes, cell) => {
    const rows = (mapping: string) =>
      rowsIn(
        openSource(readMapping(mapping, 'map.yaml'), {
          path: '-',
          env: {},
          stdin: Readable.from([bytes]),
          isInsecureAllowed: false,
        }),
      );
    await expect(rows(MAPPING)).rejects.toThrow(/^stdin is not utf-8\. Add its encoding/);
    expect((await rows(`${MAPPING}encoding: ${encoding}`)).at(-1)!.cells).toEqual([cell]);
  },
);

it('everything wrong in a mapping is named with its place', () => {
  const problems = (text: string): string => {
    try {
      readMapping(text, 'map.yaml');
      return '';
    } catch (error) {
      return String(error);
    }
  };
  expect(problems(MAPPING)).toBe('');
  expect(problems('merchant: M1\nformat: cvs\nzone: Mars\ncolums: {}\n')).toMatch(
    /line 2, column 9: format is one of: csv, xlsx, query[^]*line 3, column 7: zone[^]*columns is missing[^]*did you mean columns/,
  );
  expect(problems(`${MAPPING}sheet: x`)).toContain(
    'line 4, column 8: sheet is not for format: csv; leave it out',
  );
  expect(problems(MAPPING.replace('amount: a', 'amount: a, x: a'))).toMatch(/columns\.x is not known/);
  expect(problems(MAPPING.replace('currency: c, amount: a', 'credit: a'))).toMatch(
    /needs both credit and debit[^]*needs a column currency/,
  );
  expect(problems('merchant: [')).toMatch(/is neither JSON nor YAML: line 1/);
  expect(readMapping(MAPPING.replace('M1', '007'), 'map.yaml').merchant).toBe('007');
});
