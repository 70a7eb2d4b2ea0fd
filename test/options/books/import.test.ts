import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { importBook, type ImportReport } from '../../../src/options/books/import/import.ts';
import { readMapping } from '../../../src/options/books/import/mapping.ts';
import { openSource } from '../../../src/options/books/import/sources.ts';
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
}

/** Imports rows below `HEAD`, or a text that has its own. */
const imported = (
  rows: readonly string[] | string,
  { mapping = MAPPING, from, to, isDryRun = false }: Given = {},
): Promise<ImportReport> => {
  const text = typeof rows === 'string' ? rows : [HEAD, ...rows, ''].join('\n');
  const read = readMapping(mapping, 'map.yaml');
  const stdin = Readable.from([Buffer.from(text)]);
  return importBook(database.db, {
    ...{ mapping: read, from, to, isDryRun, now: () => NOW, signal: new AbortController().signal },
    source: openSource(read, { path: '-', env: {}, stdin, isInsecureAllowed: false }),
    zones: { own: read.zone ?? 'Asia/Shanghai', platform: 'Asia/Shanghai' },
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
