/** A month as one ZIP: everything published in it, a summary whose sums are right, and the days that are still open. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLines } from '../../src/cli/statements-of-month.ts';
import { addAmounts, compareAmounts, subtractAmounts } from '../../src/ledger/money.ts';
import { monthCsv, monthOf } from '../../src/months/month.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import type { StatementRow } from '../../src/store/statements/statements.ts';
import { DAYS, FROM, MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

const { merchantNo } = MERCHANT;
let stage: Stage;
let env: Env;
let folder: string;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 10 }) });
  await stage.run();
  const entry = stage.sandbox.entriesOf(merchantNo).find(({ currency }) => currency === 'USD')!;
  stage.sandbox.amend(merchantNo, entry.batchNo, { busiType: 'CHANGED' });
  await stage.run();
  env = envOf(stage);
  folder = await mkdtemp(join(tmpdir(), 'daybook-month-'));
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

/** The folder into which another program has unpacked the ZIP. */
async function unpacked(zip: string): Promise<string> {
  const into = await mkdtemp(join(folder, 'unpacked-'));
  await promisify(execFile)('python3', ['-m', 'zipfile', '-e', zip, into]);
  return into;
}
const get = (...flags: string[]) => daybook(['statements', 'get', ...flags], env);
const summaryIn = async (into: string): Promise<Record<string, string>[]> => {
  const [header, ...lines] = (await readFile(join(into, 'month-2026-03.csv'), 'utf8'))
    .trimEnd()
    .split('\r\n');
  const names = header!.split(',');
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, at) => [names[at]!, cell])));
};

describe('statements get --month', () => {
  it('holds every current statement, summary and manifest of the month, as `verify` needs them', async () => {
    const { code, stdout } = await get('--month', '2026-03', '--out', folder);
    expect(code).toBe(0);
    const zip = join(folder, 'statements-2026-03.zip');
    expect(stdout).toContain(zip);
    const into = await unpacked(zip);
    const report = await verifyPaths([into]);
    expect(report.problems).toEqual([]);
    expect(report.manifests).toBe(DAYS.length);
    const day = await readdir(join(into, `merchant=${merchantNo}`, `date=${FROM}`));
    expect(day.sort()).toEqual([
      `${merchantNo}_KWD_${FROM}.r1.csv`,
      `${merchantNo}_USD_${FROM}.r2.csv`,
      'manifest.json',
      'summary.r2.csv',
    ]);
  });

  it('adds up each account, so that opening + credits - debits is the closing, and names the days still open', async () => {
    const { stdout } = await get('--month', '2026-03', '--out', join(folder, 'summed.zip'), '--json');
    const { path } = JSON.parse(stdout) as { path: string };
    const rows = await summaryIn(await unpacked(path));
    expect(rows.map(({ merchant_no, currency, month }) => [merchant_no, currency, month])).toEqual([
      [merchantNo, 'KWD', '2026-03'],
      [merchantNo, 'USD', '2026-03'],
    ]);
    for (const row of rows) {
      const closing = subtractAmounts(addAmounts(row['opening']!, row['credit_total']!), row['debit_total']!);
      expect(compareAmounts(closing, row['closing']!)).toBe(0);
      expect(row).toMatchObject({
        days_published: '4',
        days_broken: '0',
        open_days: '2026-03-01 2026-03-06/2026-03-31',
      });
      expect(Number(row['credit_count']) + Number(row['debit_count'])).toBe(40);
    }
  });

  it('of one currency has each statement with its manifest, and `verify` accepts both', async () => {
    const out = join(folder, 'usd.zip');
    expect(
      await get('--month', '2026-03', '--currency', 'USD', '--merchant', merchantNo, '--out', out),
    ).toMatchObject({
      code: 0,
    });
    const into = await unpacked(out);
    const report = await verifyPaths([into]);
    expect(report.problems).toEqual([]);
    expect(report.files.map(({ currency }) => currency)).toEqual(DAYS.map(() => 'USD'));
  });

  it('if a file is not what was published, there is no ZIP', async () => {
    const key = `merchant=${merchantNo}/date=${FROM}/${merchantNo}_KWD_${FROM}.r1.csv`;
    const path = join(stage.app.settings.dataDir, 'statements', key);
    const before = await readFile(path);
    await writeFile(path, 'altered');
    const out = join(folder, 'damaged.zip');
    const { code, stderr } = await get('--month', '2026-03', '--out', out);
    await writeFile(path, before);
    expect(code).toBe(4);
    expect(stderr).toContain(`${key} does not hold the bytes that were published`);
    expect((await readdir(folder)).filter((name) => name.includes('damaged'))).toEqual([]);
  });

  it.each([
    [['--month', '2026-13'], '--month 2026-13 is no month; write it as YYYY-MM'],
    [['--month', '2026-04'], 'nothing was published of 2026-04'],
    [['--month', '2026-03', '--revision', '2'], 'leave --revision and --for-spreadsheet out'],
    [['--merchant', merchantNo, '--currency', 'USD'], 'give --day YYYY-MM-DD, or --month'],
    [['--day', FROM, '--currency', 'USD'], 'say which with --merchant NO'],
    [['--day', FROM, '--merchant', merchantNo], 'say which with --currency CCC'],
    [['--day', FROM, '--format', 'parquet'], 'Allowed choices are csv, spreadsheet'],
    [['--day', FROM, '--format', 'csv', '--for-spreadsheet'], 'cannot be used with option'],
  ])('%j is told', async (flags, said) => {
    const { code, stderr } = await get(...flags);
    expect(code).toBe(2);
    expect(stderr).toContain(said);
  });
});

