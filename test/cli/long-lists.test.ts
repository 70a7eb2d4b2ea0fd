/**
 * With very many merchants a person sees totals and the first of each list; `--json` has everything.
 *
 * @module-tag long
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { merchantOf } from '../store/many-accounts.ts';
import { fillMerchants } from '../store/many-merchants.ts';
import { NOW } from '../store/support.ts';
import { freshDatabase, type ServerDatabase } from '../support/database.ts';
import { daybook, type Env } from './daybook.ts';

const MERCHANTS = 1_100;
/** Statements of so many days of each merchant, the last of them in two revisions. */
const DAYS = 2;
let database: ServerDatabase;
let folder: string;
let env: Env;
beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-lists-'));
  env = {
    PLATFORM_BASE_URL: 'http://127.0.0.1:9',
    PLATFORM_TIME_ZONE: 'UTC',
    DATABASE_URL: database.url,
    DAYBOOK_DATA_DIR: folder,
    DAYBOOK_NOW: NOW.toISOString(),
  };
  await fillMerchants(database.db, { merchants: MERCHANTS, troubled: true });
  await sql`
    INSERT INTO continuity_break (merchant_no, currency, day, before_batch_no, expected_balance, found_balance,
      missing_net, hint, begin_ms, end_ms, found_at, status, closed_at)
    SELECT merchant_no, 'USD', '2026-03-01', 'B', 0, 1, 1, 'unexplained', 1, 2, ${NOW}, 'healed', ${NOW}
    FROM merchant`.execute(database.db);
  await sql`
    INSERT INTO statement (merchant_no, currency, day, revision, supersedes, opening, credit_total, credit_count,
      debit_total, debit_count, closing, verdict, break_count, row_count, byte_count, sha256, object_key, published_at)
    SELECT merchant_no, 'USD', '2026-03-01'::date + day, revision, nullif(revision - 1, 0), 0, 1, 1, 0, 0, 1,
      'continuous', 0, 1, 1, repeat('0', 64), concat_ws('/', merchant_no, day, revision), ${NOW}
    FROM merchant CROSS JOIN generate_series(0, ${DAYS - 1}::int) AS day CROSS JOIN generate_series(1, 2) AS revision
    WHERE revision = 1 OR day = ${DAYS - 1}`.execute(database.db);
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

const listed = async (...args: string[]) => {
  const { stdout } = await daybook(args, env);
  return { stdout, rows: stdout.split('\n').filter((row) => /^M\d{4} (?!is not read)/.test(row)) };
};
const json = async (...args: string[]) => {
  const { stdout, code } = await daybook([...args, '--json'], env);
  return { code, stdout, items: JSON.parse(stdout) as { merchantNo: string }[] };
};

test('status shows totals and the first merchants that have something to say; --all and --merchant show the others', async () => {
  const { stdout, rows } = await listed('status', '--max-age', '26h');
  expect(stdout).toContain('1,100 merchants, ');
  expect(stdout).toContain(
    ' with something to say, 122 never read well, 122 older than 26h, 100 open breaks, 84 unreadable entries\n',
  );
  expect(rows).toHaveLength(20);
  expect(rows[0]).toMatch(/^M0001 /);
  // The fourth merchant is read through yesterday, and nothing of it is open.
  expect(rows.map((row) => row.split(' ')[0])).not.toContain(merchantOf(4));
  expect(stdout).toMatch(
    /\nand \d+ more with something to say: `--all` shows each merchant, `--merchant NO` one\n/,
  );
  expect((await listed('status', '--all')).rows).toHaveLength(MERCHANTS);
  const one = await listed('status', '--merchant', merchantOf(4));
  expect(one.rows).toEqual([expect.stringMatching(/^M0004 .* 2026-02-28 +2026-03-09 /)]);
  expect(await daybook(['status', '--merchant', 'nobody'], env)).toMatchObject({ code: 2 });
});

