import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { STATEMENT_COLUMNS, type StatementFormat } from '../../src/statements/formats/format.ts';
import { type RowCells } from '../../src/verify/csv.ts';
import { CSV, csvLines, csvText } from '../../src/statements/formats/csv.ts';
import { SPREADSHEET } from '../../src/statements/formats/all.ts';
import { statementKey } from '../../src/statements/keys.ts';
import { statementEntries, type StatementEntry } from '../../src/statements/file-rows.ts';
import { dayOf } from './days.ts';

const entry = (change: Partial<LedgerEntry> = {}): LedgerEntry => ({
  batchNo: 'B1',
  currency: 'USD',
  transactionType: 'PAY',
  credit: '1.00',
  debit: null,
  balance: '-0.50',
  bookedAt: '2026-03-31 09:00:00',
  bookedMs: 0,
  ...change,
});

const cellsOf = (one: LedgerEntry): RowCells => STATEMENT_COLUMNS.map(({ cell }) => cell(one));
const statementLines = (entries: readonly LedgerEntry[]): string => csvLines(entries.map(cellsOf));

async function fileIn(format: StatementFormat, entries: readonly LedgerEntry[]): Promise<string> {
  const rows = entries.map(cellsOf);
  const bytes: Uint8Array[] = [];
  for await (const part of format.write(dayOf(STATEMENT_COLUMNS, [rows.slice(0, 1), rows.slice(1)])))
    bytes.push(part);
  return Buffer.concat(bytes).toString('utf8');
}

test('columns stand in the promised order, the absent side is empty, lines end in CRLF', async () => {
  expect(await fileIn(CSV, [entry(), entry({ credit: null, debit: '0.005' })])).toBe(
    'batch_no,booked_at,currency,transaction_type,credit,debit,balance\r\n' +
      'B1,2026-03-31 09:00:00,USD,PAY,1.00,,-0.50\r\n' +
      'B1,2026-03-31 09:00:00,USD,PAY,,0.005,-0.50\r\n',
  );
});

test('commas, quotes and line ends are quoted; formulas and spaces are left as they are', () => {
  const types = ['a,b', 'say "hi"', 'two\nlines', 'cr\ronly', '=1+1', ' spaced ', '支付'];
  expect(statementLines(types.map((transactionType) => entry({ transactionType })))).toBe(
    ['"a,b"', '"say ""hi"""', '"two\nlines"', '"cr\ronly"', '=1+1', ' spaced ', '支付']
      .map((cell) => `B1,2026-03-31 09:00:00,USD,${cell},1.00,,-0.50\r\n`)
      .join(''),
  );
});

test('any text is read from the CSV as it was written', () => {
  const cell = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('', '"', '\r\n', '\n', ',', '""', "'"),
  );
  const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(rows, (table) => {
      const same = table.map((row) => ['x', ...row]);
      expect(parse(csvText(same), { record_delimiter: '\r\n', relax_column_count: true })).toEqual(same);
    }),
  );
});

test('a line is the same as the CSV library writes it', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('"', '\r\n', 'a\r', '\n', ',', '""'),
  );
  fc.assert(
    fc.property(text, text, (batchNo, transactionType) => {
      const line = statementLines([entry({ batchNo, transactionType })]);
      expect(line).toBe(
        csvText([[batchNo, '2026-03-31 09:00:00', 'USD', transactionType, '1.00', '', '-0.50']]),
      );
    }),
  );
});

test('without entries there are no lines', () => {
  expect(statementLines([])).toBe('');
});

test('the spreadsheet file leads formulas with an apostrophe and leaves amounts alone', async () => {
  const text = await fileIn(SPREADSHEET, [
    entry({ batchNo: '@SUM(1)', transactionType: '=cmd|x', balance: '-12.00' }),
    entry({ transactionType: '-1,"x"' }),
    entry({ transactionType: '\ttab' }),
    entry({ transactionType: '\rcr' }),
    entry({ transactionType: '+49' }),
    entry({ transactionType: 'a=b' }),
  ]);
  expect(text.split('\r\n')[0]).toBe(STATEMENT_COLUMNS.map(({ name }) => name).join(','));
  expect(
    parse(text, { from: 2, record_delimiter: '\r\n' }).map((row: string[]) => [row[0], row[3], row[6]]),
  ).toEqual([
    ["'@SUM(1)", "'=cmd|x", '-12.00'],
    ['B1', '\'-1,"x"', '-0.50'],
    ['B1', "'\ttab", '-0.50'],
    ['B1', "'\rcr", '-0.50'],
    ['B1', "'+49", '-0.50'],
    ['B1', 'a=b', '-0.50'],
  ]);
});

test.each([
  ...['\uff1d1+1', '\uff0b49', '\uff0d1', '\uff20SUM(1)', '\ufe661+1', '\ufe62 1', '\ufe63 1', '\ufe6bA1'],
  ...[
    ' =1',
    '\u00a0=1',
    '\u3000\uff1d1',
    '\u200b=1',
    '\ufeff+1',
    '\u202e-1',
    '\n@A1',
    ' \t\u2060\u200d=1',
    '\u0007=1',
  ],
])('%j would start a formula in some spreadsheet, and is led by an apostrophe', async (transactionType) => {
  const text = await fileIn(SPREADSHEET, [entry({ transactionType })]);
  const [row] = parse(text, { from: 2, record_delimiter: '\r\n' });
  expect(row![3]).toBe(`'${transactionType}`);
});

test.each([' a=b', 'Ａ', '\u00a0', '\u200bPAY', '', '支付=1', '1-2', '#1', '(=1)'])(
  '%j starts none, and stays as it is',
  async (transactionType) => {
    const entries = [entry({ transactionType })];
    expect(await fileIn(SPREADSHEET, entries)).toBe(await fileIn(CSV, entries));
  },
);

test('a statement without formulas is the same in the spreadsheet file', async () => {
  const entries = [entry({ transactionType: 'ü, "x"' }), entry()];
  expect(await fileIn(SPREADSHEET, entries)).toBe(await fileIn(CSV, entries));
});

test.each([
  ['100001', 'merchant=100001/date=2026-03-31/100001_USD_2026-03-31.r1.csv'],
  ['../../etc', 'merchant=%2E%2E%2F..%2Fetc/date=2026-03-31/%2E%2E%2F..%2Fetc_USD_2026-03-31.r1.csv'],
  ['a b/ü', 'merchant=a%20b%2F%C3%BC/date=2026-03-31/a%20b%2F%C3%BC_USD_2026-03-31.r1.csv'],
  ['a\u202eb', 'merchant=a%E2%80%AEb/date=2026-03-31/a%E2%80%AEb_USD_2026-03-31.r1.csv'],
])('merchant %s is one path part', (merchantNo, key) => {
  expect(statementKey({ merchantNo, currency: 'USD' }, '2026-03-31', 1)).toBe(key);
});

test('the entries of a statement are read back as they were, in whatever order its columns stand', async () => {
  const entries = [entry(), entry({ batchNo: 'B2', credit: null, debit: '0.005', transactionType: 'a,b' })];
  const columns = [...STATEMENT_COLUMNS].reverse();
  const rows = entries.map((one) => columns.map(({ cell }) => cell(one)));
  const names = columns.map(({ name }) => name);
  const found: StatementEntry[] = [];
  for await (const one of statementEntries(CSV.write(dayOf(columns, [rows])), { columns: names }))
    found.push(one);
  expect(found).toEqual(entries.map(({ bookedMs: _, ...one }) => one));
});
