/** A merchant's month as a workbook: as LibreOffice opens it, every figure is that of the published CSVs. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'csv-parse/sync';
import { readXlsx } from 'hucre/xlsx';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addAmounts, compareAmounts, subtractAmounts } from '../../../src/ledger/money.ts';
import type { StatementRow } from '../../../src/store/statements/statements.ts';
import { daybook, envOf, type Env } from '../../cli/daybook.ts';
import { DAYS, FROM, MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';
import { showPages } from '../pages/support.ts';

const isInstalled = spawnSync('soffice', ['--version']).status === 0;
if (!isInstalled && process.env['DAYBOOK_TEST_LIBREOFFICE'] === 'required')
  throw new Error('LibreOffice is not installed, and DAYBOOK_TEST_LIBREOFFICE requires it');
/** Comma, quote, UTF-8, from the first line, cells as they are shown, every sheet into a file of its own. */
const AS_CSV = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,true,false,false,-1';
const START_MAX_MS = 120_000;

const { merchantNo } = MERCHANT;
const MONTH = '2026-03';
const NAME = `month-${MONTH}-${merchantNo}.xlsx`;
let stage: Stage;
let env: Env;
let folder: string;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 8 }) });
  env = envOf(stage);
  folder = await mkdtemp(join(tmpdir(), 'daybook-workbook-'));
  const own = stage.sandbox.entriesOf(merchantNo).filter(({ currency }) => currency === 'USD');
  const ofDay = (day: string) => own.filter(({ busiDate }) => busiDate.startsWith(day));
  for (const day of [DAYS[1]!, DAYS[2]!]) stage.sandbox.takeOut(merchantNo, ofDay(day)[3]!.batchNo);
  await stage.run();
  stage.sandbox.amend(merchantNo, ofDay(FROM)[0]!.batchNo, { busiType: 'CHANGED' });
  await stage.run();
  const breaks = await listed<{ id: number; day: string }>('breaks', 'list');
  const second = breaks.find(({ day }) => day === DAYS[2])!;
  const resolved = await daybook(
    ['breaks', 'resolve', String(second.id), '--note', '=fee, "case" 4711', '--by', 'Ada'],
    env,
  );
  expect(resolved.code).toBe(0);
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

async function listed<Row>(...command: string[]): Promise<Row[]> {
  const { stdout } = await daybook([...command, '--json'], env);
  return JSON.parse(stdout) as Row[];
}

const get = (...flags: string[]) =>
  daybook(['statements', 'get', '--month', MONTH, '--format', 'workbook', '--out', folder, ...flags], env);

/** Rows by the names of their header; amounts without commas between thousands. */
const named = ([head, ...rows]: readonly string[][]) =>
  rows.map((cells) =>
    Object.fromEntries(
      cells.map((cell, at) => [
        head![at]!,
        /^-?[\d,]+(\.\d+)?$/.test(cell) ? cell.replaceAll(',', '') : cell,
      ]),
    ),
  );

describe.skipIf(!isInstalled)('with LibreOffice', () => {
  it('every sheet has the figures of the CSVs', { timeout: START_MAX_MS, tags: ['long'] }, async () => {
    const { code, stdout } = await get('--merchant', merchantNo);
    expect([code, stdout]).toEqual([0, expect.stringContaining(join(folder, NAME))]);
    const profile = `-env:UserInstallation=${pathToFileURL(join(folder, 'profile')).href}`;
    const flags = [profile, '--headless', '--convert-to', AS_CSV, '--outdir', folder, join(folder, NAME)];
    await promisify(execFile)('soffice', flags, { env: { ...process.env, LC_ALL: 'C.UTF-8' } });
    const sheet = async (name: string) =>
      parse(await readFile(join(folder, NAME.replace('.xlsx', `-${name}.csv`)), 'utf8'), {
        relax_column_count: true,
      });
    const shown = async (name: string) => named(await sheet(name));

    const csvs = async (currency: string): Promise<string[][]> => {
      const flagsOf = ['--currency', currency, '--merchant', merchantNo, '--format', 'csv', '--stdout'];
      const { stdout: text } = await daybook(['statements', 'get', '--month', MONTH, ...flagsOf], env);
      return parse(text);
    };
    for (const currency of ['KWD', 'USD']) expect(await shown(currency)).toEqual(named(await csvs(currency)));

    const rows = await listed<StatementRow>('statements', 'list');
    const overview = await shown('Overview');
    for (const currency of ['KWD', 'USD']) {
      const own = rows.filter((row) => row.currency === currency).sort((a, b) => (a.day < b.day ? -1 : 1));
      const sum = (of: (row: StatementRow) => string) =>
        own.reduce((all, row) => addAmounts(all, of(row)), '0');
      const credits = sum((row) => row.credit_total);
      const debits = sum((row) => row.debit_total);
      const expected = subtractAmounts(addAmounts(own[0]!.opening, credits), debits);
      const found = overview.find((row) => row['currency'] === currency)!;
      const wanted = {
        ...{
          opening: own[0]!.opening,
          credit_total: credits,
          debit_total: debits,
          expected_closing: expected,
        },
        ...{ closing: own.at(-1)!.closing, missing_net: subtractAmounts(own.at(-1)!.closing, expected) },
      };
      for (const [name, amount] of Object.entries(wanted))
        expect(compareAmounts(found[name]!, amount), `${currency} ${name} ${found[name]!} ${amount}`).toBe(0);
      expect(found).toMatchObject({ days_published: '4', days: '31' });
    }
    const breaks = await listed<{ id: number; day: string; missing_net: string; status: string }>(
      ...['breaks', 'list', '--all'],
    );
    expect(
      (await shown('Breaks')).map((row) => [
        row['break'],
        row['day'],
        row['amount'],
        row['status'],
        row['note'],
      ]),
    ).toEqual(
      breaks.map(({ id, day, missing_net, status }) => [
        ...[String(id), day, missing_net, status],
        status === 'resolved' ? '=fee, "case" 4711' : '',
      ]),
    );
    const usd = overview.find((row) => row['currency'] === 'USD')!;
    const net = (status: string) => breaks.find((one) => one.status === status)!.missing_net;
    expect([usd['explained_net'], usd['unexplained_difference'], usd['open_breaks']]).toEqual([
      ...[net('resolved'), net('open'), '1'],
    ]);
    expect(usd['verified_through']).toBe(FROM);
    expect(await shown('Changes')).toEqual([
      expect.objectContaining({
        ...{ currency: 'USD', day: FROM, revision: '2' },
        ...{ entries_added: '0', entries_removed: '0', entries_changed: '1' },
      }),
    ]);
  });
});

