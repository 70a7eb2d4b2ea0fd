/**
 * A break over the end of a month: what is missing may belong to each day from the last entry before it to the next one. So
 * these days stay open, and whatever tells of them tells the same, until a person has explained the break.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CloseFile } from '../../src/verify/close-file.ts';
import { STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import { verifyPaths } from '../statements/verified-twice.ts';
import { FORM_TOKEN, showPages, textOf, type ShownPages } from '../plugins/pages/support.ts';
import { pagesOf, textOf as pdfTextOf } from '../support/read-pdf.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from '../cli/daybook.ts';

const { merchantNo } = MERCHANT;
const MONTH = '2026-02';
const PAGE = `/m/${merchantNo}/${MONTH}`;
const RANGE = { from: '2026-02-26', to: '2026-03-02' };
const EXPLAINED =
  'Complete, with 2 broken days: a person has explained each of their breaks. An explained break does not keep the month open.';

let stage: Stage;
let env: Env;
let pages: ShownPages;
let root: string;
let folder: string;
let id: number;
beforeAll(async () => {
  stage = await openStage({
    scenario: scenario({ ...RANGE, entriesPerDay: 3, now: '2026-03-03T01:30:00+08:00' }),
  });
  env = envOf(stage);
  pages = await showPages(stage);
  root = join(stage.app.settings.dataDir, 'statements', `merchant=${merchantNo}`);
  folder = await mkdtemp(join(tmpdir(), 'daybook-month-end-'));
  const lastDay = stage.sandbox
    .entriesOf(merchantNo)
    .filter(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith('2026-02-28'));
  for (const { batchNo } of lastDay) stage.sandbox.takeOut(merchantNo, batchNo);
  await daybook(['run', '--from', '2026-02-01', '--to', '2026-03-01'], env);
  const found = await stage.app.database.db.selectFrom('continuity_break').select(['id', 'day']).execute();
  expect(found.map(({ day }) => day)).toEqual(['2026-03-01']);
  id = found[0]!.id;
});
afterAll(async () => {
  await pages.close();
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

const close = (...flags: string[]) =>
  daybook(['close', MONTH, '--merchant', merchantNo, '--by', 'Ada', ...flags], env);
const words = async (path: string): Promise<string> => textOf(await pages.html(path));
const overview = async (): Promise<string> => {
  const bytes = await (await pages.get(`/download/${merchantNo}/${MONTH}.pdf`)).arrayBuffer();
  return pdfTextOf(await pagesOf(new Uint8Array(bytes)));
};
const monthCsv = async (): Promise<string> => {
  const into = await mkdtemp(join(folder, 'zip-'));
  await daybook(['statements', 'get', '--month', MONTH, '--out', join(into, 'month.zip')], env);
  await promisify(execFile)('python3', ['-m', 'zipfile', '-e', join(into, 'month.zip'), into]);
  return readFile(join(into, `month-${MONTH}.csv`), 'utf8');
};
const closeFile = async (number: number): Promise<CloseFile> =>
  JSON.parse(
    await readFile(join(root, `close=${MONTH}/${merchantNo}_${MONTH}.close${number}.json`), 'utf8'),
  ) as CloseFile;

it('keeps the month from being closed, by the command and by the button', async () => {
  const why = `its balance chain is broken: break ${id}`;
  const todo = `\`daybook breaks show ${id}\`, then \`breaks resolve ${id} --note TEXT\``;
  const ended = await close('--json');
  expect(ended.code).toBe(3);
  expect(JSON.parse(ended.stdout)).toEqual([
    {
      ...{ merchantNo, month: MONTH, result: 'open', seen: expect.any(String) as string },
      openDays: ['2026-02-27', '2026-02-28'].map((day) => ({
        ...{ currency: 'USD', day, cause: 'broken', why, todo, who: 'operator' },
        ...{ breaks: [id], amount: expect.stringMatching(/^-?\d+\.\d+$/) as string },
      })),
      others: [],
    },
  ]);
  const reported = await close();
  expect(reported.stdout).toContain('2 account days (1 account) are open');
  expect(reported.stdout).toContain(`  USD 2026-02-27 to 2026-02-28: ${why} (difference `);
  expect(reported.stdout).toContain(` USD): ${todo} (an operator)\n`);
  expect((await pages.post(PAGE, { form_token: FORM_TOKEN })).status).toBe(409);
});

it('is told of the same days by every page and every file of the month', { tags: ['long'] }, async () => {
  const month = await words(`${PAGE}?close=yes&currency=USD`);
  expect(month).toContain('broken: 27 Feb 2026 – 28 Feb 2026');
  expect(month).toContain(
    `USD 27 Feb 2026 – 28 Feb 2026 broken : its balance chain is broken: break ${id} (difference`,
  );
  expect(month).toMatch(/28 Feb 2026 \S+ broken .*27 Feb 2026 \S+ broken/);
  for (const day of ['2026-02-27', '2026-02-28'])
    expect(await words(`/m/${merchantNo}/USD/${day}`)).toContain(
      'a break that is not yet explained lies on this day, or on a stretch between two entries that includes it',
    );
  const pdf = await overview();
  expect(pdf).toContain('Not complete: 2 account days (1 account) still open, listed below.');
  expect(pdf).toContain('2 broken\n2 open');
  expect(pdf).toContain(`USD | 2026-02-27 to 2026-02-28 | its balance chain is broken: break ${id}`);
  expect(await monthCsv()).toMatch(/^\S+,USD,2026-02,.*,2,2026-02-27\/2026-02-28,,/m);
});

it('that a person explained is explained on each of these days, in every file', async () => {
  await daybook(['breaks', 'resolve', String(id), '--note', 'case 7', '--by', 'Ada'], env);
  await daybook(['publish', '--from', '2026-02-26', '--to', '2026-03-01'], env);
  expect((await close()).code).toBe(0);
  const file = await closeFile(1);
  expect(file.accounts.find(({ currency }) => currency === 'USD')).toMatchObject({
    ...{ daysBroken: 2, breaks: 2, explained: 2 },
  });
  expect(
    file.statements.filter(({ explained }) => explained.length > 0).map((one) => [one.day, one.explained]),
  ).toEqual([
    ['2026-02-27', [id]],
    ['2026-02-28', [id]],
  ]);
  expect(file.openDays).toEqual([]);
  expect((await verifyPaths([root], STATEMENT_FORMATS)).problems).toEqual([]);
  expect((await overview()).replaceAll('\n', ' ')).toContain(EXPLAINED);
  expect(await monthCsv()).toMatch(/^\S+,USD,2026-02,.*,2,,1,/m);
  expect(await words(`${PAGE}?currency=USD`)).toMatch(/28 Feb 2026 \S+ explained/);
});

it('and reopened since, opens these days of the closed month again', async () => {
  await daybook(['breaks', 'reopen', String(id), '--note', 'it was not that', '--by', 'Bob'], env);
  await daybook(['publish', '--from', '2026-02-26', '--to', '2026-03-01'], env);
  const ended = await close('--json');
  expect(ended.code).toBe(3);
  expect(JSON.parse(ended.stdout)).toMatchObject([
    { result: 'already', openDays: [{ day: '2026-02-27' }, { day: '2026-02-28' }] },
  ]);
  expect(await overview()).toContain('Not complete: 2 account days (1 account) still open, listed below.');
});
