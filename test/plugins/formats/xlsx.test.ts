/** XLSX, read back by another library than the one that wrote it, cell by cell. */
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { readXlsx } from 'hucre/xlsx';
import { describe, expect, test } from 'vitest';
import { STATEMENT_COLUMNS, type StatementDay } from '../../../src/statements/formats/format.ts';
import { type RowCells } from '../../../src/verify/csv.ts';
import { writeXlsx } from '../../../src/plugins/formats/xlsx.ts';
import { bytesOf, revisionOf, statementDay, type DayChange } from '../../statements/days.ts';
import { hostileDay } from './hostile-rows.ts';

const ROW: RowCells = ['B1', '2026-03-31 09:00:00', 'USD', 'PAY', '1234.50', '', '-0.50'];
const NAMES = STATEMENT_COLUMNS.map(({ name }) => name);

const read = async (day: StatementDay, sheetRowsMax?: number) =>
  (await readXlsx(await bytesOf(writeXlsx(day, sheetRowsMax)), { readStyles: true })).sheets;
type Sheet = Awaited<ReturnType<typeof read>>[number];

const cellAt = (sheet: Sheet, row: number, column: number) => sheet.cells?.get(`${row},${column}`);

/** A cell as the text of the CSV that it stands for. */
function textAt(sheet: Sheet, row: number, column: number): string {
  const value = sheet.rows[row]?.[column] ?? null;
  if (value === null) return '';
  if (value instanceof Date) return value.toISOString().slice(0, 19).replace('T', ' ');
  if (typeof value !== 'number') return String(value);
  const format = cellAt(sheet, row, column)?.style?.numFmt ?? '';
  return value.toFixed(/\.(0+)$/.exec(format)?.[1]?.length ?? 0);
}

const linesOf = (sheet: Sheet, columns: number): string[][] =>
  sheet.rows.map((_, row) => Array.from({ length: columns }, (__, column) => textAt(sheet, row, column)));

test('without a known zone, published_at is in UTC and says so', async () => {
  const [summary] = await read(statementDay([ROW], { zone: null }));
  expect(linesOf(summary!, 2)).toContainEqual(['published_at', '2026-04-01 02:00:00 +00:00']);
});

test('a day is a sheet of its figures, a sheet of its rows, and a sheet of what changed', async () => {
  const figures = { opening: '-1235.00', creditTotal: '1234.50', creditCount: 1, closing: '-0.50' };
  const [summary, account, changes] = await read(statementDay([ROW], { figures }));
  expect([summary!.name, account!.name, changes!.name]).toEqual(['Summary', 'USD', 'Changes']);
  expect(linesOf(summary!, 2).slice(0, 20)).toEqual([
    ['summary', ''],
    ['merchant_no', 'M-1'],
    ['currency', 'USD'],
    ['day', '2026-03-31 00:00:00'],
    ['revision', '1'],
    ['published_at', '2026-04-01 10:00:00 +08:00'],
    ['opening', '-1235.00'],
    ['credit_total', '1234.50'],
    ['credit_count', '1'],
    ['debit_total', '0.00'],
    ['debit_count', '0'],
    ['closing', '-0.50'],
    ['verdict', 'continuous'],
    ['breaks', '0'],
    ['unreadable', '0'],
    ['missing_net', '0'],
    ['restarted', 'no'],
    ['reason', ''],
    ['file', 'M-1_USD_2026-03-31.r1.csv'],
    ['sha256', 'ab'.repeat(32)],
  ]);
  expect(linesOf(account!, NAMES.length)).toEqual([NAMES, ROW]);
  expect(account!.rows[1]).toEqual([
    ...['B1', new Date('2026-03-31T09:00:00Z'), 'USD', 'PAY', 1234.5, null, -0.5],
  ]);
  expect(linesOf(changes!, 2)).toEqual([
    ['change', 'batch_no'],
    ['the first revision: there is none before it', ''],
  ]);
  for (const sheet of [summary!, account!, changes!]) expect(sheet.freezePane).toEqual({ rows: 1 });
});

