/** A close file in which somebody altered a figure is found out, also for a statement that was replaced since. */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closeText } from '../../src/months/files.ts';
import {
  parseClose,
  type CloseFile,
  type ClosedStatement,
  closedAccount,
} from '../../src/verify/close-file.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf } from '../cli/daybook.ts';

const { merchantNo } = MERCHANT;
const MONTH = '2026-02';
const BROKEN_DAY = '2026-02-27';
const RUN = ['run', '--from', '2026-02-01', '--to', '2026-03-02'];

let stage: Stage;
let folder: string;
let path: string;
let close: CloseFile;
beforeAll(async () => {
  const now = '2026-03-03T01:30:00+08:00';
  stage = await openStage({
    scenario: scenario({ from: '2026-02-26', to: '2026-03-02', entriesPerDay: 8, now }),
  });
  const env = envOf(stage);
  const day = stage.sandbox
    .entriesOf(merchantNo)
    .filter(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith(BROKEN_DAY));
  const late = day[Math.floor(day.length / 2)]!.batchNo;
  stage.sandbox.takeOut(merchantNo, late);
  await daybook(RUN, env);
  await daybook(['breaks', 'resolve', '1', '--note', 'asked the platform', '--by', 'Ada'], env);
  await daybook(['publish', '--from', BROKEN_DAY, '--to', BROKEN_DAY], env);
  const closed = await daybook(['close', MONTH, '--merchant', merchantNo, '--by', 'Ada'], env);
  expect([closed.code, closed.stdout]).toEqual([0, expect.stringContaining('is closed')]);
  stage.sandbox.putBack(merchantNo, late);
  await daybook(RUN, env);
  folder = await mkdtemp(join(tmpdir(), 'daybook-closed-'));
  await cp(join(stage.app.settings.dataDir, 'statements'), folder, { recursive: true });
  path = join(folder, `merchant=${merchantNo}/close=${MONTH}/${merchantNo}_${MONTH}.close1.json`);
  close = parseClose(await readFile(path, 'utf8'))!;
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true });
});

const frozen = (day: string): ClosedStatement =>
  close.statements.find((one) => one.currency === 'USD' && one.day === day)!;
/** What `verify` says once the statement of this day is altered, and the sums of its account with it. */
async function reportOf(day: string, change: Partial<ClosedStatement>): Promise<string[]> {
  const statements = close.statements.map((one) => (one === frozen(day) ? { ...one, ...change } : one));
  const accounts = close.accounts.map(({ currency }) =>
    closedAccount(
      currency,
      statements.filter((one) => one.currency === currency),
    ),
  );
  await writeFile(path, closeText({ ...close, statements, accounts }));
  return (await verifyPaths([folder])).problems.map(({ problem }) => problem);
}

it('as it was made it is without a problem, and every statement is compared', async () => {
  expect(frozen(BROKEN_DAY)).toMatchObject({ revision: 1, verdict: 'broken', breaks: 1 });
  await writeFile(path, closeText(close));
  const { problems, closes } = await verifyPaths([folder]);
  expect(problems).toEqual([]);
  expect(closes).toMatchObject([{ statements: 6, compared: 6, byHash: 0 }]);
  expect(closes[0]!.adjusted.map(({ day }) => day)).toContain(BROKEN_DAY);
});

describe.each([
  ['replaced since', BROKEN_DAY],
  ['current', '2026-02-26'],
])('a statement that is %s', (_, day) => {
  it.each<[string, (one: ClosedStatement) => Partial<ClosedStatement>]>([
    ['opening', () => ({ opening: '1.23' })],
    ['sum of credits', () => ({ creditTotal: '1.23' })],
    ['number of credits', ({ creditCount }) => ({ creditCount: creditCount + 1 })],
    ['sum of debits', () => ({ debitTotal: '1.23' })],
    ['number of debits', ({ debitCount }) => ({ debitCount: debitCount + 1 })],
    ['closing', () => ({ closing: '1.23' })],
    ['number of breaks', ({ breaks }) => ({ verdict: 'broken', breaks: breaks + 2 })],
    [
      'verdict',
      ({ verdict }) =>
        verdict === 'broken'
          ? { verdict: 'continuous', breaks: 0, explained: [] }
          : { verdict: 'broken', breaks: 1 },
    ],
    ['verdict alone', ({ verdict }) => ({ verdict: verdict === 'broken' ? 'continuous' : 'broken' })],
    [
      'explained breaks',
      ({ breaks }) => ({ explained: Array.from({ length: breaks + 1 }, (__, at) => at + 1) }),
    ],
  ])('altered %s', async (__, change) => {
    expect((await reportOf(day, change(frozen(day))))[0]).toContain(`USD ${day}`);
  });
});

it('without the file of the replaced statement its figures are said not to be compared', async () => {
  await writeFile(path, closeText(close));
  const ofDay = join(folder, `merchant=${merchantNo}/date=${BROKEN_DAY}`);
  for (const name of await readdir(ofDay))
    if (name.endsWith('USD_2026-02-27.r1.csv')) await rm(join(ofDay, name));
  const { problems, closes } = await verifyPaths([folder]);
  expect(problems).toEqual([]);
  expect(closes).toMatchObject([{ compared: 6, byHash: 1 }]);
  const { stdout } = await daybook(['verify', folder], {});
  expect(stdout).toContain(
    '6 of 6 statements compared, 1 of them by hash alone, as their files are not here',
  );
});
