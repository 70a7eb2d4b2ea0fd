/** A night that publishes a second format, and downloads in formats that were published and that were not. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readXlsx } from 'hucre/xlsx';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { StatementRow } from '../../../src/store/statements/statements.ts';
import { pagesOf, textOf } from '../../support/read-pdf.ts';
import { FROM, MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';
import { daybook, envOf, type Env } from '../../cli/daybook.ts';

const { merchantNo } = MERCHANT;
const NAME = `${merchantNo}_USD_${FROM}.r1`;
let stage: Stage;
let env: Env;
let folder: string;
let published: string;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 10 }) });
  env = { ...envOf(stage), DAYBOOK_STATEMENT_FORMATS: 'csv,xlsx' };
  expect((await daybook(['run', '--from', FROM, '--to', FROM], env)).code).toBe(0);
  folder = await mkdtemp(join(tmpdir(), 'daybook-formats-'));
  const store = fileURLToPath(stage.app.settings.statementsUrl);
  published = join(store, `merchant=${merchantNo}`, `date=${FROM}`);
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

const get = (format: string, ...flags: string[]) =>
  daybook(
    ['statements', 'get', '--merchant', merchantNo, '--currency', 'USD', '--format', format, ...flags],
    env,
  );

it('a format that was published is downloaded as published, with the manifest that names it', async () => {
  const out = join(folder, 'published');
  const { code, stdout } = await get('xlsx', '--day', FROM, '--out', out);
  expect([code, stdout]).toEqual([0, `${join(out, `${NAME}.xlsx`)}\n`]);
  expect((await readdir(out)).sort()).toEqual([`${merchantNo}_USD_${FROM}.manifest.json`, `${NAME}.xlsx`]);
  const bytes = await readFile(join(out, `${NAME}.xlsx`));
  expect(bytes).toEqual(await readFile(join(published, `${NAME}.xlsx`)));
  const { sheets } = await readXlsx(bytes);
  const csv = (await readFile(join(published, `${NAME}.csv`), 'utf8')).split('\r\n').slice(0, -1);
  expect(sheets[1]!.rows.map(([batchNo]) => batchNo)).toEqual(csv.map((line) => line.split(',')[0]));
  const verified = await daybook(['verify', out], {});
  expect(verified.code).toBe(0);
});

it('a format that was not published is made from the CSV, and says so', async () => {
  const out = join(folder, 'made');
  const { code, stdout } = await get('camt053', '--day', FROM, '--out', out);
  expect([code, stdout.replaceAll(/\s+/g, ' ')]).toEqual([
    0,
    `${join(out, `${NAME}.camt053.xml`)} made now from the published CSV: this revision was not published as camt053, ` +
      'and no manifest names the file ',
  ]);
  expect(await readdir(out)).toEqual([`${NAME}.camt053.xml`]);
  const { stdout: document } = await get('mt940', '--day', FROM, '--out', out, '--json');
  expect(JSON.parse(document)).toMatchObject({ revision: 1, isPublished: false });
  const printed = await get('mt940', '--day', FROM, '--stdout');
  expect(printed.stdout).toBe(await readFile(join(out, `${NAME}.mt940`), 'utf8'));
  expect(printed.stderr).toContain('made now from the published CSV');
});

it('a month of a format has each day’s file, made or published; the manifest is beside a published one', async () => {
  for (const [format, files] of [
    ['xlsx', 2],
    ['mt940', 1],
  ] as const) {
    const { code, stdout } = await get(
      format,
      '--month',
      FROM.slice(0, 7),
      '--out',
      join(folder, `${format}.zip`),
      '--json',
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ files });
  }
});

it('a month in PDF begins with its overview, which has the hash of each day', async () => {
  const out = join(folder, 'month-in-pdf.zip');
  const { code, stdout } = await get('pdf', '--month', FROM.slice(0, 7), '--out', out, '--json');
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ files: 2 })]);
  const into = join(folder, 'month-in-pdf');
  await promisify(execFile)('python3', ['-m', 'zipfile', '-e', out, into]);
  const overview = `month-${FROM.slice(0, 7)}-${merchantNo}.pdf`;
  expect((await readdir(into)).sort()).toEqual([
    ...[`merchant=${merchantNo}`, overview, `month-${FROM.slice(0, 7)}.csv`],
  ]);
  const text = textOf(await pagesOf(await readFile(join(into, overview))));
  const { stdout: listed } = await daybook(['statements', 'list', '--json'], env);
  const usd = (JSON.parse(listed) as StatementRow[]).find(({ currency }) => currency === 'USD')!;
  expect(text).toContain('Accounts | USD, as asked for; there may be others');
  expect(text).toContain(`SHA-256 ${usd.sha256}`);
  const day = await readFile(join(into, `merchant=${merchantNo}`, `date=${FROM}`, `${NAME}.pdf`));
  const page = textOf(await pagesOf(day));
  for (const [label, amount] of [
    ['Opening balance', usd.opening],
    [`Credits | ${usd.credit_count}`, usd.credit_total],
    [`Debits | ${usd.debit_count}`, usd.debit_total],
    ['Closing balance', usd.closing],
  ])
    expect(page.replaceAll(',', '')).toContain(`${label!} | ${amount!}`);
  expect(page).toContain(`SHA-256 of the CSV | ${usd.sha256}`);
});

it('where the CSV is not the one published, nothing is made', async () => {
  const csv = join(published, `${NAME}.csv`);
  const text = await readFile(csv, 'utf8');
  await writeFile(csv, text.replace('USD', 'USX'));
  const out = join(folder, 'damaged');
  for (const format of ['camt053', 'mt940']) {
    const { code, stderr } = await get(format, '--day', FROM, '--out', out);
    expect([code, stderr]).toEqual([
      4,
      expect.stringContaining('does not hold the bytes that were published'),
    ]);
  }
  expect(await readdir(out)).toEqual([]);
  await writeFile(csv, text);
});

it('a format that nobody knows is told', async () => {
  const run = ['run', '--from', FROM, '--to', FROM];
  const { code, stderr } = await daybook(run, { ...env, DAYBOOK_STATEMENT_FORMATS: 'csv,docx' });
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('DAYBOOK_STATEMENT_FORMATS must be a list of csv, xlsx, camt053, mt940, pdf'),
  ]);
});
