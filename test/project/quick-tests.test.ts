import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, onTestFinished, test } from 'vitest';
import { quickTests } from '../support/quick-tests.ts';

/** Named here, as this file would else have the very import it is about. */
const PGLITE = '@electric-sql/pglite';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The quick ones of a tree with these files in its folder `test`. */
async function quickIn(files: Readonly<Record<string, string>>): Promise<string[]> {
  const root = await mkdtemp(join(tmpdir(), 'daybook-quick-'));
  onTestFinished(() => rm(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, 'test', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return quickTests(root);
}

test('the tests of the core are quick, those of a database, a server or a process are not', () => {
  const quick = quickTests(ROOT);
  expect(quick).toEqual(expect.arrayContaining(['test/ledger/money.test.ts', 'test/ledger/chain.test.ts']));
  for (const slow of [
    'test/store/windows.test.ts',
    'test/cli/doctor.test.ts',
    'test/plugins/notifications/notify.test.ts',
  ]) {
    expect(quick).not.toContain(slow);
  }
  // This test is quick itself: alone, no one starts a server for it.
  expect(quick).toContain('test/project/quick-tests.test.ts');
  const url = inject('postgresUrl') as string | undefined;
  expect(url === undefined).toBe(process.env['DAYBOOK_TEST_QUICK'] !== undefined);
});

test.each([
  ['a server’s package', "import { Pool } from 'pg';"],
  ['one over several lines', "import {\n  spawn,\n} from 'node:child_process';"],
  ['one that is loaded later', `const open = () => import('${PGLITE}');`],
  ['one that is handed on', "export { connect } from 'node:net';"],
  ['one for its effects', "import 'undici';"],
])('a test is not quick that imports %s, or a file that does', async (_, line) => {
  const files = {
    'near.test.ts': line,
    'far.test.ts': "import { help } from './help.ts';",
    'help.ts': `export const help = 1;\n${line}`,
    'pure.test.ts': "import { expect } from 'vitest';",
  };
  expect(await quickIn(files)).toEqual(['test/pure.test.ts']);
});

test('types alone do not make a test slow', async () => {
  const files = {
    'a.test.ts': "import type { Pool } from 'pg';\nimport type {\n  Socket,\n} from 'node:net';",
  };
  expect(await quickIn(files)).toEqual(['test/a.test.ts']);
});

test('the list of plugins is not slow by what the value of a plugin loads later', async () => {
  const late = `export const part = () => import('${PGLITE}');`;
  const files = {
    'a.test.ts': "import '../src/main.ts';",
    'b.test.ts': "import '../src/plugins/store/part.ts';",
    '../src/main.ts': "import './plugins/store/plugin.ts';",
    '../src/plugins/store/plugin.ts': late,
    '../src/plugins/store/part.ts': late,
  };
  expect(await quickIn(files)).toEqual(['test/a.test.ts']);
});
