/**
 * Kills a real process that has put a signature and not its manifest yet. The next run leaves every file verified.
 *
 * @module-tag long
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { keyPairOf } from '../../src/signing.ts';
import { manifestKey } from '../../src/verify/names.ts';
import { signatureKey } from '../../src/statements/keys.ts';
import { daybook, envOf, startDaybook, type Env } from '../cli/daybook.ts';
import { DAYS, FROM, MERCHANT, openStage, scenario, TO, type Stage } from '../support/stage.ts';

const { merchantNo } = MERCHANT;
const RUN = ['run', '--from', FROM, '--to', TO, '--json'];
const STOPPER = fileURLToPath(new URL('stop-before-rename.ts', import.meta.url));
const PAIR = keyPairOf(Buffer.alloc(32, 1), Buffer.alloc(8, 1));

let stage: Stage;
afterEach(() => stage.close());

const isStopped = async (pid: number): Promise<boolean> =>
  / T /.test((await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\)/, ''));
const statements = () => join(stage.app.settings.dataDir, 'statements');
const textOf = (key: string): Promise<string | null> =>
  readFile(join(statements(), key), 'utf8').catch(() => null);
const signedPairs = () =>
  Promise.all(
    DAYS.map(async (day) => [
      await textOf(signatureKey(merchantNo, day)),
      await textOf(manifestKey(merchantNo, day)),
    ]),
  );
const verify = () => daybook(['verify', '--public-key', PAIR.publicKey, '--whole', statements()], {});

test.each([
  ['of a first manifest', false],
  ['of one that replaces another', true],
])('killed between the signature and the manifest, %s', async (_, stands) => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 10 }) });
  const env: Env = { ...envOf(stage), DAYBOOK_SIGNING_KEY: PAIR.secretKey };
  if (stands) {
    expect(await daybook(RUN, env)).toMatchObject({ code: 0 });
    const entry = stage.sandbox.entriesOf(merchantNo).find(({ currency }) => currency === 'USD')!;
    stage.sandbox.amend(merchantNo, entry.batchNo, { busiType: 'CHANGED' });
  }
  const before = await signedPairs();
  const { child, ended } = startDaybook(RUN, { ...env, NODE_OPTIONS: `--import ${STOPPER}` });
  await vi.waitFor(async () => expect(await isStopped(child.pid!)).toBe(true), { timeout: 50_000 });
  child.kill('SIGKILL');
  expect((await ended).code).toBeNull();
  const cut = (await signedPairs()).filter(
    ([signature, manifest], nth) => signature !== before[nth]![0] && manifest === before[nth]![1],
  );
  expect(cut.length).toBeGreaterThan(0);
  expect((await verify()).code).toBe(3);

  expect([0, 3]).toContain((await daybook(RUN, env)).code);
  const { code, stdout } = await verify();
  expect(code, stdout).toBe(0);
  expect(stdout).toContain(`${DAYS.length} of ${DAYS.length} manifests signed with the key`);
});
