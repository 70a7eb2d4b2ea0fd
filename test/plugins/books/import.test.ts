import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createCurrencies } from '../../../src/ledger/money.ts';
import { importBook, type ImportReport } from '../../../src/plugins/books/import/import.ts';
import { readMapping } from '../../../src/plugins/books/import/mapping.ts';
import { openSource } from '../../../src/plugins/books/import/sources.ts';
import { rowsOf, type Database } from '../../../src/store/engine/database.ts';
import { emptyTables, freshDatabase } from '../../support/database.ts';

const NOW = new Date('2026-05-01T00:00:00Z');
const MAPPING = `
merchant: M1
format: csv
columns: {number: no, booked: day, currency: currency, amount: amount, reference: ref}
`;
const HEAD = 'no,day,currency,amount,ref';

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
beforeEach(() => emptyTables(database.db));
afterAll(() => database.close());

interface Given {
  readonly mapping?: string;
  readonly from?: string;
  readonly to?: string;
  readonly isDryRun?: boolean;
  readonly signal?: AbortSignal;
}

/** Imports rows below `HEAD`, or a text that has its own. */
const imported = (
  rows: readonly string[] | string,
  { mapping = MAPPING, from, to, isDryRun = false, signal = new AbortController().signal }: Given = {},
): Promise<ImportReport> => {
  const text = typeof rows === 'string' ? rows : [HEAD, ...rows, ''].join('\n');
  const read = readMapping(mapping, 'map.yaml');
  const stdin = Readable.from([Buffer.from(text)]);
  return importBook(database.db, {
    ...{ mapping: read, from, to, isDryRun, now: () => NOW, signal },
    source: openSource(read, { path: '-', env: {}, stdin, isInsecureAllowed: false }),
    zones: { own: read.zone ?? 'Asia/Shanghai', platform: 'Asia/Shanghai' },
    currencies: createCurrencies({}),
    auditEvent: { by: 'Ada', command: 'books import', subject: 'M1 books' },
    onProgress: () => undefined,
  });
};

const entries = () =>
  rowsOf(database.db)<Record<string, unknown>>`
    SELECT number, day, amount::text, version, withdrawn_import_id IS NOT NULL AS gone FROM book_entry ORDER BY number`;
const openRows = () =>
  rowsOf(database.db)<Record<string, unknown>>`
    SELECT import_id AS import, line, reason, raw, number FROM book_unreadable WHERE answered_import_id IS NULL ORDER BY 1, 2`;

const THREE = ['1,2026-03-01,EUR,10.50,B1', '2,2026-03-02,EUR,-4,', '3,2026-03-03,EUR,7,"B2, B3"'];

test('the same file twice changes nothing; 10.50 and 10.5 are the same', async () => {
  expect(await imported(THREE)).toMatchObject({
    rowsRead: 3,
    added: 3,
    firstDay: '2026-03-01',
    lastDay: '2026-03-03',
  });
  const before = await entries();
  expect(await imported(THREE)).toMatchObject({ added: 0, changed: 0, withdrawn: 0, unchanged: 3 });
  expect(await imported(['1,2026-03-01,EUR,10.5,B1', ...THREE.slice(1)])).toMatchObject({ unchanged: 3 });
  expect(await entries()).toEqual(before);
  expect(await rowsOf(database.db)`SELECT currency, day, is_changed FROM book_day ORDER BY day`).toHaveLength(
    3,
  );
});

test('a changed row becomes a version, and what it was before is kept', async () => {
  await imported(THREE);
  expect(await imported(['1,2026-03-02,EUR,11,B1', ...THREE.slice(1)], { from: '2026-03-01' })).toMatchObject(
    {
      changed: 1,
      unchanged: 2,
      withdrawn: 0,
    },
  );
  expect(
    await rowsOf(database.db)`SELECT version, amount, earlier FROM book_entry WHERE number = '1'`,
  ).toEqual([
    {
      version: 2,
      amount: '11',
      earlier: [expect.objectContaining({ version: 1, day: '2026-03-01', amount: '10.50' })],
    },
  ]);
});