test('status --json has every merchant in one document, and ends as for a person', async () => {
  const { code, stdout, items } = await json('status', '--max-age', '26h');
  expect(code).toBe(4);
  expect(items.map(({ merchantNo }) => merchantNo)).toEqual(
    Array.from({ length: MERCHANTS }, (_, n) => merchantOf(n + 1)),
  );
  expect(stdout).toBe(`${JSON.stringify(items, null, 2)}\n`);
  expect((await json('status', '--merchant', merchantOf(4))).items).toHaveLength(1);
});

/** Reads a list page by page, as its last line says. */
async function everyPage(args: readonly string[]): Promise<string[]> {
  const pages: string[] = [];
  let after: readonly string[] = [];
  for (let page = 0; page < 10; page += 1) {
    const { stdout } = await daybook([...args, ...after], env);
    pages.push(stdout);
    const next = /more: add --after (?:'(.+)'|(\S+))$/m.exec(stdout);
    if (next === null) return pages;
    after = ['--after', (next[1] ?? next[2])!];
  }
  throw new Error('the pages have no end');
}

test('a list is read page by page, and no row is lost or twice', async () => {
  const numbers = (pages: readonly string[], row: RegExp) => pages.flatMap((text) => text.match(row) ?? []);
  const merchants = Array.from({ length: MERCHANTS }, (_, n) => merchantOf(n + 1));
  const listed = await everyPage(['merchants', 'list', '--limit', '400']);
  expect(listed).toHaveLength(3);
  expect(numbers(listed, /^M\d{4}/gm)).toEqual(merchants);
  const statuses = await everyPage(['status', '--limit', '500', '--all', '--max-age', '26h']);
  expect(numbers(statuses, /^M\d{4}(?=  )/gm)).toEqual(merchants);
  const breaks = await everyPage(['breaks', '--all', '--limit', '450']);
  expect(breaks).toHaveLength(3);
  expect(new Set(numbers(breaks, /break \d+/g)).size).toBe(1_200);
  const statements = await everyPage(['statements', 'list', '--limit', '1000']);
  expect(numbers(statements, /^M\d{4} {5}\S+ {2}USD/gm).length).toBe(2 * MERCHANTS);
  expect(new Set(numbers(statements, /^M\d{4} {5}\S+ {2}USD/gm)).size).toBe(2 * MERCHANTS);
});

test('a wrong place, number of rows or filter is named', async () => {
  for (const [args, text] of [
    [['merchants', 'list', '--limit', '0'], '--limit 0 is no number of rows'],
    [['merchants', 'list', '--status', 'new'], '--status new is none of a merchant'],
    [['breaks', '--after', 'x'], '--after x is no number of a break'],
    [['statements', 'list', '--after', 'M1'], "--after 'M1' is no place of the list"],
  ] as const) {
    const { code, stderr } = await daybook([...args], env);
    expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
  }
});

test('lists end after a thousand items and say how to see the rest', async () => {
  const merchants = await listed('merchants', 'list');
  expect(merchants.rows).toHaveLength(1_000);
  expect(merchants.stdout).toContain('\n1,000 merchants shown, and there are more: add --after M1000\n');
  expect((await listed('merchants', 'list', '--all')).rows).toHaveLength(MERCHANTS);
  expect((await json('merchants', 'list')).items).toHaveLength(MERCHANTS);

  const breaks = await daybook(['breaks', '--all'], env);
  expect(breaks.stdout).toMatch(/^1,000 breaks\n/);
  expect(breaks.stdout).toContain('\n1,000 breaks shown, and there are more: add --after ');
  expect((await json('breaks', '--all')).items).toHaveLength(1_200);
});

test('a list of statements that is cut has whole account days, each with its current revision', async () => {
  const { stdout, rows } = await listed('statements', 'list');
  expect(stdout).toContain("\n667 statements shown, and there are more: add --after 'M0334 2026-03-01 USD'");
  // Three revisions a merchant are two current statements; the 334th merchant is cut between its days.
  expect(rows).toHaveLength(333 * 2 + 1);
  expect(rows.at(-1)).toMatch(/^M0334 {5}2026-03-01 {2}USD/);
  expect(rows.filter((row) => /2026-03-02 {2}USD +1 /.test(row))).toEqual([]);
  expect((await json('statements', 'list')).items).toHaveLength(MERCHANTS * DAYS);
});
