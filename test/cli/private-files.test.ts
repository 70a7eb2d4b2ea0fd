import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAYS, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf } from './daybook.ts';

let stage: Stage;
let folder: string;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 5 }) });
  folder = await mkdtemp(join(tmpdir(), 'daybook-private-'));
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true });
});

test('a settings file with secrets in it is refused while others may open it', async () => {
  const path = join(folder, 'daybook.yaml');
  await writeFile(path, 'platform: { merchantNo: M1, token: made-up-token-1 }\n', { mode: 0o644 });
  const env = { ...envOf(stage), PLATFORM_MERCHANT_NO: '', PLATFORM_TOKEN: '' };
  const refused = await daybook(['merchants', 'list', '--config', path], env);
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`Example: chmod g-w,o= ${path}`),
  });
  await chmod(path, 0o600);
  expect(await daybook(['merchants', 'list', '--config', path], env)).toMatchObject({ code: 0 });
});

test('a file that a variable names as a secret is refused while others may open it', async () => {
  const path = join(folder, 'token');
  await writeFile(path, 'made-up-token-1\n', { mode: 0o644 });
  const env = { ...envOf(stage), PLATFORM_MERCHANT_NO: 'M1', PLATFORM_TOKEN: '', PLATFORM_TOKEN_FILE: path };
  const refused = await daybook(['merchants', 'list'], env);
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/PLATFORM_TOKEN_FILE names a secret that others may open[^]*chmod g-w,o= /),
  });
  expect(refused.stderr).not.toContain('made-up-token-1');
  await chmod(path, 0o640);
  expect(await daybook(['merchants', 'list'], env)).toMatchObject({ code: 0 });
});

test('a download follows no planted link, and is readable for its owner only', async () => {
  await stage.run();
  const [row] = await stage.app.database.db
    .selectFrom('statement')
    .select('object_key')
    .where('currency', '=', 'USD')
    .where('day', '=', DAYS[0]!)
    .execute();
  const name = row!.object_key.split('/').at(-1)!;
  const out = join(folder, 'downloads');
  const precious = join(folder, 'precious');
  await mkdir(out);
  await writeFile(precious, 'mine');
  for (const planted of [name, `${name}.part`]) await symlink(precious, join(out, planted));
  const env = envOf(stage);
  const got = await daybook(
    ['statements', 'get', '--merchant', 'SBX-M-1', '--currency', 'USD', '--day', DAYS[0]!, '--out', out],
    env,
  );
  expect(got).toMatchObject({ code: 0 });
  expect(await readFile(precious, 'utf8')).toBe('mine');
  expect(await readFile(join(out, name), 'utf8')).toMatch(/^batch_no,/);
  expect((await stat(join(out, name))).mode & 0o777).toBe(0o600);
  expect((await readdir(out)).filter((one) => one.startsWith('.'))).toEqual([]);
});
