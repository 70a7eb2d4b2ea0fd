import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filesPage } from '../../../scripts/reference/files.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EmbeddedDatabaseBusy } from '../../../src/store/engine/errors.ts';
import { lockFolder } from '../../../src/options/embedded/folder.ts';

const LOCK = new URL('../../../src/options/embedded/folder.ts', import.meta.url).href;

let home: string;
let folder: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'daybook-lock-'));
  folder = join(home, 'db');
});
afterEach(() => rm(home, { recursive: true }));

it('the lock is held by one of many, and the others are told by whom, until it is released', async () => {
  const asked = await Promise.allSettled(Array.from({ length: 8 }, () => lockFolder(folder)));
  const [held] = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const refusal = await lockFolder(folder).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(EmbeddedDatabaseBusy);
  expect(String(refusal)).toMatch(
    new RegExp(
      `is in use by \`daybook[^\`]*\` \\(process ${process.pid} on .+\\), since 20\\d\\d-\\d\\d-\\d\\dT[\\d:]+Z\\. `,
    ),
  );
  expect(String(refusal)).toContain('DATABASE_URL');
  held!.release();
  (await lockFolder(folder)).release();
});

it('the lock is refused while its process runs, and free once that is killed', async () => {
  const script = `import { lockFolder } from '${LOCK}'; await lockFolder(${JSON.stringify(folder)}); console.log('held'); process.stdin.resume();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  await expect(lockFolder(folder)).rejects.toThrow(new RegExp(`\\(process ${child.pid} on `));
  child.kill('SIGKILL');
  await once(child, 'exit');
  (await lockFolder(folder)).release();
});

it('the page of files names everything in the data folder beside the embedded database', async () => {
  const { release } = await lockFolder(folder);
  const names = await readdir(home);
  release();
  expect(names).toContain('db.lock');
  expect(names.filter((name) => !filesPage().includes(`\`${name}\``))).toEqual([]);
});

it.each([
  ['schedule', ['schedule'], '`daybook schedule`'],
  ['serve with its pages', ['serve', '--json'], '`daybook serve`'],
  [
    'a command about somebody',
    ['merchants', 'add', 'M-PRIVATE', '--token-file', 'x'],
    '`daybook merchants add`',
  ],
  ['a number next to a command', ['runs', '12'], '`daybook runs`'],
])('the owner is named by its command alone: %s', async (_, args, name) => {
  const script = `import { lockFolder } from '${LOCK}'; process.argv.splice(1, 9, 'daybook', ...${JSON.stringify(args)}); await lockFolder(${JSON.stringify(folder)}); console.log('held'); process.stdin.resume();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const refusal = String(await lockFolder(folder).catch((error: unknown) => error));
  expect(refusal).toContain(`${name} (process ${child.pid} on `);
  expect(refusal).not.toContain('PRIVATE');
  child.kill('SIGKILL');
  await once(child, 'exit');
  // What a killed owner wrote names nobody any more.
  (await lockFolder(folder)).release();
});

it('an owner that has not written who it is yet is another process', async () => {
  const { release } = await lockFolder(folder);
  await rm(`${folder}.holder`);
  await expect(lockFolder(folder)).rejects.toThrow('is in use by another process. It takes');
  release();
});
