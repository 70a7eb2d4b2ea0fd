/** A month with a break that a person resolved: its close says what is missing, and a reopened break is reported. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addAmounts, subtractAmounts } from '../../src/ledger/money.ts';
import type { CloseFile } from '../../src/verify/close-file.ts';
import { STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { verifyPaths } from '../statements/verified-twice.ts';
import { daybook, envOf, type Env } from '../cli/daybook.ts';

const { merchantNo } = MERCHANT;
const MONTH = '2026-02';
const RANGE = { from: '2026-02-26', to: '2026-03-02' };

let stage: Stage;
let env: Env;
let root: string;
beforeAll(async () => {
  const now = '2026-03-03T01:30:00+08:00';
  stage = await openStage({ scenario: scenario({ ...RANGE, entriesPerDay: 8, now }) });
  env = envOf(stage);
  root = join(stage.app.settings.dataDir, 'statements', `merchant=${merchantNo}`);
  const day = stage.sandbox
    .entriesOf(merchantNo)
    .filter(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith('2026-02-27'));
  stage.sandbox.takeOut(merchantNo, day[Math.floor(day.length / 2)]!.batchNo);
  await daybook(['run', '--from', '2026-02-01', '--to', '2026-02-28'], env);
});
afterAll(() => stage.close());

const close = () => daybook(['close', MONTH, '--merchant', merchantNo, '--by', 'Ada', '--json'], env);
const parsed = ({ stdout }: { readonly stdout: string }): unknown => JSON.parse(stdout);

it('says of each account what opening and entries lack of the closing, and which breaks were explained', async () => {
  const [found] = await stage.app.database.db
    .selectFrom('continuity_break')
    .select(['id', 'missing_net'])
    .execute();
  const id = found!.id;
  await daybook(['breaks', 'resolve', String(id), '--note', 'case 7', '--by', 'Ada'], env);
  await daybook(['publish', '--from', '2026-02-27', '--to', '2026-02-27'], env);
  expect((await close()).code).toBe(0);
  const path = join(root, `close=${MONTH}/${merchantNo}_${MONTH}.close1.json`);
  const file = JSON.parse(await readFile(path, 'utf8')) as CloseFile;
  const account = file.accounts.find(({ currency }) => currency === 'USD')!;
  expect(account).toMatchObject({ missingNet: found!.missing_net, daysBroken: 1, breaks: 1, explained: 1 });
  const { opening, creditTotal, debitTotal, missingNet, closing } = account;
  expect(subtractAmounts(addAmounts(addAmounts(opening!, creditTotal), missingNet!), debitTotal)).toBe(
    closing,
  );
  expect(file.accounts.find(({ currency }) => currency === 'KWD')).toMatchObject({
    ...{ missingNet: '0.000', daysBroken: 0, breaks: 0, explained: 0 },
  });
  expect(
    file.statements.find(({ currency, day }) => currency === 'USD' && day === '2026-02-27'),
  ).toMatchObject({
    ...{ verdict: 'broken', breaks: 1, explained: [id] },
  });
  expect((await verifyPaths([root], STATEMENT_FORMATS)).problems).toEqual([]);
});

it('tells that a break was reopened since, until it is resolved again', async () => {
  expect((await close()).code).toBe(0);
  const { id } = await stage.app.database.db
    .selectFrom('continuity_break')
    .select('id')
    .executeTakeFirstOrThrow();
  const reopened = await daybook(
    ['breaks', 'reopen', String(id), '--note', 'case 7 is open', '--by', 'Bob'],
    env,
  );
  expect(reopened.code).toBe(0);
  await daybook(['publish', '--from', '2026-02-27', '--to', '2026-02-27'], env);
  const ended = await close();
  expect(ended.code).toBe(3);
  expect(parsed(ended)).toMatchObject([
    {
      result: 'already',
      close: { number: 1 },
      openDays: [{ currency: 'USD', day: '2026-02-27', cause: 'broken' }],
    },
  ]);
  const reported = await daybook(['close', MONTH, '--merchant', merchantNo], env);
  expect(reported.stdout).toContain(
    `${MONTH} of ${merchantNo} was closed before (close 1, by Ada), and no statement changed since, but 1 account day (1 account) is open`,
  );
  expect(reported.stdout).toContain(`daybook breaks show ${id}`);
});
