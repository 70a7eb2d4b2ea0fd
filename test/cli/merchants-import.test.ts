/** Many merchants from one file: added, given new tokens, refused; all or nothing, and the same file again changes nothing. */
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { merchantTokens } from '../../src/store/merchants.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

const KEY = randomBytes(32);
const token = (merchantNo: string, version = 1): string => `made-up-token-${version}-of-${merchantNo}`;
const OF_PLATFORM = ['SBX-M-2', 'SBX-M-3'].map((merchantNo) => ({ merchantNo, token: token(merchantNo) }));

let stage: Stage;
let env: Env;
let folder: string;
beforeAll(async () => {
  stage = await openStage({
    scenario: scenario({
      entriesPerDay: 5,
      merchants: [MERCHANT, ...OF_PLATFORM].map((one) => ({ ...one, currencies: ['USD'] })),
    }),
  });
  env = { ...envOf(stage), DAYBOOK_SECRET_KEYS: `k1:${KEY.toString('base64')}` };
  folder = await mkdtemp(join(tmpdir(), 'daybook-import-'));
});
beforeEach(async () => {
  const { db } = stage.app.database;
  await db.deleteFrom('merchant').execute();
  await db.deleteFrom('audit_event').execute();
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content, { mode: 0o600 });
  await chmod(path, 0o600);
  return path;
}
const imported = (path: string, ...flags: string[]) => daybook(['merchants', 'import', path, ...flags], env);
/** The tokens of the merchants that are read. */
const stored = async () =>
  Object.fromEntries(
    (await merchantTokens(stage.app.database.db, [{ id: 'k1', key: KEY }])).map((one) => [
      one.merchantNo,
      one.token,
    ]),
  );
const audited = async () =>
  (await stage.app.database.db.selectFrom('audit_event').selectAll().orderBy('id').execute()).map(
    ({ command, subject }) => `${command} ${subject}`,
  );

const LIST = `merchantNo,token\nA-1,${token('A-1')}\nA-2,${token('A-2')}\n`;

it('adds merchants, gives known ones new tokens, and the same file again changes nothing', async () => {
  expect(await imported(await file('one.csv', LIST))).toMatchObject({
    code: 0,
    stderr: '',
    stdout: `2 merchants of ${join(folder, 'one.csv')}: 2 added\n`,
  });
  expect(await stored()).toEqual({ 'A-1': token('A-1'), 'A-2': token('A-2') });
  const more = `\uFEFF"token","merchantNo"\r\n${token('A-1', 2)},A-1\r\n${token('A-3')},A-3\r\n\r\n${token('A-2')},A-2`;
  const again = await imported(await file('two.csv', more), '--json');
  expect(JSON.parse(again.stdout)).toEqual({
    ...{ file: join(folder, 'two.csv'), dryRun: false, checked: false, disabled: [], refused: [] },
    ...{ added: ['A-3'], changed: ['A-1'], unchanged: ['A-2'], renamed: [] },
  });
  expect(await stored()).toEqual({ 'A-1': token('A-1', 2), 'A-2': token('A-2'), 'A-3': token('A-3') });
  expect((await imported(join(folder, 'two.csv'))).stdout).toContain(': 3 unchanged\n');
  expect(await audited()).toEqual(
    ['A-1', 'A-2', 'A-3', 'A-1'].map((merchantNo) => `merchants import ${merchantNo}`),
  );
});

it.each(['list.yaml', 'list.json'])('reads %s, with tokens of variables and files', async (name) => {
  await file('token-of-3', `${token('B-3')}\n`);
  const list = [
    { merchantNo: '0010', token: '007' },
    { merchantNo: 'B-2', tokenEnv: 'DAYBOOK_TEST_TOKEN_B2' },
    { merchantNo: 'B-3', tokenFile: 'token-of-3' },
  ];
  const yaml =
    'merchants:\n  - {merchantNo: 0010, token: 007}\n  - {merchantNo: B-2, tokenEnv: DAYBOOK_TEST_TOKEN_B2}\n' +
    '  - {merchantNo: B-3, tokenFile: token-of-3}\n';
  const path = await file(name, name.endsWith('.json') ? JSON.stringify(list) : yaml);
  const ended = await daybook(['merchants', 'import', path], { ...env, DAYBOOK_TEST_TOKEN_B2: token('B-2') });
  expect(ended).toMatchObject({ code: 0, stderr: '', stdout: `3 merchants of ${path}: 3 added\n` });
  expect(await stored()).toEqual({ '0010': '007', 'B-2': token('B-2'), 'B-3': token('B-3') });
});

it('a disabled merchant gets its token and stays disabled', async () => {
  await imported(await file('one.csv', LIST));
  await daybook(['merchants', 'disable', 'A-2'], env);
  const rotated = LIST.replaceAll('-token-1-', '-token-2-');
  const { code, stdout } = await imported(await file('rotated.csv', rotated));
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout:
      `2 merchants of ${join(folder, 'rotated.csv')}: 2 with a new token\n` +
      'still disabled: A-2; `daybook merchants enable NO` reads their ledgers again\n',
  });
  expect(await stored()).toEqual({ 'A-1': token('A-1', 2) });
  await daybook(['merchants', 'enable', 'A-2'], env);
  expect(await stored()).toEqual({ 'A-1': token('A-1', 2), 'A-2': token('A-2', 2) });
});

