/** Changes since a revision that is booked, and since a close, as a person or an importer gets them. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { showPages } from '../plugins/pages/support.ts';
import { readCamt, readMt940 } from '../support/read-statements.ts';
import { FROM, MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

const { merchantNo } = MERCHANT;
const NAME = `${merchantNo}_USD_${FROM}`;
let stage: Stage;
let env: Env;
let folder: string;
let entry: { readonly batchNo: string; readonly inAmount: string | null };
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 6 }) });
  env = envOf(stage);
  folder = await mkdtemp(join(tmpdir(), 'daybook-since-'));
  await stage.run();
  const closed = await daybook(
    ['close', '2026-03', '--merchant', merchantNo, '--by', 'Ada', '--despite-open-days', 'a test'],
    env,
  );
  expect(closed.code).toBe(0);
  entry = stage.sandbox
    .entriesOf(merchantNo)
    .find(
      ({ currency, busiDate, inAmount }) =>
        currency === 'USD' && busiDate.startsWith(FROM) && inAmount !== null,
    )!;
  stage.sandbox.amend(merchantNo, entry.batchNo, { busiType: 'CHANGED' });
  await stage.run();
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

const get = (...flags: string[]) =>
  daybook(['statements', 'get', '--merchant', merchantNo, '--out', folder, ...flags], env);
const day = (...flags: string[]) => get('--currency', 'USD', '--day', FROM, ...flags);
const published = (revision: number) =>
  join(
    stage.app.settings.dataDir,
    'statements',
    `merchant=${merchantNo}`,
    `date=${FROM}`,
    `${NAME}.r${revision}.csv`,
  );
const rowOf = async (revision: number): Promise<string[]> =>
  (await readFile(published(revision), 'utf8'))
    .split('\r\n')
    .find((line) => line.startsWith(`${entry.batchNo},`))!
    .split(',');

it('an amended entry is the reversal of what is booked, on the other side, and the new entry', async () => {
  const { code, stdout } = await day('--since', '1');
  const path = join(folder, `${NAME}.r1-r2.csv`);
  expect([code, stdout]).toEqual([
    0,
    `${path}\n${merchantNo} USD ${FROM}, since revision 1: 1 entry added and 1 reversed, up to revision 2\n`,
  ]);
  const [number, at, currency, type, credit, debit, balance] = await rowOf(1);
  const header = 'batch_no,booked_at,currency,transaction_type,credit,debit,balance,change';
  expect((await readFile(path, 'utf8')).split('\r\n')).toEqual([
    header,
    [number, at, currency, type, debit, credit, balance, 'reversed'].join(),
    [...(await rowOf(2)), 'added'].join(),
    '',
  ]);
});

it.each([
  ['camt053', 'camt053.xml', readCamt],
  ['mt940', 'mt940', readMt940],
] as const)(
  'in %s both are marked, the balances are those of both revisions, and the id is the same each time',
  async (format, extension, read) => {
    const path = join(folder, `${NAME}.r1-r2.${extension}`);
    const once = async () => {
      expect((await day('--since', '1', '--format', format)).code).toBe(0);
      return readFile(path, 'utf8');
    };
    const text = await once();
    expect(await once()).toBe(text);
    const { id, opening, closing, entries } = read(text);
    expect(entries.map(({ isReversal }) => isReversal)).toEqual([true, false]);
    expect(opening).toBe(closing);
    const full = read((await day('--format', format, '--stdout')).stdout);
    expect(full.closing).toBe(closing);
    expect(full.id).not.toBe(id);
  },
);

it('nothing changed since the same revision: the file is empty, and that is said', async () => {
  const { code, stdout } = await day('--since', '2', '--json');
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    expect.objectContaining({
      since: 2,
      revision: 2,
      added: 0,
      reversed: 0,
      path: join(folder, `${NAME}.r2-r2.csv`),
    }),
  ]);
  expect((await day('--since', '2')).stdout).toContain('since revision 2: no entry changed up to revision 2');
  const printed = await day('--since', '2', '--format', 'mt940', '--stdout');
  expect(readMt940(printed.stdout).entries).toEqual([]);
});

it.each([
  [['--day', FROM, '--currency', 'USD', '--since', '9'], 'no statement revision 9 of merchant'],
  [
    ['--day', FROM, '--currency', 'USD', '--since', 'close:1'],
    '--since close:1 is no revision; they count from 1',
  ],
  [
    ['--day', FROM, '--currency', 'USD', '--since', '2', '--revision', '1'],
    '--since 2 is later than revision 1',
  ],
  [
    ['--day', FROM, '--currency', 'USD', '--since', '1', '--format', 'pdf'],
    'changes cannot be written as pdf; choose --format csv, camt053, mt940',
  ],
  [['--month', '2026-03', '--since', '1'], '--since 1 names no close of the month; write it as close:1'],
  [['--month', '2026-03', '--since', 'close:7'], `there is no close 7 of 2026-03 of merchant ${merchantNo}`],
  [['--month', '2026-03', '--since', 'close:1', '--revision', '2'], 'leave --revision out'],
  [['--month', '2026-03', '--since', 'close:1', '--for-spreadsheet'], 'cannot be written as spreadsheet'],
] as const)('%j is refused in plain words', async (flags, problem) => {
  const { code, stdout, stderr } = await get(...flags);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(problem);
});

it('a revision whose file is gone is an error that names it', async () => {
  await rename(published(1), `${published(1)}.away`);
  const ended = await Promise.all([day('--since', '1'), get('--month', '2026-03', '--since', 'close:1')]);
  await rename(`${published(1)}.away`, published(1));
  for (const { code, stderr } of ended) {
    expect(code).toBe(4);
    expect(stderr).toContain(`${NAME}.r1.csv is missing; it was published`);
  }
});

async function unpacked(zip: string): Promise<Record<string, string>> {
  const into = await mkdtemp(join(folder, 'unpacked-'));
  execFileSync('python3', ['-m', 'zipfile', '-e', zip, into]);
  const names = await readdir(into, { recursive: true, withFileTypes: true });
  const files = names.filter((one) => one.isFile());
  return Object.fromEntries(
    await Promise.all(
      files.map(async (one) => [one.name, await readFile(join(one.parentPath, one.name), 'utf8')] as const),
    ),
  );
}

it('a month since its close has a file for each changed day, and a list of them', async () => {
  const { code, stdout } = await get('--month', '2026-03', '--since', 'close:1');
  const zip = join(folder, `statements-2026-03-${merchantNo}-since-close1.zip`);
  expect([code, stdout.split('\n')[0]]).toEqual([0, zip]);
  const files = await unpacked(zip);
  expect(Object.keys(files).sort()).toEqual([`${NAME}.r1-r2.csv`, 'changes-2026-03.csv'].sort());
  const list = files['changes-2026-03.csv']!.split('\r\n');
  expect(list[0]).toBe(
    'merchant_no,currency,day,since_revision,revision,opening,added,reversed,closing,file',
  );
  expect(list[1]).toMatch(
    new RegExp(`^${merchantNo},USD,${FROM},1,2,[^,]+,1,1,[^,]+,${NAME}\\.r1-r2\\.csv$`),
  );
  const other = await get('--month', '2026-03', '--since', 'close:1', '--currency', 'KWD');
  expect([other.code, other.stdout]).toEqual([
    0,
    expect.stringContaining('nothing of 2026-03 changed since close 1'),
  ]);
});

it('the page of a day links to its changes, and gives the same file', async () => {
  const pages = await showPages(stage);
  try {
    const html = await pages.html(`/m/${merchantNo}/USD/${FROM}`);
    const path = /href="([^"]*since=1)"[^>]*>Changes since revision 1</
      .exec(html)?.[1]
      ?.replaceAll('&amp;', '&');
    const answer = await pages.get(path!);
    expect(answer.headers.get('content-disposition')).toContain(`"${NAME}.r1-r2.csv"`);
    await day('--since', '1');
    expect(await answer.text()).toBe(await readFile(join(folder, `${NAME}.r1-r2.csv`), 'utf8'));
    for (const wrong of ['&format=pdf', '&since=9', '&since=0'])
      expect(
        (await pages.get(`${path!.replace(/[?&]since=1/, wrong.includes('since') ? '' : '$&')}${wrong}`))
          .status,
      ).toBe(404);
    const one = await pages.html(`/m/${merchantNo}/KWD/${FROM}`);
    expect(one).not.toContain('Changes since');
  } finally {
    await pages.close();
  }
});

it('a frozen revision that this database has otherwise is an error, and nothing is guessed', async () => {
  const { db } = stage.app.database;
  const setTo = (content: string) =>
    sql`UPDATE month_close SET content = ${content} WHERE merchant_no = ${merchantNo}`.execute(db);
  const { content } = (await db.selectFrom('month_close').select('content').executeTakeFirst())!;
  const sha256 = /"sha256": "([0-9a-f]{64})"/.exec(content.slice(content.indexOf(`${NAME}.r1.csv`)))![1]!;
  await setTo(content.replaceAll(sha256, 'ab'.repeat(32)));
  const { code, stderr } = await get('--month', '2026-03', '--since', 'close:1');
  await setTo(content);
  expect(code).toBe(4);
  expect(stderr).toContain(`the close froze revision 1 of ${merchantNo} USD ${FROM} with SHA-256 abab`);
});

it('a day that had no statement at the close comes completely', async () => {
  const { db } = stage.app.database;
  const { content } = (await db.selectFrom('month_close').select('content').executeTakeFirst())!;
  const close = JSON.parse(content) as { statements: { currency: string; day: string }[] };
  const statements = close.statements.filter((one) => one.currency !== 'USD' || one.day !== FROM);
  await sql`UPDATE month_close SET content = ${JSON.stringify({ ...close, statements })}`.execute(db);
  const { code, stdout } = await get('--month', '2026-03', '--since', 'close:1', '--json');
  await sql`UPDATE month_close SET content = ${content}`.execute(db);
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    expect.objectContaining({
      changes: [expect.objectContaining({ since: 0, revision: 2, added: 6, reversed: 0 })],
    }),
  ]);
});