test('another time of the same day is a change, too; a day without a time is not midnight', async () => {
  const timed = (time: string) => [`1,2026-03-01${time},EUR,10,`];
  await imported(timed(' 09:00'));
  expect(await imported(timed(' 09:00'))).toMatchObject({ unchanged: 1 });
  expect(await imported(timed(' 09:01'))).toMatchObject({ changed: 1 });
  expect(await imported(timed(' 00:00'))).toMatchObject({ changed: 1 });
  expect(await imported(timed(''))).toMatchObject({ changed: 1 });
});

test('an entry that the file lacks on its days is withdrawn, and comes back as the same entry', async () => {
  await imported(THREE);
  expect(await imported([THREE[0]!, THREE[2]!])).toMatchObject({ withdrawn: 1, unchanged: 2 });
  expect(await entries()).toMatchObject([{ gone: false }, { number: '2', gone: true }, { gone: false }]);
  expect(await imported(THREE)).toMatchObject({ added: 0, returned: 1, withdrawn: 0 });
  expect(await entries()).toMatchObject([
    { gone: false },
    { number: '2', version: 1, gone: false },
    { gone: false },
  ]);
});

test('only days that the file covers lose entries, unless a person or the mapping says otherwise', async () => {
  await imported(THREE);
  expect(await imported([THREE[0]!])).toMatchObject({ withdrawn: 0, lastDay: '2026-03-01' });
  expect(await imported([THREE[0]!], { mapping: `${MAPPING}covers: nothing` })).toMatchObject({
    firstDay: null,
  });
  expect(await imported([THREE[0]!], { to: '2026-03-02' })).toMatchObject({ withdrawn: 1 });
});

test('the days of entries that come, change, go and come back are matched again, and no others', async () => {
  const changedBy = async (rows: readonly string[]): Promise<unknown[]> => {
    await rowsOf(database.db)`UPDATE book_day SET is_changed = false`;
    await imported(rows, { from: '2026-03-01', to: '2026-03-09' });
    const days = await rowsOf(database.db)<{ currency: string; day: string }>`
      SELECT currency, day FROM book_day WHERE is_changed ORDER BY day, currency`;
    return days.map(({ currency, day }) => `${day} ${currency}`);
  };
  expect(await changedBy(THREE)).toEqual(['2026-03-01 EUR', '2026-03-02 EUR', '2026-03-03 EUR']);
  expect(await changedBy(THREE)).toEqual([]);
  const moved = [THREE[0]!, '2,2026-03-05,USD,-4,', THREE[2]!];
  expect(await changedBy(moved)).toEqual(['2026-03-02 EUR', '2026-03-05 USD']);
  expect(await changedBy([THREE[0]!, moved[1]!])).toEqual(['2026-03-03 EUR']);
  expect(await changedBy(moved)).toEqual(['2026-03-03 EUR']);
  expect(await changedBy([...moved, '4,2026-03-01,EUR,1,'])).toEqual(['2026-03-01 EUR']);
});

test('a dry run says what would change, and leaves nothing', async () => {
  expect(await imported(THREE, { isDryRun: true })).toMatchObject({ added: 3, importId: null });
  expect(await entries()).toEqual([]);
});

test('unreadable rows are kept with line and reason, and do not withdraw the entry they name', async () => {
  await imported(THREE);
  const wrong = [
    '1,2026-03-01,EUR,"1,50",B1',
    THREE[1]!,
    THREE[2]!,
    '4,2026-02-30,EUR,1,',
    '2,2026-03-02,EUR,5,',
  ];
  expect(await imported(wrong)).toMatchObject({ unreadable: 3, withdrawn: 0, unchanged: 2 });
  expect(await openRows()).toMatchObject([
    { line: 2, number: '1', reason: 'the amount is no amount.', raw: '1,2026-03-01,EUR,"1,50",B1' },
    { line: 5, number: '4' },
    { line: 6, number: '2', reason: 'its number is on an earlier line already.' },
  ]);
  expect(await imported([...THREE, '4,2026-02-28,EUR,1,'])).toMatchObject({
    unreadable: 0,
    answered: 3,
    added: 1,
  });
  expect(await openRows()).toEqual([]);
});

