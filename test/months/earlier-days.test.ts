/** Days that come to light before an account's first one, after its month was closed, adjust the close. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { adjustmentsOf, adjustmentsOfEach } from '../../src/months/stored.ts';
import type { Adjustment } from '../../src/months/closes.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from '../cli/daybook.ts';

const { merchantNo } = MERCHANT;
const MONTH = '2026-02';
const RUN = ['run', '--from', '2026-02-01', '--to', '2026-03-02'];

let stage: Stage;
let env: Env;
beforeAll(async () => {
  const now = '2026-03-03T01:30:00+08:00';
  stage = await openStage({
    scenario: scenario({ from: '2026-02-24', to: '2026-03-02', entriesPerDay: 8, now }),
  });
  env = envOf(stage);
});
afterAll(() => stage.close());

const reported = ({ currency, day, frozenRevision, revision }: Adjustment): string =>
  `${currency} ${day} ${frozenRevision ?? 'none'} to ${revision}`;

it('each of them is in the list and in status', async () => {
  const early = stage.sandbox
    .entriesOf(merchantNo)
    .filter(({ currency, busiDate }) => currency === 'USD' && busiDate.slice(0, 10) <= '2026-02-26');
  for (const { batchNo } of early) stage.sandbox.takeOut(merchantNo, batchNo);
  await daybook(RUN, env);
  expect(await daybook(['close', MONTH, '--merchant', merchantNo, '--by', 'Ada'], env)).toMatchObject({
    code: 0,
  });
  for (const { batchNo } of early) stage.sandbox.putBack(merchantNo, batchNo);
  await daybook(RUN, env);

  const { db } = stage.app.database;
  const all = (await adjustmentsOf(db, { month: MONTH, merchants: [merchantNo] })).map(reported);
  expect(all).toEqual([
    'USD 2026-02-24 none to 1',
    'USD 2026-02-25 none to 1',
    'USD 2026-02-26 none to 1',
    'USD 2026-02-27 1 to 2',
  ]);
  const each = await adjustmentsOfEach(db, [merchantNo]);
  expect(each.get(merchantNo)!.map(reported)).toEqual(all);
  const { stdout } = await daybook(['status'], env);
  for (const day of ['2026-02-24', '2026-02-25', '2026-02-26'])
    expect(stdout).toContain(`adjusts close 1 of ${MONTH}: ${merchantNo} USD ${day} was not published`);
});
