/** Whose ledgers are read: the rules for numbers and tokens, trying a token before it is stored, disable and enable. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

const OTHER = { merchantNo: 'SBX-M-2', token: 'made-up-token-of-2' };

let stage: Stage;
let env: Env;
beforeAll(async () => {
  stage = await openStage({
    scenario: scenario({
      entriesPerDay: 5,
      merchants: [
        { ...MERCHANT, currencies: ['USD'] },
        { ...OTHER, currencies: ['USD'] },
      ],
    }),
  });
  env = { ...envOf(stage), DAYBOOK_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}` };
});
afterAll(() => stage.close());

const add = (merchantNo: string, token: string, ...flags: string[]) =>
  daybook(['merchants', 'add', '--merchant-no', merchantNo, '--token-env', 'NEW_TOKEN', ...flags], {
    ...env,
    NEW_TOKEN: token,
  });
const stored = async () =>
  (await stage.app.database.db.selectFrom('merchant').select(['merchant_no', 'status']).execute()).map(
    ({ merchant_no, status }) => `${merchant_no} ${status}`,
  );

it.each([
  ['', OTHER.token, '--merchant-no  is no merchant number: it must be 1 to 32 printable characters'],
  [' M1', OTHER.token, '--merchant-no  M1 is no merchant number'],
  ['M\u200b1', OTHER.token, '--merchant-no M\\u200b1 is no merchant number'],
  ['M\n1', OTHER.token, 'is no merchant number'],
  ['x'.repeat(33), OTHER.token, 'is no merchant number'],
  ['M1', ' ', 'the token is empty'],
  ['M1', 'two words', 'the token must be printable ASCII without spaces'],
  ['M1', 'two\nlines', 'the token must be printable ASCII without spaces'],
  ['M1', 'x'.repeat(513), 'up to 512 characters'],
])('refuses %j with the token %j before anything is opened', async (merchantNo, token, said) => {
  const { code, stderr } = await add(merchantNo, token);
  expect(code).toBe(2);
  expect(stderr).toContain(said);
  if (token.trim() !== '') expect(stderr).not.toContain(token);
  expect(await stored()).toEqual([]);
});

it('before the first run, status says so, and nothing is held or told', async () => {
  expect((await daybook(['status'], env)).stdout).toMatch(/^last run: none yet\n/);
  const [status] = JSON.parse((await daybook(['status', '--json'], env)).stdout) as object[];
  expect(status).not.toHaveProperty('alerts');
  expect((await daybook(['amendments'], env)).stdout).toContain('\nnothing is held\n');
});

it('--check tries the token first, and stores nothing if the platform refuses it', async () => {
  const refused = await add(OTHER.merchantNo, 'not-the-one', '--check');
  expect(refused.code).toBe(4);
  expect(refused.stderr).toMatch(/401/);
  expect(refused.stderr).not.toContain('not-the-one');
  expect(await stored()).toEqual([]);
  const taken = await add(OTHER.merchantNo, OTHER.token, '--check');
  expect(taken).toMatchObject({ code: 0, stderr: '' });
  expect(taken.stdout).toBe(
    `merchant ${OTHER.merchantNo} is added, and the platform takes its token; the next run reads its ledger\n`,
  );
});

it('a merchant is disabled and enabled, and a new token leaves it disabled', async () => {
  const turn = (word: string, no = OTHER.merchantNo) => daybook(['merchants', word, no], env);
  expect(await turn('disable')).toMatchObject({
    code: 0,
    stdout: `merchant ${OTHER.merchantNo} is disabled\n`,
  });
  expect(await stored()).toEqual([`${OTHER.merchantNo} disabled`]);
  expect(await turn('enable')).toMatchObject({
    code: 0,
    stdout: `merchant ${OTHER.merchantNo} is enabled\n`,
  });
  expect(await stored()).toEqual([`${OTHER.merchantNo} active`]);
  await turn('disable');
  expect((await add(OTHER.merchantNo, OTHER.token)).stdout).toBe(
    `merchant ${OTHER.merchantNo} has a new token; it stays disabled: \`daybook merchants enable ${OTHER.merchantNo}\` reads its ledger again\n`,
  );
  expect(await stored()).toEqual([`${OTHER.merchantNo} disabled`]);
  expect(await turn('enable', 'M-UNKNOWN')).toMatchObject({ code: 2 });
});

it('the merchant of the settings can only be disabled in the settings, and the command says so', async () => {
  const { code, stderr } = await daybook(['merchants', 'disable', MERCHANT.merchantNo], env);
  expect(code).toBe(2);
  expect(stderr).toContain('take PLATFORM_MERCHANT_NO and PLATFORM_TOKEN out of the environment');
});

it.each([
  ['statements', 'list'],
  ['statements', 'get', '--merchant', MERCHANT.merchantNo, '--day', '2026-03-02'],
])('a currency in small letters gives the same message: %s %s', async (...command) => {
  const { code, stderr } = await daybook([...command, '--currency', 'usd'], env);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: 'daybook: --currency usd is no currency code; write three capitals, like USD.\n',
  });
});