test('amounts are numbers with the decimals of the currency, as long as a spreadsheet keeps their digits', async () => {
  const amounts = ['0', '0.000', '999999999999.999', '-1000000000000.01', '0.000000000000001', '1e'].slice(
    0,
    5,
  );
  const long = ['9999999999999.999', '12345678901234567', '-1.000000000000000', '0.0000000000000001'];
  const rows = [...amounts, ...long].map((balance) => [...ROW.slice(0, 6), balance]);
  const [, sheet] = await read(statementDay(rows));
  const cells = rows.map((_, at) => cellAt(sheet!, at + 1, 6)!);
  expect(linesOf(sheet!, NAMES.length).slice(1)).toEqual(rows);
  expect(cells.map(({ type }) => type)).toEqual([
    ...amounts.map(() => 'number'),
    ...long.map(() => 'string'),
  ]);
  expect(cells[1]!.style?.numFmt).toBe('#,##0.000');
  // What is no number is flagged.
  const colorOf = (at: number) => JSON.stringify(cells[at]!.style?.fill ?? null);
  expect(colorOf(0)).toBe('null');
  expect(colorOf(amounts.length)).toContain('FFF2CC');
});

test('texts stay texts, whatever they look like, also when somebody edits the cell', async () => {
  const texts = [
    '=1+1',
    '@SUM(A1)',
    '+1',
    '-1',
    '007',
    '12345678901234567',
    '1e5',
    'TRUE',
    '_x0041_',
    ' a ',
    '<&>',
  ];
  const [, sheet] = await read(statementDay(texts.map((text) => [text, ...ROW.slice(1)])));
  expect(linesOf(sheet!, 1).flat().slice(1)).toEqual(texts);
  for (const [at] of texts.entries())
    expect(cellAt(sheet!, at + 1, 0)).toMatchObject({ type: 'string', style: { numFmt: '@' } });
});