test('a row that is torn withdraws nothing, as no one knows which entries it took in', async () => {
  await imported(THREE);
  const report = await imported([THREE[0]!, '2,2026-03-02,EUR', THREE[2]!]);
  expect(report).toMatchObject({
    unreadable: 1,
    withdrawn: 0,
    firstDay: null,
    notWithdrawn: expect.any(String),
  });
  // Another form: a total below the rows. Named as a footer, it is no row.
  const total = [THREE[0]!, THREE[2]!, ',,,17.50,'];
  expect(await imported(total)).toMatchObject({ unreadable: 1, withdrawn: 0 });
  expect(await imported(total, { mapping: `${MAPPING}footer: 1` })).toMatchObject({
    unreadable: 0,
    withdrawn: 1,
  });
});

test('a file that lacks most of the book is refused unless its days are named', async () => {
  const many = Array.from(
    { length: 60 },
    (_, n) => `${n},2026-03-${String((n % 28) + 1).padStart(2, '0')},EUR,1,`,
  );
  await imported(many);
  const few = [many[0]!, many[27]!];
  await expect(imported(few)).rejects.toThrow('lacks 58 of the 60 entries');
  expect((await entries()).filter(({ gone }) => gone)).toEqual([]);
  expect(await imported(few, { from: '2026-03-01', to: '2026-03-28' })).toMatchObject({ withdrawn: 58 });
});

test('a file of another kind is refused, and says what to do', async () => {
  await expect(imported('no;day\n1;2')).rejects.toThrow('has no column no; it has no;day.');
  await expect(imported('')).rejects.toThrow('stdin has no rows. Nothing');
  await expect(imported(['1,01.03.2026,EUR,1,'])).rejects.toThrow(
    'no row of stdin can be read; line 2: the day is not written',
  );
  await expect(imported([`1,2026-03-01,EUR,1,"B`])).rejects.toThrow(
    /is no CSV: Quote Not Closed: .* at line \d\. Nothing was stored\.$/,
  );
});

const tables = () =>
  rowsOf(database.db)<Record<string, unknown>>`
    SELECT (SELECT count(*) FROM book_import) AS imports, (SELECT count(*) FROM book_entry) AS entries,
      (SELECT count(*) FROM book_unreadable) AS unreadable, (SELECT count(*) FROM book_day) AS days`;
/** More than are written at once. */
const LONG = Array.from(
  { length: 9_000 },
  (_, n) => `${n},2026-03-${String(1 + (n % 28)).padStart(2, '0')},EUR,1,`,
);

test('a file that breaks far behind its beginning, or an import that is stopped, stores nothing', async () => {
  const nothing = [{ imports: 0, entries: 0, unreadable: 0, days: 0 }];
  await expect(imported([...LONG, '9001,2026-03-01,EUR,1,"B'])).rejects.toThrow('Quote Not Closed');
  expect(await tables()).toEqual(nothing);
  await expect(
    imported([...LONG, ...LONG.map((row) => `x${row.replace(',EUR,1,', ',EUR,x,')}`), ...LONG]),
  ).rejects.toThrow('over 10,000 rows cannot be read; line 9002: the amount is no amount.');
  expect(await tables()).toEqual(nothing);
  const stop = new AbortController();
  stop.abort(new Error('stopped'));
  await expect(imported(LONG, { signal: stop.signal })).rejects.toThrow('stopped');
  expect(await tables()).toEqual(nothing);
  expect(await imported(LONG)).toMatchObject({ added: 9_000, firstDay: '2026-03-01', lastDay: '2026-03-28' });
});

