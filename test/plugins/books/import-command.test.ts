import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { sql } from 'kysely';
import { writeXlsx } from 'hucre/xlsx';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { rowsOf } from '../../../src/store/engine/database.ts';
import { daybook, type Env } from '../../cli/daybook.ts';
import { emptyTables, freshDatabase, type ServerDatabase } from '../../support/database.ts';

const COLUMNS = 'columns: {number: no, booked: day, currency: currency, amount: amount, reference: ref}';
let database: ServerDatabase;
let folder: string;
let env: Env;
beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-books-'));
  env = {
    ...{ PLATFORM_BASE_URL: 'https://platform.example', PLATFORM_TIME_ZONE: 'Asia/Shanghai' },
    ...{ PLATFORM_MERCHANT_NO: 'M1', PLATFORM_TOKEN: 'token' },
    ...{ DATABASE_URL: database.url, DAYBOOK_DATA_DIR: folder, DAYBOOK_BOOKS_ERP_URL: database.url },
  };
});
beforeEach(() => emptyTables(database.db));
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

const written = async (name: string, content: string | Uint8Array): Promise<string> => {
  await writeFile(join(folder, name), content);
  return join(folder, name);
};
const run = (args: readonly string[]) => daybook(['books', ...args], env);
const mapOf = (text: string) => written('map.yaml', `merchant: M1\n${text}\n`);
const entries = () =>
  rowsOf(database.db)<Record<string, unknown>>`
    SELECT number, day, booked_at AS at, currency, amount, reference_keys AS keys FROM book_entry ORDER BY number`;

test('a CSV file: imported, listed, and what cannot be read is shown until it is read', async () => {
  const map = await mapOf(`format: csv\n${COLUMNS}`);
  const head = 'no,day,currency,amount,ref\n1,2026-03-01,EUR,10,B1\n';
  const file = await written('erp.csv', `${head}2,2026-03-02,EUR,ten,\n`);
  const first = await run(['import', file, '--map', map, '--by', 'Ada']);
  expect(first).toMatchObject({ code: 3, stderr: '' });
  expect(first.stdout).toContain('for the book books of M1: 1 added, 1 unreadable');
  expect(first.stdout).toContain('line 3: the amount is no amount.');
  const unreadable = await run(['unreadable', '--json']);
  expect(JSON.parse(unreadable.stdout)).toMatchObject([
    { import: 1, line: 3, number: '2', raw: '2,2026-03-02,EUR,ten,', answeredBy: null },
  ]);
  await written('erp.csv', `${head}2,2026-03-02,EUR,10.5,\n`);
  expect(await run(['import', file, '--map', map, '--json'])).toMatchObject({ code: 0 });
  expect((await run(['unreadable'])).stdout).toBe('no row is unreadable\n');
  expect(JSON.parse((await run(['unreadable', '--all', '--json'])).stdout)).toMatchObject([
    { answeredBy: 2 },
  ]);
  expect(JSON.parse((await run(['list', '--json'])).stdout)).toMatchObject([
    { import: 2, added: 1, unreadable: 0, open: 0 },
    { import: 1, added: 1, unreadable: 1, open: 0, by: 'Ada' },
  ]);
  expect((await run(['list', '--limit', '1'])).stdout).toContain('add --after 2');
});

test('a workbook: dates, numbers without noise, texts, another sheet', async () => {
  const rows = [
    ['no', 'day', 'currency', 'amount', 'ref'],
    [10001, new Date('2026-03-31T00:00:00Z'), 'EUR', 0.1 + 0.2, 'B1'],
    ['A2', new Date('2026-03-31T18:30:00Z'), 'EUR', -12.5, null],
    ['A3', '2026-03-31', 'EUR', '123456789012345678.91', 'B2;B3'],
    ['A4', '2026-03-31', 'EUR', 1234567890123456, null],
  ];
  const file = await written(
    'book.xlsx',
    await writeXlsx({
      sheets: [
        { name: 'Notes', rows: [['x']] },
        { name: 'Orders', rows },
      ],
    }),
  );
  const map = await mapOf(`format: xlsx\nsheet: Orders\nzone: Europe/Berlin\n${COLUMNS}`);
  expect(await run(['import', file, '--map', map])).toMatchObject({ code: 3, stderr: '' });
  expect(await entries()).toEqual([
    { number: '10001', day: '2026-03-31', at: null, currency: 'EUR', amount: '0.3', keys: ['B1'] },
    {
      number: 'A2',
      day: '2026-04-01',
      at: new Date('2026-03-31T16:30:00Z'),
      currency: 'EUR',
      amount: '-12.5',
      keys: [],
    },
    {
      number: 'A3',
      day: '2026-03-31',
      at: null,
      currency: 'EUR',
      amount: '123456789012345678.91',
      keys: ['B2', 'B3'],
    },
  ]);
  const wrong = await run(['import', await written('no.xlsx', 'no workbook'), '--map', map]);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be read as a workbook') });
  const other = await run(['import', file, '--map', await mapOf(`format: xlsx\nsheet: Missing\n${COLUMNS}`)]);
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('no rows in a sheet Missing') });
});

