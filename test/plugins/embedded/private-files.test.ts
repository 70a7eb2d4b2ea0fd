import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { daybook, envOf } from '../../cli/daybook.ts';
import { DAYS, openStage, scenario, type Stage } from '../../support/stage.ts';

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

/** All paths from `path` down that the group or others have any access to. */
async function open(path: string): Promise<string[]> {
  const below = await readdir(path, { recursive: true });
  const found = [];
  for (const one of ['.', ...below]) {
    const { mode } = await stat(join(path, one));
    if ((mode & 0o077) !== 0) found.push(`${one} ${(mode & 0o777).toString(8)}`);
  }
  expect(below.length).toBeGreaterThan(0);
  return found;
}

test(
  'the embedded database and the statements are created for their owner only, whatever the umask, and refused once others may open them',
  { tags: ['long'], timeout: 120_000 },
  async () => {
    const dataDir = join(folder, 'data');
    const env = { ...envOf(stage), DATABASE_URL: '', DAYBOOK_DATA_DIR: dataDir };
    const ran = await daybook(['run', '--from', DAYS[0]!, '--to', DAYS[0]!], env);
    expect(ran).toMatchObject({ code: 0 });
    expect(await open(dataDir)).toEqual([]);
    expect((await readdir(join(dataDir, 'db'))).length).toBeGreaterThan(10);
    // The engine writes some files when it starts, also in an existing folder.
    expect(await daybook(['merchants', 'list'], env)).toMatchObject({ code: 0 });
    expect(await open(dataDir)).toEqual([]);

    await chmod(dataDir, 0o755);
    expect(await daybook(['status'], env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        `folder ${dataDir} cannot be used: others may open it (mode 0755). Type \`chmod -R go= ${dataDir}\``,
      ),
    });
    await chmod(dataDir, 0o700);
    await chmod(join(dataDir, 'db'), 0o770);
    expect(await daybook(['status'], env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('(mode 0770)'),
    });
    await chmod(join(dataDir, 'db'), 0o700);
    await chmod(join(dataDir, 'statements'), 0o755);
    const refused = await daybook(['run', '--from', DAYS[0]!, '--to', DAYS[0]!], env);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`type \`chmod -R go= ${join(dataDir, 'statements')}\``);
    await chmod(join(dataDir, 'statements'), 0o700);
    expect(await daybook(['merchants', 'list'], env)).toMatchObject({ code: 0 });
  },
);
