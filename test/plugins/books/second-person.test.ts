/** What of an import needs a second person, or a named start of the book, by command. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { daybook, type Env } from '../../cli/daybook.ts';
import { emptyTables, freshDatabase, type ServerDatabase } from '../../support/database.ts';
import { booksEnv, dayOf, MERCHANT_NO, writeLedger } from './random-books.ts';

let database: ServerDatabase;
let folder: string;
let env: Env;
let map: string;
beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-second-person-'));
  const own = { PLATFORM_MERCHANT_NO: MERCHANT_NO, PLATFORM_TOKEN: 'token', DAYBOOK_DATA_DIR: folder };
  env = { ...booksEnv(database.url), ...own, BOOKS_APPROVAL_ABOVE: '{"CNY":"1000"}' };
  const columns = 'columns: {number: no, booked: day, currency: currency, amount: amount, reference: ref}';
  map = join(folder, 'map.yaml');
  await writeFile(map, `merchant: ${MERCHANT_NO}\nformat: csv\n${columns}\n`);
});
beforeEach(() => emptyTables(database.db));
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

/** Imports rows, of which each is a number, a day from 1 March on, an amount and a reference. */
async function imported(by: string, rows: readonly string[], ...flags: readonly string[]) {
  const lines = rows.map((row) => {
    const [number, day, amount, reference = ''] = row.split(' ');
    return `${number},${dayOf(Number(day))},CNY,${amount},${reference}`;
  });
  const file = join(folder, 'erp.csv');
  await writeFile(file, ['no,day,currency,amount,ref', ...lines].join('\n'));
  return daybook(['books', 'import', file, '--map', map, '--by', by, ...flags], env);
}
const stored = async (): Promise<string[]> => {
  const rows = await database.db
    .selectFrom('book_entry')
    .select(['number', 'amount', 'withdrawn_import_id'])
    .orderBy('number')
    .execute();
  return rows.map(
    ({ number, amount, withdrawn_import_id: gone }) =>
      `${number} ${Number(amount)}${gone === null ? '' : ' withdrawn'}`,
  );
};
const waits = (reason: string) => ({ code: 3, stderr: expect.stringContaining(reason) as string });

test('a made-up counterpart above the limit is in no book before another person imports the same file', async () => {
  await writeLedger(database.db, [{ number: '77', day: 0, amount: '750000' }]);
  const rows = ['X1 0 750000 77'];
  expect(await imported('Ada', rows)).toMatchObject(
    waits('it adds 750,000 CNY in all, which is above the limit of 1,000 CNY'),
  );
  for (const name of ['Ada', 'ADA', 'Adа', 'ada@example.com'])
    expect(await imported(name, rows)).toMatchObject(waits('no one may approve their own decision'));
  expect(await stored()).toEqual([]);
  expect((await daybook(['books', 'list'], env)).stdout).toContain(
    'imported by Ada, waits for a second person',
  );
  expect(await imported('Grace', ['X1 0 750001 77'])).toMatchObject(waits('750,001'));
  expect(await imported('Ada', ['X1 0 750001 77'])).toMatchObject({ code: 0 });
  expect(await stored()).toEqual(['X1 750001']);
  expect((await daybook(['books', 'list'], env)).stdout).not.toContain('waits');
  const { stdout } = await daybook(['books', 'list', '--json'], env);
  expect(JSON.parse(stdout)).toMatchObject([{ by: 'Grace', added: 1 }]);
});

test.each([
  ['many small rows together', ['1 0 500', '2 0 -500', '3 0 1'], 'adds 1,001 CNY'],
  ['a row that is left out', ['2 1 5', '9 2 5'], 'withdraws 2,000 CNY'],
  ['a row that has another amount', ['1 0 1999', '2 1 5', '9 2 5'], 'adds 1,999 CNY'],
  ['a row that names another entry', ['1 0 2000 77', '2 1 5', '9 2 5'], 'adds 2,000 CNY'],
])('above the limit is %s', async (_, rows, reason) => {
  const first = ['1 0 2000', '2 1 5', '9 2 5'];
  if (reason !== 'adds 1,001 CNY') {
    expect((await imported('Ada', first)).code).toBe(3);
    expect((await imported('Grace', first)).code).toBe(0);
  }
  const before = await stored();
  const days = ['--from', dayOf(0), '--to', dayOf(2)];
  expect(await imported('Ada', rows, ...days)).toMatchObject(waits(reason));
  expect(await stored()).toEqual(before);
  expect((await imported('Grace', rows, ...days)).code).toBe(0);
});

test('up to the limit one person imports, and a dry run says that a second one is needed', async () => {
  expect((await imported('Ada', ['1 0 1000'])).code).toBe(0);
  expect((await imported('Ada', ['1 0 1000', '2 1 1000'])).code).toBe(0);
  const dry = await imported('Ada', ['1 0 1000', '2 1 1000', '3 1 1001'], '--dry-run');
  expect(dry).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('a second person has to import it') as string,
  });
});

test('one row of an earlier day does not move the start of the book unsaid', async () => {
  const early = Array.from({ length: 12 }, (_, nth) => ({ number: `E${nth}`, day: nth % 6, amount: '3' }));
  await writeLedger(database.db, early);
  const rows = ['1 6 1', '2 7 2'];
  expect((await imported('Ada', rows)).code).toBe(0);
  const wrong = ['0 0 9', ...rows];
  const refused = await imported('Ada', wrong);
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      `would move the start of the book from ${dayOf(6)} to ${dayOf(0)}, and 12 entries of the ledger before ${dayOf(6)}`,
    ) as string,
  });
  expect(refused.stderr).toContain(`--start ${dayOf(0)} or --start ${dayOf(6)}`);
  expect(await stored()).toEqual(['1 1', '2 2']);
  expect((await imported('Ada', wrong, '--start', dayOf(6))).code).toBe(0);
  await daybook(['books', 'match', '--merchant', MERCHANT_NO], env);
  expect((await daybook(['books', 'unmatched', '--side', 'ledger'], env)).stdout).toBe(
    'no unmatched entry\n',
  );
  const moved = await imported('Ada', wrong, '--start', dayOf(0));
  expect(moved.stdout).toContain(
    `the start of the book moves from ${dayOf(6)} to ${dayOf(0)}: 12 entries of the ledger`,
  );
});

test('a file that holds the earlier days moves the start, and says so', async () => {
  await writeLedger(database.db, [{ number: 'E1', day: 0, amount: '3' }]);
  expect((await imported('Ada', ['1 6 1'])).code).toBe(0);
  const moved = await imported('Ada', ['0 0 3', '1 6 1']);
  expect(moved).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`the start of the book moves from ${dayOf(6)} to ${dayOf(0)}`) as string,
  });
});
