/** From a new key pair to a month that an auditor checks, with the commands that a person types. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyPairOf } from '../../src/signing.ts';
import { manifestKey } from '../../src/verify/names.ts';
import { minisign } from './minisign.ts';
import { DAYS, FROM, MERCHANT, openStage, scenario, TO, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from '../cli/daybook.ts';

const { merchantNo } = MERCHANT;
const OTHER = keyPairOf(Buffer.alloc(32, 9), Buffer.alloc(8, 9));
let stage: Stage;
let env: Env;
let folder: string;
const keys = () => join(folder, 'keys');
const publicFile = () => join(keys(), 'daybook.pub');
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 10 }) });
  folder = await mkdtemp(join(tmpdir(), 'daybook-keygen-'));
  expect(await daybook(['statements', 'keygen', '--out', keys()], {})).toMatchObject({ code: 0 });
  env = { ...envOf(stage), DAYBOOK_SIGNING_KEY_FILE: join(keys(), 'daybook.key') };
  expect(await daybook(['run', '--from', FROM, '--to', TO], env)).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true });
});

describe('statements keygen', () => {
  it('writes a pair that only its owner reads, and overwrites none', async () => {
    expect((await stat(join(keys(), 'daybook.key'))).mode & 0o777).toBe(0o600);
    expect(await readFile(publicFile(), 'utf8')).toMatch(
      /^untrusted comment: minisign public key [0-9A-F]{16}\nRW.{54}\n$/,
    );
    const again = await daybook(['statements', 'keygen', '--out', keys()], {});
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('no key is ever overwritten') });
  });

  it('prints the secret and the public key, another pair each time', async () => {
    const [one, another] = await Promise.all(
      [1, 2].map(
        async () => JSON.parse((await daybook(['statements', 'keygen', '--json'], {})).stdout) as object,
      ),
    );
    expect(one).toEqual({
      ...{ id: expect.stringMatching(/^[0-9A-F]{16}$/), publicKey: expect.stringMatching(/^RW.{54}$/) },
      secretKey: expect.stringMatching(/^RWQAAEIy.{204}$/),
    });
    expect(another).not.toEqual(one);
  });
});

it('is what doctor names where no key is set', async () => {
  const { stdout } = await daybook(['doctor'], envOf(stage));
  expect(stdout).toContain(
    'signing key: none, so manifests are not signed; `daybook statements keygen` makes one',
  );
});

const verify = (...args: string[]) => daybook(['verify', ...args], {});

describe('what was published with the key', () => {
  it.skipIf(minisign === null)('is accepted by minisign', async () => {
    const manifest = join(fileURLToPath(stage.app.settings.statementsUrl), manifestKey(merchantNo, FROM));
    const { stdout } = await promisify(execFile)(minisign!, ['-V', '-m', manifest, '-p', publicFile()]);
    expect(stdout).toContain(
      `Trusted comment: merchant=${merchantNo}/date=${FROM}/manifest.json revision 1, signed 20`,
    );
  });

  it('is checked by verify with the public key, which says where the chain ends', async () => {
    const { code, stdout } = await verify(
      '--public-key',
      publicFile(),
      fileURLToPath(stage.app.settings.statementsUrl),
    );
    expect(stdout).toMatch(
      new RegExp(
        `all unchanged since publication\\n${DAYS.length} of ${DAYS.length} manifests signed with the key\\n` +
          `chain of ${merchantNo}: ${DAYS.length} manifests, 1 to ${DAYS.length}; the last is revision 1 of ${TO}, SHA-256 [0-9a-f]{64}\\n`,
      ),
    );
    expect(code).toBe(0);
  });

  it('of one day alone: verify notes the manifests that are not there, and without a key says nothing of them', async () => {
    const path = join(fileURLToPath(stage.app.settings.statementsUrl), `merchant=${merchantNo}/date=${TO}`);
    const signed = await verify('--public-key', publicFile(), path);
    expect(signed.code).toBe(0);
    expect(signed.stdout).toMatch(/^ {2}note: .*\n1 of 1 manifest signed with the key\n/m);
    expect(signed.stdout).toContain('\nmissing files were not given, or were removed: ');
    expect(await verify(path)).toEqual({
      code: 0,
      stdout: '3 files of 1 manifest checked: all unchanged since publication\n',
      stderr: '',
    });
  });

  it('is refused with another key, and what is no key is wrong usage', async () => {
    const path = fileURLToPath(stage.app.settings.statementsUrl);
    const other = await verify('--public-key', OTHER.publicKey, path);
    expect(other).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('it is signed by another key, '),
    });
    const both = await verify('--public-key', OTHER.publicKey, '--public-key', publicFile(), path);
    expect(both).toMatchObject({ code: 0 });
    for (const [given, reported] of [
      ['RWnothing', 'is no public key of minisign (RW...), and no file'],
      [join(keys(), 'daybook.key'), 'holds no public key of minisign'],
    ] as const)
      expect(await verify('--public-key', given, path)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(reported),
      });
  });

  it('does not show a secret key that was given in place of the public one', async () => {
    const path = fileURLToPath(stage.app.settings.statementsUrl);
    const secret = (await readFile(join(keys(), 'daybook.key'), 'utf8')).split('\n')[1]!;
    for (const [given, reported] of [
      [secret, 'was given the secret key'],
      [`${secret.slice(0, -4)}AAAA`.slice(1), 'is no public key of minisign'],
    ] as const) {
      const { code, stdout, stderr } = await verify('--public-key', given, path);
      expect(code).toBe(2);
      expect(stderr).toContain(reported);
      expect(stdout + stderr).not.toContain(secret.slice(-60, -10));
    }
  });

  it('brings its signature along with a single statement and with a month, of the same text though the store has another', async () => {
    // As in a store where a replaced manifest came as far as its signature.
    const manifest = join(
      stage.app.settings.dataDir,
      `statements/merchant=${merchantNo}/date=${FROM}/manifest.json`,
    );
    await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('"epoch": ', '"epoch": 1'));
    const single = join(folder, 'single');
    const asked = ['--merchant', merchantNo, '--currency', 'USD'];
    await daybook(['statements', 'get', ...asked, '--day', FROM, '--out', single], env);
    const name = `${merchantNo}_USD_${FROM}`;
    expect((await readdir(single)).sort()).toEqual([
      `${name}.manifest.json`,
      `${name}.manifest.json.minisig`,
      `${name}.r1.csv`,
    ]);
    expect(await verify('--public-key', publicFile(), join(single, `${name}.r1.csv`))).toMatchObject({
      code: 0,
    });
    for (const flags of [[], asked]) {
      const zip = join(folder, `month-${flags.length}.zip`);
      await daybook(['statements', 'get', '--month', '2026-03', ...flags, '--out', zip], env);
      const into = await mkdtemp(join(folder, 'unpacked-'));
      await promisify(execFile)('python3', ['-m', 'zipfile', '-e', zip, into]);
      expect(await verify('--public-key', publicFile(), join(into, `merchant=${merchantNo}`))).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(`${DAYS.length} of ${DAYS.length} manifests signed`),
      });
    }
  });
});
