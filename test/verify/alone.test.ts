/**
 * The file for auditors next to the command: what they print, and what the file is made of.
 *
 * @module-tag long
 */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { standaloneVerify } from '../../scripts/build/standalone.ts';
import type { SigningKey } from '../../src/ledger/signature.ts';
import { keyPairOf, readSigningKey } from '../../src/signing.ts';
import { verifyAlone } from '../support/standalone.ts';
import { daybook } from '../cli/daybook.ts';

/** What came with Node 21 to 24 and resembles nothing older. */
const NEWER_THAN_NODE_20 = new RegExp(
  [
    String.raw`\b(Map|Object)\.groupBy\b|\bPromise\.(withResolvers|try)\b|\bArray\.fromAsync\b|\bRegExp\.escape\b`,
    String.raw`\bimport\.meta\.main\b|\bError\.isError\b|\bMath\.sumPrecise\b|\bIterator\b|\bawait using\b|\bglob(Sync)?\(`,
    String.raw`\.(isSubsetOf|isSupersetOf|isDisjointFrom|union|intersection|difference|symmetricDifference)\(`,
    String.raw`\.(keys|values|entries)\(\)\.(map|filter|flatMap|some|every|find|toArray|take|drop|reduce|forEach)\(`,
  ].join('|'),
  'g',
);

let folder: string;
let statements: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'daybook-alone-'));
  expect((await daybook(['demo'], {}, folder)).code).toBe(0);
  statements = join(folder, '.daybook/demo/statements');
});
afterAll(() => rm(folder, { recursive: true }));

/** What is left of a line of code without the texts in it; nothing of a comment's line. */
const codeOf = (line: string): string =>
  line.replace(/^ \* .*/, '').replaceAll(/'(?:[^'\\]|\\.)*'|`[^`]*`/g, '');

test('it imports nothing but Node’s own modules, and is code to be read', async () => {
  const text = await standaloneVerify();
  const imported = [
    ...text.matchAll(/^import .* from '([^']+)'|\b(?:import|require|__require)\('([^']+)'\)/gm),
  ].map(([, name, other]) => name ?? other!);
  expect(imported.length).toBeGreaterThan(2);
  expect(imported.filter((name) => !isBuiltin(name))).toEqual([]);
  expect(text.split('\n').filter((line) => codeOf(line).length >= 160)).toEqual([]);
  for (const reads of ['// src/verify/rows.ts', '/** Checks the rows of a statement of `day`', 'objectOf({'])
    expect(text).toContain(reads);
});

test('the licence of each package that is in it goes with it', async () => {
  const text = await standaloneVerify();
  const packages = [...text.matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)].map(
    ([, name]) => name!,
  );
  expect(packages).toContain('yauzl');
  for (const name of packages) expect(text).toMatch(new RegExp(`^/\\*\n${name}:\n\n.*MIT`, 'm'));
});

test('it uses nothing that is newer than the Node it says it needs', async () => {
  const text = await standaloneVerify();
  expect(text).toContain('It needs Node 20 or newer');
  expect(text.match(NEWER_THAN_NODE_20) ?? []).toEqual([]);
});

test('a whole night’s statements, and damaged ones, get the same words and exit code as from the command', async () => {
  const damaged = join(folder, 'damaged');
  await cp(statements, damaged, { recursive: true });
  const day = join(damaged, 'merchant=SANDBOX-10001/date=2026-03-28');
  await writeFile(join(day, 'manifest.json'), '{}');
  const sheet = join(damaged, 'merchant=SANDBOX-10003/date=2026-03-30/SANDBOX-10003_KWD_2026-03-30.r1.csv');
  await writeFile(sheet, (await readFile(sheet, 'utf8')).replace(',KWD,', ',K"D,'));
  // No manifest names it, which only its format's ending tells.
  await writeFile(sheet.replace('.r1.csv', '.r7.mt940'), 'put here');
  for (const [paths, code] of [
    [[statements], 0],
    [[damaged], 3],
    [[join(folder, 'nowhere')], 2],
    [[statements, '--json'], 0],
    [['--complete', statements], 0],
    [['--whole', damaged], 3],
    [[damaged, '--json'], 3],
  ] as const) {
    const said = await daybook(['verify', ...paths], {});
    expect(said.code).toBe(code);
    expect(await verifyAlone(paths)).toEqual(said);
    if (paths[0] === damaged) expect(said.stdout).toContain('the manifest here names no such revision');
  }
});

test('it takes public keys, any number of them', async () => {
  const [good, wrong] = [1, 2].map((byte) => keyPairOf(Buffer.alloc(32, byte), Buffer.alloc(8, byte)));
  const signed = join(folder, 'signed');
  await cp(statements, signed, { recursive: true });
  const key = readSigningKey(good!.secretKey) as SigningKey;
  for (const file of await readdir(signed, { recursive: true })) {
    if (!file.endsWith('manifest.json')) continue;
    const path = join(signed, file);
    await writeFile(`${path}.minisig`, key.sign(await readFile(path), file));
  }
  for (const [keys, code] of [
    [[good!], 0],
    [[wrong!], 3],
    [[wrong!, good!], 0],
  ] as const) {
    const asked = [...keys.flatMap(({ publicKey }) => ['--public-key', publicKey]), signed];
    const said = await daybook(['verify', ...asked], {});
    expect(said.code).toBe(code);
    expect(await verifyAlone(asked)).toEqual(said);
  }
});

test('its help names what can be asked; anything else is wrong usage', async () => {
  const help = await verifyAlone(['--help']);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toMatch(/^Usage: node verify\.mjs \[options\] <path\.\.\.>\n/);
  expect(help.stdout).toContain('  --json  ');
  expect(await verifyAlone(['--nonsense', statements])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^error: Unknown option '--nonsense'/) as string,
  });
  expect(await verifyAlone([])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Name files') as string,
  });
});