test('a query: exact amounts, instants, and nothing but reading', async () => {
  await sql`CREATE TABLE IF NOT EXISTS erp_order (no int, day timestamptz, currency text, amount numeric, ref text)`.execute(
    database.db,
  );
  await sql`TRUNCATE erp_order`.execute(database.db);
  await sql`INSERT INTO erp_order SELECT n, '2026-03-31T18:30:00Z', 'EUR', n + 0.1, 'B' || n FROM generate_series(1, 6000) AS n`.execute(
    database.db,
  );
  const query = (text: string) =>
    mapOf(`format: query\nconnectionEnv: DAYBOOK_BOOKS_ERP_URL\nquery: ${text}\n${COLUMNS}`);
  const done = await run(['import', '--map', await query('SELECT * FROM erp_order'), '--json']);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(done.stdout)).toMatchObject({ source: 'the query', added: 6000, firstDay: '2026-04-01' });
  expect((await entries())[0]).toMatchObject({
    number: '1',
    amount: '1.1',
    at: new Date('2026-03-31T18:30:00Z'),
  });
  for (const text of [
    'DELETE FROM erp_order RETURNING *',
    '"SELECT 1; COMMIT; DELETE FROM erp_order"',
    'SELECT * FROM nowhere',
  ])
    expect(await run(['import', '--map', await query(text)]), text).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^daybook: the query failed: .*Nothing was stored\.\n$/),
    });
  expect(await rowsOf(database.db)`SELECT count(*)::int AS rows FROM erp_order`).toEqual([{ rows: 6000 }]);
  env = { ...env, DAYBOOK_BOOKS_ERP_URL: 'postgres://ada:opensesame@127.0.0.1:1/erp' };
  const lost = await run(['import', '--map', await query('SELECT 1')]);
  expect(lost).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('cannot be reached (ECONNREFUSED)'),
  });
  expect(lost.stderr).not.toContain('opensesame');
  env = { ...env, DAYBOOK_BOOKS_ERP_URL: database.url };
  await sql`DROP TABLE erp_order`.execute(database.db);
});

test.each([
  'DATABASE_URL',
  'PGPASSWORD',
  'PLATFORM_TOKEN',
  'DAYBOOK_BOOKS_URL',
  'DAYBOOK_BOOKS_TOKEN',
  'ERP_URL',
])('a mapping cannot name %s as the address of a book: it belongs to others', async (name) => {
  const given = { ...env, [name]: env[name] ?? 'postgres://ada:opensesame@127.0.0.1:1/erp' };
  const map = await mapOf(`format: query\nconnectionEnv: ${name}\nquery: SELECT 1\n${COLUMNS}`);
  const refused = await daybook(['books', 'import', '--map', map], given);
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/connectionEnv[^]*DAYBOOK_BOOKS_ERP_URL/),
  });
  expect(refused.stderr).not.toMatch(/opensesame|cannot be reached/);
});

test('what is missing or unknown is said before anything is read', async () => {
  const map = await mapOf(`format: csv\n${COLUMNS}`);
  expect(await run(['import', join(folder, 'nowhere.csv'), '--map', map])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/nowhere\.csv cannot be read \(ENOENT\)/),
  });
  expect(await run(['import', '--map', map])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('name the file'),
  });
  const other = await written('other.yaml', `merchant: M9\nformat: csv\n${COLUMNS}\n`);
  expect(await run(['import', map, '--map', other])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('merchant M9 is not known'),
  });
  expect(await run(['unreadable', '--after', '7'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('IMPORT:LINE'),
  });
});

test('stdin, from a process of its own', async () => {
  const map = await mapOf(`format: csv\ndelimiter: "\\t"\n${COLUMNS}`);
  const main = new URL('../../../src/main.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [main, 'books', 'import', '-', '--map', map], {
    env: { PATH: process.env['PATH'], ...env },
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  child.stdin.end('no\tday\tcurrency\tamount\tref\r\n1\t2026-03-01\tEUR\t10\tB1\r\n');
  expect(await ended).toBe(0);
  expect(await entries()).toHaveLength(1);
});
