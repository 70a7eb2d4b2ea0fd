/** A month of several merchants closed by one command: each outcome is reported, whatever comes of the others. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listCloses } from '../../src/months/stored.ts';
import { MERCHANT, openStage, OTHER, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from '../cli/daybook.ts';

const [one, other] = [MERCHANT.merchantNo, OTHER.merchantNo];
const MONTH = '2026-02';
const keyOf = (merchantNo: string): string =>
  `merchant=${merchantNo}/close=${MONTH}/${merchantNo}_${MONTH}.close1.json`;

let stage: Stage;
let env: Env;
beforeAll(async () => {
  const range = { from: '2026-02-27', to: '2026-02-28' };
  stage = await openStage({
    scenario: scenario({
      ...{ ...range, entriesPerDay: 2, now: '2026-03-01T01:30:00+08:00' },
      merchants: [MERCHANT, OTHER].map((merchant) => ({ ...merchant, currencies: ['USD'] })),
    }),
  });
  env = envOf(stage);
  await stage.run({ merchants: [MERCHANT], range: { ...range, from: '2026-02-01' } });
  // The other one's first days are not read. No row of the merchants names it: it is known by its statements.
  await stage.run({ merchants: [OTHER], range });
});
afterAll(() => stage.close());

const close = (...args: string[]) => daybook(['close', MONTH, '--by', 'Ada', ...args], env);
const both = (...args: string[]) => close('--merchant', one, '--merchant', other, ...args);
const closed = async (): Promise<string[]> =>
  (await listCloses(stage.app.database.db, { merchants: null })).map(({ merchantNo }) => merchantNo);

it('closes nothing where one of them is not known', async () => {
  const ended = await close('--merchant', one, '--merchant', 'SBX-M-X');
  expect([ended.code, ended.stdout, ended.stderr]).toEqual([
    ...[2, ''],
    'daybook: merchant SBX-M-X is not known; `daybook merchants list` shows those that are.\n',
  ]);
  expect(await closed()).toEqual([]);
});

it('tells of the others where the store fails one of them, and ends with the gravest', async () => {
  await stage.app.objects.put(keyOf(one), Buffer.from('{}'), { contentType: 'application/json' });
  const ended = await both('--json');
  expect([ended.code, ended.stderr]).toEqual([4, '']);
  expect(JSON.parse(ended.stdout)).toMatchObject([
    {
      ...{ merchantNo: one, month: MONTH, result: 'failed' },
      problem: expect.stringContaining(`${keyOf(one)} is not what this database closed`) as string,
    },
    { merchantNo: other, month: MONTH, result: 'open' },
  ]);
  const reported = await both('--despite-open-days', 'they joined late');
  expect(reported.code).toBe(4);
  expect(reported.stdout).toMatch(
    new RegExp(
      `^${MONTH} of ${one} failed: .* is not what this database closed[^]*\n${MONTH} of ${other} is closed: close 1 freezes`,
    ),
  );
  expect(await closed()).toEqual([other]);
  const alone = await close('--merchant', one);
  expect([alone.code, alone.stdout, alone.stderr]).toEqual([
    ...[4, ''],
    expect.stringContaining('is not what this database closed'),
  ]);
});