test('a number that comes again far below is unreadable, whether its entry is new, changed, the same or returned', async () => {
  const again = [LONG[0]!, LONG[1]!.replace(',1,', ',2,'), LONG[2]!];
  expect(await imported([...LONG, ...again])).toMatchObject({ added: 9_000, unreadable: 3 });
  const changed = ['0,2026-03-01,EUR,5,', ...LONG.slice(1)];
  expect(await imported([...changed, '0,2026-03-01,EUR,6,', LONG[5]!])).toMatchObject({
    changed: 1,
    unreadable: 2,
  });
  expect(await rowsOf(database.db)`SELECT amount, version FROM book_entry WHERE number = '0'`).toEqual([
    { amount: '5', version: 2 },
  ]);
  expect(await imported(changed.filter((row) => !row.startsWith('9,')))).toMatchObject({ withdrawn: 1 });
  const returned = [...changed, LONG[9]!, LONG[10]!];
  expect(await imported(returned)).toMatchObject({
    returned: 1,
    changed: 0,
    unreadable: 2,
    unchanged: 8_999,
  });
});

test('rows at the end that are no entries are left out of a long file, too', async () => {
  for (const rows of [5_000, 7_000, 9_000])
    expect(
      await imported(LONG.slice(0, rows), { mapping: `${MAPPING}footer: 999\n`, isDryRun: true }),
    ).toMatchObject({ added: rows - 999 });
});

test('merchants and books are apart: equal numbers are other entries, and neither withdraws those of another', async () => {
  const other = MAPPING.replace('merchant: M1', 'merchant: M2');
  const second = `${MAPPING}book: shop\n`;
  for (const mapping of [MAPPING, other, second])
    expect(await imported(THREE, { mapping })).toMatchObject({ added: 3, withdrawn: 0 });
  const wrong = ['1,2026-03-01,EUR,x,', THREE[1]!, THREE[2]!];
  await imported(wrong, { mapping: second });
  expect(await imported(THREE, { mapping: other })).toMatchObject({ unchanged: 3, answered: 0 });
  expect(await imported([THREE[0]!, THREE[2]!])).toMatchObject({ withdrawn: 1, answered: 0 });
  expect(await imported(THREE, { mapping: second })).toMatchObject({ unchanged: 3, answered: 1 });
  expect((await entries()).map(({ gone }) => gone)).toEqual([
    ...Array<boolean>(3).fill(false),
    true,
    false,
    false,
    ...Array<boolean>(3).fill(false),
  ]);
});

test('up to 20 entries, or half of those on the days, are withdrawn unasked', async () => {
  const rows = (count: number) =>
    LONG.slice(0, count).map((row) => row.replace(/2026-03-\d\d/, '2026-03-01'));
  await imported(rows(22));
  expect(await imported(rows(2))).toMatchObject({ withdrawn: 20 });
  expect(await imported(rows(42))).toMatchObject({ added: 20, returned: 20 });
  expect(await imported(rows(21))).toMatchObject({ withdrawn: 21 });
  await imported(rows(43));
  await expect(imported(rows(21))).rejects.toThrow('lacks 22 of the 43 entries');
  await expect(imported(rows(21), { from: '2026-03-01' })).rejects.toThrow('lacks 22 of the 43 entries');
});

