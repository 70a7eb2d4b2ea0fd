/** A day with amounts finer than its currency: the night, the month's ZIP of the command and of the page, and the day alone. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manifestFileNextTo } from '../../../src/verify/names.ts';
import type { StatementRow } from '../../../src/store/statements/statements.ts';
import { showPages } from '../pages/support.ts';
import { MERCHANT, objectsOf, openStage, scenario, type Stage } from '../../support/stage.ts';
import { daybook, envOf, type Env } from '../../cli/daybook.ts';

const { merchantNo } = MERCHANT;
const DAY = '2026-03-04';
const NAME = `${merchantNo}_USD_${DAY}.r1`;
const KEY = `merchant=${merchantNo}/date=${DAY}/${NAME}.csv`;
let stage: Stage;
let env: Env;
let folder: string;
let batchNo: string;
let night: Awaited<ReturnType<typeof daybook>>;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 10 }) });
  const entry = stage.sandbox
    .entriesOf(merchantNo)
    .find(({ busiDate, currency }) => busiDate.startsWith(DAY) && currency === 'USD')!;
  batchNo = entry.batchNo;
  stage.sandbox.amend(
    merchantNo,
    batchNo,
    entry.inAmount === null ? { outAmount: '0.005' } : { inAmount: '0.005' },
  );
  env = { ...envOf(stage), DAYBOOK_STATEMENT_FORMATS: 'csv,mt940' };
  night = await daybook(['run', '--from', '2026-03-02', '--to', '2026-03-05'], env);
  folder = await mkdtemp(join(tmpdir(), 'daybook-unfit-'));
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

const whyIn = (format: string): string =>
  `the statement of ${merchantNo} in USD for ${DAY} cannot be written as ${format}: the amount 0.005 of entry ${batchNo} ` +
  'has more decimals than USD has, which are 2. Take the CSV, which holds every day.';
const plain = (text: string): string => text.replaceAll(/\s+/g, ' ');
/** Names of the files in a ZIP, and what its text says. */
async function unpacked(zip: string): Promise<{ names: string[]; text: string; csv: string }> {
  const into = await mkdtemp(join(folder, 'unpacked-'));
  await promisify(execFile)('python3', ['-m', 'zipfile', '-e', zip, into]);
  const all = await readdir(into, { recursive: true, withFileTypes: true });
  return {
    names: all.flatMap((one) => (one.isFile() ? [one.name] : [])).sort(),
    text: await readFile(join(into, 'month-2026-03-as-csv.txt'), 'utf8'),
    csv: await readFile(join(into, KEY), 'utf8'),
  };
}
/** MT940 is published, so that its files have manifests next to them. */
const namesIn = (extension: string): string[] =>
  [
    ...['2026-03-02', '2026-03-03', '2026-03-04', '2026-03-05'].flatMap((day) =>
      ['KWD', 'USD'].flatMap((currency) => {
        const name = `${merchantNo}_${currency}_${day}.r1`;
        const file = `${name}.${name === NAME ? 'csv' : extension}`;
        return name === NAME || extension === 'mt940' ? [file, manifestFileNextTo(file)] : [file];
      }),
    ),
    ...['month-2026-03-as-csv.txt', 'month-2026-03.csv'],
  ].sort();

describe('a day that does not fit a format', () => {
  it('is published as CSV in a night that makes the format, which goes on, names it, and ends with 3', async () => {
    expect([night.code, plain(night.stdout)]).toEqual([3, expect.stringContaining(whyIn('mt940'))]);
    const { stdout } = await daybook(['statements', 'list', '--json'], env);
    expect((JSON.parse(stdout) as StatementRow[]).filter(({ day }) => day >= '2026-03-02')).toHaveLength(8);
    const keys = [...(await objectsOf(stage)).keys()].filter((key) => key.includes(`date=${DAY}/`));
    expect(keys.map((key) => key.slice(key.lastIndexOf('/') + 1)).sort()).toEqual([
      `${merchantNo}_KWD_${DAY}.r1.csv`,
      `${merchantNo}_KWD_${DAY}.r1.mt940`,
      `${NAME}.csv`,
      'manifest.json',
      'summary.r1.csv',
    ]);
    expect((await daybook(['verify', new URL(stage.app.settings.statementsUrl).pathname], {})).code).toBe(0);
  });

  it.each([
    ['mt940', 'mt940'],
    ['camt053', 'camt053.xml'],
  ])('is in a month’s ZIP of %s as its CSV, and the command names it', async (format, extension) => {
    const get = ['statements', 'get', '--month', '2026-03', '--format', format];
    const out = join(folder, `${format}.zip`);
    const { code, stdout } = await daybook([...get, '--out', out], env);
    const reported = `${whyIn(format)} The ZIP has ${NAME}.csv instead.`;
    expect([code, plain(stdout)]).toEqual([3, expect.stringContaining(reported)]);
    const { names, text, csv } = await unpacked(out);
    expect(names).toEqual(namesIn(extension));
    expect(text).toContain(`${KEY}: ${whyIn(format)}\r\n`);
    expect(csv).toBe((await objectsOf(stage)).get(KEY));
    const document = await daybook([...get, '--out', out, '--json'], env);
    expect([document.code, JSON.parse(document.stdout)]).toEqual([
      3,
      expect.objectContaining({
        files: format === 'mt940' ? 15 : 8,
        asCsv: [{ key: KEY, why: whyIn(format) }],
      }),
    ]);
    const printed = await daybook([...get, '--stdout'], env);
    expect([printed.code, plain(printed.stderr)]).toEqual([3, expect.stringContaining(reported)]);
  });

  it('is in the ZIP of the month’s page as its CSV', async () => {
    const pages = await showPages(stage);
    const response = await pages.get(`/download/${merchantNo}/2026-03.zip?format=camt053`);
    const zip = join(folder, 'of-page.zip');
    await writeFile(zip, Buffer.from(await response.arrayBuffer()));
    await pages.close();
    const { names, text } = await unpacked(zip);
    expect(names).toEqual(namesIn('camt053.xml'));
    expect(text).toContain(whyIn('camt053'));
  });

  it('is not there alone: the command says why; XLSX and PDF hold it', async () => {
    const get = [
      'statements',
      'get',
      '--merchant',
      merchantNo,
      '--currency',
      'USD',
      '--day',
      DAY,
      '--out',
      folder,
    ];
    const { code, stderr } = await daybook([...get, '--format', 'camt053'], env);
    expect([code, plain(stderr)]).toEqual([2, expect.stringContaining(whyIn('camt053'))]);
    for (const format of ['xlsx', 'pdf'])
      expect((await daybook([...get, '--format', format], env)).code).toBe(0);
  });
});