it('--merchant takes these alone, and --dry-run stores nothing', async () => {
  const path = await file('one.csv', LIST);
  expect((await imported(path, '--dry-run')).stdout).toBe(
    `2 merchants of ${path}: 2 added (dry run: nothing was stored)\n`,
  );
  expect([await stored(), await audited()]).toEqual([{}, []]);
  expect(await imported(path, '--merchant', 'A-2')).toMatchObject({ code: 0 });
  expect(await stored()).toEqual({ 'A-2': token('A-2') });
  expect(await imported(path, '--merchant', 'A-9')).toMatchObject({
    code: 2,
    stderr: `daybook: ${path} has no merchant A-9.\n`,
  });
});

it('--check stores the tokens that the platform takes, names the others, and ends with 4', async () => {
  const list = `merchantNo,token\nSBX-M-2,${token('SBX-M-2')}\nSBX-M-3,not-its-token\n`;
  const { code, stdout } = await imported(await file('check.csv', list), '--check');
  expect(code).toBe(4);
  expect(stdout).toMatch(/: 1 added, 1 refused and not stored\nnot stored: SBX-M-3: .*401/);
  expect(await stored()).toEqual({ 'SBX-M-2': token('SBX-M-2') });
});

it.each([
  ['columns', 'no,token\nA-1,hidden-token\n', 'the first line names the columns'],
  ['semicolons', 'merchantNo;token\nA-1;hidden-token\n', 'separated by commas'],
  [
    'twice',
    'merchantNo,token\nA-1,hidden-token\nA-1,hidden-token\n',
    'line 3: merchant A-1 is in line 2 already',
  ],
  ['cells', 'merchantNo,token\nA-1,hidden-token,x\n', 'line 2: has 3 cells, and the first line 2'],
  ['no token', 'merchantNo,token\nA-1,\n', 'line 2: has none; give one of token, tokenEnv, tokenFile'],
  ['two tokens', 'merchantNo,token,tokenEnv\nA-1,hidden-token,X\n', 'line 2: has token and tokenEnv'],
  [
    'no variable',
    'merchantNo,tokenEnv\nA-1,NO_SUCH\n',
    'line 2: the token of the variable NO_SUCH is missing',
  ],
  ['no file', 'merchantNo,tokenFile\nA-1,no-such\n', 'line 2: the token in no-such is missing or empty'],
  ['a bad token', 'merchantNo,token\nA-1,hidden token\n', 'line 2: the token must be printable ASCII'],
  ['quote', 'merchantNo,token\nA-1,"hidden-token\n', 'is no CSV'],
  ['empty', 'merchantNo,token\n', 'names no merchant'],
])('refuses a file with %s, all at once and without a token in the message', async (_, content, said) => {
  const { code, stdout, stderr } = await imported(await file('wrong.csv', content));
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(said);
  expect(stderr).not.toContain('hidden');
  expect(await stored()).toEqual({});
});

it.each([
  [
    '- {merchantNo: A-1, token: {x: hidden-token}}\n',
    'merchant 1: may have merchantNo, token, tokenEnv, tokenFile',
  ],
  ['- hidden-token\n', 'merchant 1: has no fields'],
  ['merchantNo: A-1\ntoken: hidden-token\n', 'is no list of merchants'],
  ['- {merchantNo: A-1, token: hidden-token\n', 'is neither JSON nor YAML: line'],
  ['- {merchantNo: A-1, token: &x hidden-token}\n- {merchantNo: A-2, token: *x}\n', 'anchors'],
])('refuses the YAML %j', async (content, said) => {
  const { code, stderr } = await imported(await file('wrong.yaml', content));
  expect(code).toBe(2);
  expect(stderr).toContain(said);
  expect(stderr).not.toContain('hidden');
});

it('a file with tokens that others may open is refused, with the command that closes it', async () => {
  const path = await file('open.csv', LIST);
  await chmod(path, 0o644);
  const { code, stderr } = await imported(path);
  expect(code).toBe(2);
  expect(stderr).toContain(
    `${path} holds tokens, and others may open it (mode 0644): \`chmod g-w,o= ${path}\``,
  );
  expect(await imported(join(folder, 'none.csv'))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('cannot be read (ENOENT)'),
  });
});

it('a thousand merchants are added, and all their tokens replaced, each in one command', async () => {
  const numbers = Array.from({ length: 1_000 }, (_, index) => `T-${String(index).padStart(4, '0')}`);
  const list = (version: number) =>
    ['merchantNo,token', ...numbers.map((no) => `${no},${token(no, version)}`)].join('\n');
  const path = await file('thousand.csv', list(1));
  expect((await imported(path)).stdout).toBe(`1,000 merchants of ${path}: 1,000 added\n`);
  await file('thousand.csv', list(2));
  expect((await imported(path)).stdout).toBe(`1,000 merchants of ${path}: 1,000 with a new token\n`);
  expect(await stored()).toEqual(Object.fromEntries(numbers.map((no) => [no, token(no, 2)])));
});