it('a statement in another format has its name, and no manifest that would not name it', async () => {
  const out = join(folder, 'formats');
  const asked = ['--merchant', merchantNo, '--currency', 'USD', '--day', FROM];
  const name = `${merchantNo}_USD_${FROM}`;
  const [byFlag, byName] = [
    await get(...asked, '--out', out, '--for-spreadsheet', '--json'),
    await get(...asked, '--stdout', '--format', 'spreadsheet'),
  ];
  expect(JSON.parse(byFlag.stdout)).toMatchObject({ path: join(out, `${name}.r2.spreadsheet.csv`) });
  expect(await readdir(out)).toEqual([`${name}.r2.spreadsheet.csv`]);
  expect(byName.stdout).toBe(await readFile(join(out, `${name}.r2.spreadsheet.csv`), 'utf8'));
  await get(...asked, '--out', out);
  expect(await readdir(out)).toEqual([
    `${name}.manifest.json`,
    `${name}.r2.csv`,
    `${name}.r2.spreadsheet.csv`,
  ]);
});

it('of many accounts with open days the first twenty are named, and the others counted', () => {
  const open = Array.from({ length: 23 }, (_, n) => ({
    ...{ merchantNo: `M${n + 1}`, currency: 'USD', statements: [] },
    openDays: ['2026-03-01', '2026-03-06'].slice(n % 2),
  }));
  const said = openLines(open);
  expect(said).toHaveLength(21);
  expect(said.slice(0, 2)).toEqual([
    'still open: M1 USD 2 days, first 2026-03-01',
    'still open: M2 USD 1 day, first 2026-03-06',
  ]);
  expect(said.at(-1)).toBe('and 3 more accounts');
  expect(openLines(open.slice(0, 20)).at(-1)).toBe(false);
});

describe('a month’s line', () => {
  const row = (day: string, opening: string, closing: string, verdict = 'continuous') =>
    ({
      day,
      opening,
      closing,
      verdict,
      credit_total: '1.005',
      credit_count: 1,
      debit_total: '0',
      debit_count: 0,
      other_closings: '',
    }) as StatementRow;

  it('keeps every digit, counts broken days, and joins open days in a row', () => {
    const statements = [
      { ...row('2026-02-01', '1.00', '2.005'), unreadable_count: 2 },
      row('2026-02-02', '2.005', '3.01', 'broken'),
    ];
    const openDays = ['2026-02-03', '2026-02-05', '2026-02-06', '2026-02-28'];
    expect(
      monthCsv(monthOf('2026-02')!, [{ merchantNo: 'M,1', currency: 'USD', statements, openDays }]),
    ).toBe(
      'merchant_no,currency,month,opening,credit_total,credit_count,debit_total,debit_count,closing,days_published,' +
        'days_broken,open_days,closed,adjusted_days,days_unreadable,missing_net\r\n' +
        '"M,1",USD,2026-02,1.00,2.010,2,0,0,3.01,2,1,2026-02-03 2026-02-05/2026-02-06 2026-02-28,,,1,0.000\r\n',
    );
  });

  it.each([
    ['2024-02', '2024-02-29'],
    ['2026-12', '2026-12-31'],
    ['2026-04', '2026-04-30'],
  ])('%s ends on %s', (name, to) => {
    expect(monthOf(name)).toEqual({ name, from: `${name}-01`, to });
  });
});
