/** Display names and own references by command: given, shown, removed, from a file, refused; each change on record with before and after. */
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

const NO = MERCHANT.merchantNo;
const OTHER = 'A-1';
const IBAN = 'DE89370400440532013000';
let stage: Stage;
let env: Env;
let folder: string;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 3 }) });
  env = { ...envOf(stage), DAYBOOK_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}` };
  folder = await mkdtemp(join(tmpdir(), 'daybook-names-'));
});
beforeEach(async () => {
  const { db } = stage.app.database;
  for (const table of ['account_name', 'merchant', 'audit_event'] as const)
    await db.deleteFrom(table).execute();
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

const run = (...args: string[]) => daybook(['merchants', ...args], env);
const named = (...args: string[]) => run('name', ...args);
const add = (no: string) =>
  daybook(['merchants', 'add', '--merchant-no', no, '--token-env', 'OTHERS'], {
    ...env,
    OTHERS: `token-of-${no}`,
  });
const listed = async () => {
  const rows = JSON.parse((await run('list', '--json')).stdout) as Record<string, unknown>[];
  return rows.map(({ merchantNo, name, reference, accounts }) => ({ merchantNo, name, reference, accounts }));
};
const audited = async () =>
  (await stage.app.database.db.selectFrom('audit_event').selectAll().orderBy('id').execute()).map(
    ({ by_whom, command, subject, note }) => [by_whom, command, subject, note],
  );
async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content, { mode: 0o600 });
  await chmod(path, 0o600);
  return path;
}

it('names the merchant of the settings and its accounts, shows them, and removes them again', async () => {
  expect(await named(NO, '--name', ' Acme & Söhne ', '--reference', 'K-20017', '--by', 'ada')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: `${NO}: Acme & Söhne, reference K-20017\n`,
  });
  const account = ['--currency', 'USD', '--name', 'Settlement', '--iban', 'de89 3704 0044 0532 0130 00'];
  expect((await named(NO, ...account, '--ledger-account', '1210', '--by', 'bob')).stdout).toBe(
    `${NO}: Acme & Söhne, reference K-20017\n${NO} USD: Settlement, IBAN ${IBAN}, ledger account 1210\n`,
  );
  const accounts = [{ currency: 'USD', name: 'Settlement', iban: IBAN, ledgerAccount: '1210' }];
  const names = { merchantNo: NO, name: 'Acme & Söhne', reference: 'K-20017', accounts };
  expect(await listed()).toEqual([names]);
  expect(JSON.parse((await named(NO, '--json')).stdout)).toEqual(names);
  expect((await run('list')).stdout).toMatch(/merchant\s+name\s+.*\n-*.*SBX-M-1\s+Acme & Söhne\s/s);
  // It is still read with the token of the settings, and is no merchant of the database.
  expect((await run('list')).stdout).toContain('from the settings');

  expect((await named(NO, '--name', '', '--by', 'ada')).stdout).toContain(`${NO}: reference K-20017\n`);
  expect((await named(NO, '--currency', 'USD', '--clear', '--by', 'ada')).stdout).toBe(
    `${NO}: reference K-20017\n`,
  );
  expect((await named(NO, '--clear', '--by', 'ada')).stdout).toBe(`${NO} has no names\n`);
  expect(await listed()).toEqual([{ merchantNo: NO, name: null, reference: null, accounts: [] }]);
  expect(await audited()).toEqual([
    ['ada', 'merchants name', NO, 'name: Acme & Söhne (before: none); reference: K-20017 (before: none)'],
    [
      ...['bob', 'merchants name', `${NO} USD`],
      `name: Settlement (before: none); IBAN: ${IBAN} (before: none); ledger account: 1210 (before: none)`,
    ],
    ['ada', 'merchants name', NO, 'name: none (before: Acme & Söhne)'],
    [
      ...['ada', 'merchants name', `${NO} USD`],
      `name: none (before: Settlement); IBAN: none (before: ${IBAN}); ledger account: none (before: 1210)`,
    ],
    ['ada', 'merchants name', NO, 'reference: none (before: K-20017)'],
  ]);
});

it('the same again changes nothing and leaves no record; what is not given stays', async () => {
  await named(NO, '--name', 'Acme', '--reference', 'K-1');
  const again = await named(NO, '--name', 'Acme', '--json');
  expect(JSON.parse(again.stdout)).toMatchObject({ name: 'Acme', reference: 'K-1', changed: false });
  expect(await audited()).toHaveLength(1);
});

it('a merchant without names is listed as before, and has no column of names', async () => {
  await add(OTHER);
  const { stdout } = await run('list');
  expect(stdout).not.toMatch(/\bname\b|reference/);
  expect((await named(OTHER)).stdout).toBe(`${OTHER} has no names\n`);
});

it.each([
  [['X-9', '--name', 'Acme'], 'merchant X-9 is not known; `daybook merchants list` shows those that are.'],
  [[NO, '--iban', IBAN], '--iban is of an account: say which with --currency CCC.'],
  [
    [NO, '--currency', 'USD', '--reference', 'K'],
    '--reference is of the merchant itself: leave --currency out.',
  ],
  [
    [NO, '--currency', 'usd', '--name', 'A'],
    '--currency usd is no currency code; write three capitals, like USD.',
  ],
  [[NO, '--name', 'a\nb'], '--name holds a line break or a character that does not show; leave it out.'],
  [
    [NO, '--name', 'Acme\u202e'],
    '--name holds a line break or a character that does not show; leave it out.',
  ],
  [[NO, '--reference', 'x'.repeat(36)], '--reference has 36 characters; it may have 35.'],
  [[NO, '--name', 'A', '--clear'], 'cannot be used with option'],
])('%j is refused, and nothing is stored', async (args, problem) => {
  const { code, stderr } = await named(...args);
  expect([code, stderr.includes(problem)], stderr).toEqual([2, true]);
  expect(await audited()).toEqual([]);
});

describe('an IBAN', () => {
  it('with wrong check digits is stored, and said to be none', async () => {
    const { code, stdout } = await named(NO, '--currency', 'USD', '--iban', 'DE89370400440532013001');
    expect(code).toBe(0);
    expect(stdout).toContain(
      `${NO} USD: identifier DE89370400440532013001\nthe check digits of DE89370400440532013001 are wrong`,
    );
  });

  it('of another account of the currency is refused; of another currency it may be the same', async () => {
    await add(OTHER);
    await named(NO, '--currency', 'USD', '--iban', IBAN);
    const { code, stderr } = await named(OTHER, '--currency', 'USD', '--iban', IBAN, '--name', 'Mine');
    expect([code, stderr]).toEqual([
      2,
      `daybook: ${IBAN} is the IBAN of account ${NO} USD already, and nothing was stored: give each account of a currency its own.\n`,
    ]);
    expect((await named(OTHER)).stdout).toBe(`${OTHER} has no names\n`);
    expect(await named(NO, '--currency', 'KWD', '--iban', IBAN)).toMatchObject({ code: 0 });
    expect(await audited()).toHaveLength(3);
  });
});

describe('merchants import', () => {
  it('takes names with tokens, and for known merchants names alone; empty cells change nothing', async () => {
    await add(OTHER);
    await named(OTHER, '--reference', 'K-1');
    const list = `merchantNo,token,name,reference\nA-2,token-of-A-2,"Beta, Ltd",\n${OTHER},,Alpha,\n${NO},,,K-9\n`;
    const path = await file('names.csv', list);
    const dry = await run('import', path, '--dry-run', '--json');
    expect(JSON.parse(dry.stdout)).toMatchObject({ added: ['A-2'], renamed: ['A-2', OTHER, NO] });
    expect((await listed()).filter(({ name }) => name !== null)).toEqual([]);
    expect((await run('import', path, '--by', 'ada')).stdout).toBe(
      `3 merchants of ${path}: 1 added, 3 with other names\n`,
    );
    expect(await listed()).toEqual([
      { merchantNo: OTHER, name: 'Alpha', reference: 'K-1', accounts: [] },
      { merchantNo: 'A-2', name: 'Beta, Ltd', reference: null, accounts: [] },
      { merchantNo: NO, name: null, reference: 'K-9', accounts: [] },
    ]);
    expect((await audited()).slice(-4)).toEqual([
      ['ada', 'merchants import', 'A-2', null],
      ['ada', 'merchants import', 'A-2', 'name: Beta, Ltd (before: none)'],
      ['ada', 'merchants import', OTHER, 'name: Alpha (before: none)'],
      ['ada', 'merchants import', NO, 'reference: K-9 (before: none)'],
    ]);
    expect((await run('import', path)).stdout).toBe(`3 merchants of ${path}: 3 unchanged\n`);
  });

  it('takes accounts in YAML, where two swap their IBANs and an empty text removes', async () => {
    await named(NO, '--currency', 'USD', '--iban', IBAN, '--name', 'Old');
    await named(NO, '--currency', 'KWD', '--iban', 'GB29NWBK60161331926819');
    await add(OTHER);
    await named(OTHER, '--currency', 'USD', '--iban', 'NO9386011117947');
    const yaml = `
