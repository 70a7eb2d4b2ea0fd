import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { packageFile } from '../../src/host/files.ts';

const TOP = fileURLToPath(new URL('../..', import.meta.url));
const SOURCE = join(TOP, 'src/host/files.ts');

test('in a checkout a file of the program is found from its top', () => {
  expect(packageFile('sql/0004_ledger.sql')).toBe(join(TOP, 'sql/0004_ledger.sql'));
});

test.each(['src/host', 'dist/src/host'])(
  'a package whose code lies in %s finds its own files',
  async (folder) => {
    const top = await mkdtemp(join(tmpdir(), 'daybook-package-'));
    onTestFinished(() => rm(top, { recursive: true }));
    const copy = join(top, folder, 'package-file.ts');
    await mkdir(dirname(copy), { recursive: true });
    await cp(SOURCE, copy);
    await cp(join(TOP, 'src/ledger'), join(top, folder, '../ledger'), { recursive: true });
    await writeFile(join(top, 'package.json'), '{ "type": "module" }');
    const moved = (await import(pathToFileURL(copy).href)) as { packageFile: typeof packageFile };
    expect(moved.packageFile('config/sandbox.yaml')).toBe(join(top, 'config/sandbox.yaml'));
  },
);