test('a row that was unreadable is answered by its entry, its days or its file, and by nothing less', async () => {
  const file = ['1,2026-03-01,EUR,1,', '2,2026-03-02,EUR,"1,50",', '3,2026-03-03,EUR,3,'];
  const nameless = ',2026-03-02,EUR,1,';
  const open = async () => (await openRows()).map(({ import: id, number }) => [id, number]);
  await imported(file);
  await imported([...file.slice(0, 1), nameless], { from: '2026-03-01', to: '2026-03-03' });
  expect(await open()).toEqual([
    [1, '2'],
    [2, null],
  ]);
  // A part of the days, and entries of other numbers.
  expect(await imported(['1,2026-03-01,EUR,1,', '4,2026-03-02,EUR,1,'])).toMatchObject({ answered: 0 });
  // All days of the first import, though the entry is in no row. The second covers no day, and holds no number.
  expect(await imported([file[0]!, file[2]!], { from: '2026-03-01', to: '2026-03-03' })).toMatchObject({
    answered: 1,
  });
  expect(await open()).toEqual([[2, null]]);
  // The same content.
  expect(await imported([...file.slice(0, 1), nameless])).toMatchObject({ answered: 1 });
  expect(await open()).toEqual([[5, null]]);
  // The entry, on a day of no other import.
  await imported(['7,2026-03-09,EUR,x,', '8,2026-03-09,EUR,1,'], { mapping: `${MAPPING}covers: nothing\n` });
  expect(await imported(['7,2026-04-09,EUR,1,'])).toMatchObject({ answered: 1 });
  expect(await open()).toEqual([[5, null]]);
});

test('what a book may write: columns of credit and debit, reversed signs, lists of columns, lines above the names', async () => {
  const mapping = `
merchant: M1
format: csv
delimiter: ";"
header: 3
currency: EUR
sign: reversed
dates: DD.MM.YYYY HH:mm
columns: {number: [no, part], booked: [day, time], credit: in, debit: out, type: kind, text: [a, b]}
`;
  const text = [
    'Statement of Ada',
    ';;',
    'no;part;day;time;in;out;kind;a;b',
    '1;a;31.03.2026;23:30;5;;sale;5" pipe;x',
    '1;b;31.03.2026;23:30;0.00;7;;;y',
    '2;;31.03.2026;23:30;;-3;;"u\nv";;;',
    '3;;31.03.2026;23:30;0;0;;;',
    '4;;31.03.2026;23:30;1;2;;;',
    '5;;31.03.2026;23:30;;;;;',
    '6;;31.03.1989;23:30;1;;;;',
    '7;;31.03.2026;23:30;1;;;;;x',
    `${'7'.repeat(200)};;31.03.2026;23:30;0;;;;`,
    `${'8'.repeat(201)};;31.03.2026;23:30;1;;;;`,
  ].join('\r\n');
  expect(await imported(text, { mapping })).toMatchObject({ added: 5, unreadable: 5, withdrawn: 0 });
  expect(
    await rowsOf(
      database.db,
    )`SELECT number, amount, booked_at AS at, type, note FROM book_entry WHERE length(number) < 9 ORDER BY number`,
  ).toEqual([
    { number: '1/a', amount: '-5', at: new Date('2026-03-31T15:30:00Z'), type: 'sale', note: '5" pipe x' },
    { number: '1/b', amount: '7', at: new Date('2026-03-31T15:30:00Z'), type: '', note: 'y' },
    { number: '2', amount: '-3', at: new Date('2026-03-31T15:30:00Z'), type: '', note: 'u\nv' },
    { number: '3', amount: '0', at: new Date('2026-03-31T15:30:00Z'), type: '', note: '' },
  ]);
  expect((await openRows()).map(({ line, reason }) => [line, reason])).toEqual([
    [9, 'it has both a credit and a debit.'],
    [10, 'credit and debit are empty.'],
    [11, 'the day is not between 1990-01-01 and 2099-12-31.'],
    [12, 'it has 10 cells, and the columns are 9.'],
    [14, 'its number has over 200 characters.'],
  ]);
  await expect(imported('no,day,day,currency,amount,ref\n1')).rejects.toThrow('has the column day twice');
  await expect(imported(THREE, { mapping: `${MAPPING}encoding: utf-9\n` })).rejects.toThrow(
    'stdin is not utf-9.',
  );
  await expect(imported(`${HEAD}\n1,2026-03-01,EUR,1,"${'B'.repeat(1_100_000)}`)).rejects.toThrow(
    'a cell has over 1048576 bytes',
  );
});