- merchantNo: ${NO}
  name: Acme
  accounts:
    USD: {iban: NO93 8601 1117 947, name: ""}
- {merchantNo: ${OTHER}, accounts: {USD: {iban: ${IBAN}, ledgerAccount: 0012}}}
`;
    expect(await run('import', await file('names.yaml', yaml))).toMatchObject({ code: 0, stderr: '' });
    const wrong = `[{merchantNo: ${NO}, accounts: {EUR: {iban: DE00370400440532013000}}}]`;
    expect((await run('import', await file('wrong.yaml', wrong), '--dry-run')).stdout).toContain(
      'the check digits of DE00370400440532013000 are wrong',
    );
    expect(await listed()).toEqual([
      {
        ...{ merchantNo: OTHER, name: null, reference: null },
        accounts: [{ currency: 'USD', name: null, iban: IBAN, ledgerAccount: '0012' }],
      },
      {
        ...{ merchantNo: NO, name: 'Acme', reference: null },
        accounts: [
          { currency: 'KWD', name: null, iban: 'GB29NWBK60161331926819', ledgerAccount: null },
          { currency: 'USD', name: null, iban: 'NO9386011117947', ledgerAccount: null },
        ],
      },
    ]);
  });

  it.each([
    [
      'long.csv',
      `merchantNo,name\n${NO},${'x'.repeat(141)}\n`,
      'line 2: name has 141 characters; it may have 140',
    ],
    ['unknown.csv', 'merchantNo,name\nX-9,Acme\n', 'merchant X-9 is not known'],
    ['nothing.csv', `merchantNo,name\n${NO},\n`, 'line 2: has none; give one of token, tokenEnv, tokenFile'],
    [
      'field.yaml',
      `[{merchantNo: ${NO}, accounts: {USD: {reference: K}}}]`,
      'merchant 1: accounts has a currency',
    ],
    [
      'currency.yaml',
      `[{merchantNo: ${NO}, accounts: {usd: {name: K}}}]`,
      'merchant 1: accounts has a currency',
    ],
    ['list.yaml', `[{merchantNo: ${NO}, accounts: [USD]}]`, 'merchant 1: accounts has a currency'],
    ['twice.yaml', `[{merchantNo: ${NO}, accounts: {USD: {name: a}, USD: {name: b}}}]`, 'duplicate key'],
    [
      'taken.yaml',
      `[{merchantNo: ${NO}, accounts: {USD: {iban: ${IBAN}}}}, {merchantNo: B-1, token: t, accounts: {USD: {iban: ${IBAN}}}}]`,
      `${IBAN} is the IBAN of account ${NO} USD already`,
    ],
  ])('%s is refused, and nothing of it is stored', async (name, content, problem) => {
    const { code, stderr } = await run('import', await file(name, content));
    expect([code, stderr.includes(problem)], stderr).toEqual([2, true]);
    expect([await audited(), (await listed()).map(({ merchantNo }) => merchantNo)]).toEqual([[], [NO]]);
  });
});