it('has these sheets, of the chosen accounts alone, with numbers as numbers and nothing computed', async () => {
  const { stdout } = await get('--merchant', merchantNo, '--currency', 'USD', '--json');
  const { path, accounts } = JSON.parse(stdout) as { path: string; accounts: { currency: string }[] };
  expect(accounts.map(({ currency }) => currency)).toEqual(['USD']);
  const { sheets } = await readXlsx(await readFile(path));
  expect(sheets.map(({ name }) => name)).toEqual(['Overview', 'USD', 'Breaks', 'Changes']);
  const [overview, , breaks] = sheets;
  expect(typeof overview!.rows[1]![1]).toBe('number');
  expect(breaks!.rows.map((row) => row.at(-1))).toContain('=fee, "case" 4711');
});

it('where the file of an earlier revision is gone, its counts say so; where a current one is gone, there is no workbook', async () => {
  const store = join(stage.app.settings.dataDir, 'statements', `merchant=${merchantNo}`, `date=${FROM}`);
  const pathOf = (revision: number) => join(store, `${merchantNo}_USD_${FROM}.r${revision}.csv`);
  const [first, second] = [await readFile(pathOf(1)), await readFile(pathOf(2))];
  await writeFile(pathOf(1), 'altered');
  const { code, stdout } = await get('--merchant', merchantNo, '--json');
  expect(code).toBe(0);
  const { sheets } = await readXlsx(await readFile((JSON.parse(stdout) as { path: string }).path));
  expect(sheets.at(-1)!.rows[1]!.slice(-3)).toEqual(['not readable', 'not readable', 'not readable']);
  await writeFile(pathOf(1), first);
  await writeFile(pathOf(2), 'altered');
  const out = join(folder, 'damaged');
  const ended = await get('--merchant', merchantNo, '--out', out);
  await writeFile(pathOf(2), second);
  expect([ended.code, ended.stderr]).toEqual([4, expect.stringContaining('does not hold the bytes')]);
});

it.each([
  [['--month', MONTH], 'a workbook is of one merchant: say which with --merchant NO'],
  [['--month', MONTH, '--merchant', merchantNo, '--revision', '1'], 'leave --revision'],
  [['--month', '2026-02', '--merchant', merchantNo], 'nothing was published of 2026-02'],
  [
    ['--day', FROM, '--merchant', merchantNo, '--currency', 'USD'],
    'a workbook is of a month: give --month YYYY-MM',
  ],
  [
    ['--month', MONTH, '--merchant', merchantNo, '--since', 'close:1'],
    'changes since close:1 cannot be written as workbook',
  ],
])('%j is refused in plain words', async (flags, problem) => {
  const { code, stdout, stderr } = await daybook(
    ['statements', 'get', '--format', 'workbook', ...flags],
    env,
  );
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(problem);
});

it('is in the download menu of the month’s page, and recorded as the download of its statements', async () => {
  const pages = await showPages(stage);
  try {
    const html = await pages.html(`/m/${merchantNo}/${MONTH}`);
    const link = /href="(\/download\/[^"]+\.xlsx)"/.exec(html)![1]!;
    const answer = await pages.get(link);
    expect(answer.headers.get('content-disposition')).toContain(`"${NAME}"`);
    const { sheets } = await readXlsx(Buffer.from(await answer.arrayBuffer()));
    expect(sheets.map(({ name }) => name)).toEqual(['Overview', 'KWD', 'USD', 'Breaks', 'Changes']);
    const [last] = (await listed<{ subject: string; note: string }>('audit')).slice(0, 1);
    expect(last).toMatchObject({ subject: `${MONTH} ${merchantNo}`, note: 'as workbook' });
    expect((await pages.get(`/download/${merchantNo}/2026-02.xlsx`)).status).toBe(404);
  } finally {
    await pages.close();
  }
});