/** Of what a reader would not see each UTF-16 unit, as JSON escapes it. */
const spelled = (text: string): string =>
  text.replace(/[\p{Cf}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu, (hidden) =>
    [...Array(hidden.length).keys()]
      .map((unit) => `\\u${hidden.charCodeAt(unit).toString(16).padStart(4, '0')}`)
      .join(''),
  );

test('no text turns the direction of what a person reads, or hides in it', async () => {
  const texts = ['PAY\u202eOUT', 'a\u200bb', '\u2067x\u2069', 'tag\u{e0041}', 'soft\u00adhyphen'];
  const day = statementDay(
    texts.map((text) => [text, ...ROW.slice(1)]),
    { published: { reason: 'r\u202e' } },
  );
  const [summary, sheet] = await read(day);
  expect(linesOf(sheet!, 1).flat().slice(1)).toEqual(texts.map(spelled));
  expect(linesOf(summary!, 2)).toContainEqual(['reason', 'r\\u202e']);
});

test(
  'every cell of any day is read back as it is in the CSV, but for what a reader would not see',
  { tags: ['long'] },
  async () => {
    await fc.assert(
      fc.asyncProperty(hostileDay({ digits: 30 }), async ({ currency, rows, figures }) => {
        const [summary, sheet] = await read(statementDay(rows, { currency, figures }));
        const wellFormed = rows.map((cells) => cells.map((cell) => spelled(cell.toWellFormed())));
        expect(linesOf(sheet!, NAMES.length)).toEqual([NAMES, ...wellFormed]);
        expect(
          linesOf(summary!, 2)
            .slice(6, 12)
            .map(([, value]) => value),
        ).toEqual([
          ...[figures.opening, figures.creditTotal, String(figures.creditCount)],
          ...[figures.debitTotal, String(figures.debitCount), figures.closing],
        ]);
      }),
      { numRuns: 30 },
    );
  },
);

test('what does not fit on one sheet goes on on the next, each with its header', async () => {
  const rows = Array.from({ length: 8 }, (_, at) => [`B${at}`, ...ROW.slice(1)]);
  const sheets = await read(statementDay(rows, { figures: { creditCount: 8 } }), 4);
  expect(sheets.map(({ name }) => name)).toEqual(['Summary', 'USD', 'USD 2', 'USD 3', 'Changes']);
  expect(sheets.slice(1, 4).map((sheet) => linesOf(sheet, 1).flat())).toEqual([
    ['batch_no', 'B0', 'B1', 'B2'],
    ['batch_no', 'B3', 'B4', 'B5'],
    ['batch_no', 'B6', 'B7'],
  ]);
});

describe('a later revision', () => {
  const cells = Object.fromEntries(NAMES.map((name, at) => [name, ROW[at]!]));
  const second: DayChange = {
    published: { revision: 2, reason: '1 late entry (B9)' },
    earlier: [revisionOf()],
  };
  const changesIn = async (change: Partial<DayChange>) =>
    linesOf((await read(statementDay([ROW], { ...second, ...change })))[2]!, 8).slice(1);

  test('tells all revisions, and why each was replaced', async () => {
    const [summary] = await read(statementDay([ROW], second));
    const lines = linesOf(summary!, 16).slice(21, 24);
    expect(lines.map((line) => [line[0], line[1], line[13]])).toEqual([
      ['revision', 'published_at', 'reason'],
      ['1', '2026-04-01 10:00:00 +08:00', ''],
      ['2', '2026-04-01 10:00:00 +08:00', '1 late entry (B9)'],
    ]);
  });

  test('shows the rows that came, went and changed', async () => {
    const changed = { ...cells, transaction_type: 'FEE' };
    const rows = [
      { batchNo: 'B1', before: cells, after: changed, changed: ['transaction_type'] },
      { batchNo: 'B8', before: { ...cells, batch_no: 'B8' }, after: null, changed: [] },
      { batchNo: 'B9', before: null, after: { ...cells, batch_no: 'B9' }, changed: [] },
    ];
    expect(await changesIn({ changes: { rows, more: 0 } })).toEqual([
      ['before', ...ROW],
      ['after', ...ROW.slice(0, 3), 'FEE', ...ROW.slice(4)],
      ['went', 'B8', ...ROW.slice(1)],
      ['came', 'B9', ...ROW.slice(1)],
    ]);
    expect((await changesIn({ changes: { rows, more: 7 } })).at(-1)![0]).toBe(
      'and 7 more rows: daybook statements diff shows them all',
    );
  });

  test('says so where no row changed, or where that is not known', async () => {
    expect((await changesIn({ changes: { rows: [], more: 0 } }))[0]![0]).toMatch(/^no row changed: /);
    expect((await changesIn({ changes: null }))[0]![0]).toMatch(/^the file of the revision before could not/);
  });
});

test('the same day gives the same bytes, in every time zone of the machine', () => {
  const script = `
    import { writeXlsx } from '${new URL('../../../src/plugins/formats/xlsx.ts', import.meta.url).href}';
    import { bytesOf, statementDay } from '${new URL('../../statements/days.ts', import.meta.url).href}';
    import { sha256Of } from '${new URL('../../../src/host/sha256.ts', import.meta.url).href}';
    console.log(sha256Of(await bytesOf(writeXlsx(statementDay([${JSON.stringify(ROW)}])))));`;
  const digestIn = (zone: string) =>
    execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, TZ: zone, NODE_OPTIONS: '--disable-warning=ExperimentalWarning' },
      encoding: 'utf8',
    });
  const digests = ['UTC', 'Asia/Shanghai', 'America/New_York'].map(digestIn);
  expect(new Set(digests).size).toBe(1);
  expect(digests[0]).toMatch(/^[0-9a-f]{64}\n$/);
});

test('what reading the rows throws comes through, and who stops reading stops the rows', async () => {
  const failing: StatementDay = {
    ...statementDay([]),
    rows: (async function* () {
      yield await Promise.resolve([ROW]);
      throw new Error('the rows are not those published');
    })(),
  };
  await expect(bytesOf(writeXlsx(failing))).rejects.toThrow('the rows are not those published');
  let isEnded = false;
  const endless: StatementDay = {
    ...statementDay([]),
    rows: (async function* () {
      try {
        for (;;) yield await Promise.resolve([ROW]);
      } finally {
        isEnded = true;
      }
    })(),
  };
  let bytes = 0;
  for await (const chunk of writeXlsx(endless)) if ((bytes += chunk.length) > 100_000) break;
  expect(isEnded).toBe(true);
});
