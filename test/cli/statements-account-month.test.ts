/** A month of one account as one file: every day's rows in the order of days, as an importer of the format reads them. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { XmlDocument, XsdValidator } from 'libxml2-wasm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StatementRow } from '../../src/store/statements/statements.ts';
import { showPages } from '../plugins/pages/support.ts';
import { readCamt, readCsv, readMt940 } from '../support/read-statements.ts';
import { DAYS, FROM, MERCHANT, openStage, scenario, TO, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

const SCHEMA = fileURLToPath(new URL('../../../shared/standards/camt.053.001.08.xsd', import.meta.url));
const { merchantNo } = MERCHANT;
const MONTH = '2026-03';
const NAME = `month-${MONTH}-${merchantNo}_USD`;
let stage: Stage;
let env: Env;
let folder: string;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 6 }) });
  env = envOf(stage);
  folder = await mkdtemp(join(tmpdir(), 'daybook-account-month-'));
  await stage.run();
  const entry = stage.sandbox
    .entriesOf(merchantNo)
    .find(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith(FROM))!;
  stage.sandbox.amend(merchantNo, entry.batchNo, { busiType: 'CHANGED' });
  await stage.run();
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

const get = (...flags: string[]) =>
  daybook(['statements', 'get', '--merchant', merchantNo, '--out', folder, ...flags], env);
const ofMonth = (format: string, ...flags: string[]) =>
  get('--month', MONTH, '--currency', 'USD', '--format', format, ...flags);
const pathOf = (day: string, revision: number) =>
  join(
    ...[stage.app.settings.dataDir, 'statements', `merchant=${merchantNo}`, `date=${day}`],
    `${merchantNo}_USD_${day}.r${revision}.csv`,
  );
const REVISIONS = DAYS.map((day) => [day, day === FROM ? 2 : 1] as const);
const daily = () => Promise.all(REVISIONS.map(([day, revision]) => readFile(pathOf(day, revision), 'utf8')));
const statements = async (): Promise<StatementRow[]> => {
  const { stdout } = await daybook(['statements', 'list', '--json'], env);
  return (JSON.parse(stdout) as StatementRow[])
    .filter(({ currency }) => currency === 'USD')
    .sort((a, b) => (a.day < b.day ? -1 : 1));
};

it('as CSV has the header once and the rows of each day’s current revision, and says which these are', async () => {
  const { code, stdout } = await ofMonth('csv');
  const path = join(folder, `${NAME}.csv`);
  expect(code).toBe(0);
  const said = stdout.replaceAll(/\s+/g, ' ');
  expect(said).toContain(`${path} 4 days of ${merchantNo} USD: revision 2 of ${FROM}, 1 of 2026-03-03/${TO}`);
  expect(said).toContain(`still open: ${merchantNo} USD 27 days, first 2026-03-01`);
  const [first, ...others] = await daily();
  const withoutHeader = (text: string) => text.slice(text.indexOf('\r\n') + 2);
  expect(await readFile(path, 'utf8')).toBe([first!, ...others.map(withoutHeader)].join(''));
});

describe.each([
  ['camt053', 'camt053.xml', readCamt],
  ['mt940', 'mt940', readMt940],
] as const)('as %s', (format, extension, read) => {
  it('is one statement from the first opening to the last closing, with every entry of the daily files', async () => {
    const { code, stdout } = await ofMonth(format, '--json');
    const path = join(folder, `${NAME}.${extension}`);
    const days = await statements();
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({
        ...{ path, month: MONTH, merchantNo, currency: 'USD', format },
        days: days.map(({ day, revision, sha256 }) => ({ day, revision, sha256 })),
        openDays: expect.arrayContaining(['2026-03-01']) as unknown,
      }),
    ]);
    const month = read(await readFile(path, 'utf8'));
    const each = [];
    for (const { day } of days)
      each.push(read((await get('--currency', 'USD', '--day', day, '--format', format, '--stdout')).stdout));
    expect([month.opening, month.closing]).toEqual([each[0]!.opening, each.at(-1)!.closing]);
    expect(month.entries).toEqual(each.flatMap(({ entries }) => entries));
    expect(each.map(({ id }) => id)).not.toContain(month.id);
  });

  it('has a later number once a day is revised, the same file otherwise, and names the revisions', async () => {
    const printed = async () => (await ofMonth(format, '--stdout')).stdout;
    const text = await printed();
    expect(await printed()).toBe(text);
    expect(text.replaceAll('\r\n', '')).toContain(`month ${MONTH} of the daily revisions 02 r2, 03-05 r1`);
    expect(read(text).id).toContain(format === 'mt940' ? '2603USDR5' : '20260300005-USD-');
  });
});

it.skipIf(!existsSync(SCHEMA))(
  'camt.053 of a month is valid by its schema, and its period is that of its days',
  async () => {
    const { stdout } = await ofMonth('camt053', '--stdout');
    const schema = XmlDocument.fromBuffer(readFileSync(SCHEMA));
    const validator = XsdValidator.fromDoc(schema);
    const document = XmlDocument.fromString(stdout);
    try {
      validator.validate(document);
    } finally {
      for (const one of [document, validator, schema]) one.dispose();
    }
    expect(stdout.match(/<Stmt>/g)).toHaveLength(1);
    expect(stdout).toContain(`<FrDtTm>${FROM}T00:00:00</FrDtTm><ToDtTm>${TO}T23:59:59</ToDtTm>`);
    expect(
      [...stdout.matchAll(/<Cd>(OPBD|CLBD)<\/Cd>.*?<Dt><Dt>([\d-]+)</g)].map(([, code, day]) => [code, day]),
    ).toEqual([
      ['OPBD', FROM],
      ['CLBD', TO],
    ]);
  },
);

it('without --format, of several currencies, or named as a ZIP it stays a ZIP', async () => {
  for (const flags of [
    ['--currency', 'USD'],
    ['--format', 'csv'],
    ['--currency', 'USD', '--currency', 'KWD', '--format', 'camt053'],
    ['--currency', 'USD', '--format', 'mt940', '--out', join(folder, 'usd.zip')],
    ['--currency', 'USD', '--format', 'xlsx'],
  ]) {
    const { code, stdout } = await get('--month', MONTH, ...flags, '--json');
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({ path: expect.stringMatching(/\.zip$/) as unknown }),
    ]);
  }
});

it('if a day’s file is missing, there is no file', async () => {
  await rename(pathOf(TO, 1), `${pathOf(TO, 1)}.away`);
  const out = join(folder, 'damaged');
  const { code, stderr } = await ofMonth('csv', '--out', out);
  await rename(`${pathOf(TO, 1)}.away`, pathOf(TO, 1));
  expect([code, stderr]).toEqual([4, expect.stringContaining('is missing; it was published')]);
  expect(await readdir(out)).toEqual([]);
});

it.each([
  [['--month', '2026-02', '--currency', 'USD', '--format', 'csv'], 'nothing was published of 2026-02'],
  [['--month', MONTH, '--currency', 'JPY', '--format', 'mt940'], `nothing was published of ${MONTH}`],
  [['--month', MONTH, '--currency', 'USD', '--format', 'csv', '--revision', '1'], 'leave --revision'],
])('%j is refused in plain words', async (flags, problem) => {
  const { code, stdout, stderr } = await get(...flags);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(problem);
});

it('`verify` names these files as not checked', async () => {
  const out = join(folder, 'verified');
  for (const format of ['csv', 'camt053', 'mt940']) await ofMonth(format, '--out', out);
  await get('--currency', 'USD', '--day', FROM, '--out', out);
  const { code, stdout } = await daybook(['verify', out, '--json'], {});
  const { notChecked } = JSON.parse(stdout) as { notChecked: { path: string }[] };
  expect([code, notChecked.map(({ path }) => path.slice(out.length + 1)).sort()]).toEqual([
    0,
    [`${NAME}.camt053.xml`, `${NAME}.csv`, `${NAME}.mt940`],
  ]);
});

it('the page of a month links to each of these files of its account, and gives the same', async () => {
  const pages = await showPages(stage);
  try {
    const html = await pages.html(`/m/${merchantNo}/${MONTH}?currency=USD`);
    const links = [...html.matchAll(/href="(\/download\/[^"]*currency=USD[^"]*)"/g)].map(([, path]) =>
      path!.replaceAll('&amp;', '&'),
    );
    const names = [];
    for (const link of links) {
      const answer = await pages.get(link);
      const name = /"(.+)"/.exec(answer.headers.get('content-disposition')!)![1]!;
      names.push(name);
      const format = name.endsWith('.csv') ? 'csv' : name.endsWith('.mt940') ? 'mt940' : 'camt053';
      expect(await answer.text()).toBe((await ofMonth(format, '--stdout')).stdout);
    }
    expect(names).toEqual([`${NAME}.csv`, `${NAME}.camt053.xml`, `${NAME}.mt940`]);
    for (const wrong of ['currency=JPY', 'currency=USD'])
      expect((await pages.get(`/download/${merchantNo}/${MONTH}.pdf?${wrong}`)).status).toBe(404);
    expect((await pages.get(`/download/${merchantNo}/${MONTH}.csv`)).status).toBe(404);
    expect((await pages.get(`/download/${merchantNo}/${MONTH}.csv?currency=JPY`)).status).toBe(404);
  } finally {
    await pages.close();
  }
});

it('every entry of the CSV is one of the platform’s', async () => {
  const month = readCsv((await ofMonth('csv', '--stdout')).stdout);
  const own = stage.sandbox.entriesOf(merchantNo).filter(({ currency }) => currency === 'USD');
  expect(month.entries).toHaveLength(own.length);
});
