/** Links in a folder of statements: those that lead out of it are neither read, nor written through, nor tidied behind. */
import * as fs from 'node:fs/promises';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { createLocalFiles } from '../../src/objects/directory-files.ts';
import { readText, type ObjectStore } from '../../src/objects/object-store.ts';

describe.each([
  ['on a local disk', () => createLocalFiles()],
  ['elsewhere', () => fs],
])('a folder %s', (_, files) => {
  let folder: string;
  let outside: string;
  let root: string;
  let store: ObjectStore;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'daybook-links-'));
    [outside, root] = [join(folder, 'outside'), join(folder, 'root')];
    await mkdir(join(root, 'a'), { recursive: true });
    await mkdir(outside);
    await writeFile(join(outside, 'secret'), 'secret');
    store = createDirectoryStore(root, files());
  });
  afterEach(() => rm(folder, { recursive: true }));

  const content = (text: string) => new TextEncoder().encode(text);
  const refused = { name: 'ObjectStoreRefused', message: expect.stringContaining('leads out of') };

  test('a file that is a link out of it is not read', async () => {
    await symlink(join(outside, 'secret'), join(root, 'a', 'file'));
    for (const reading of [store.get('a/file'), store.head('a/file'), store.digest('a/file')])
      await expect(reading).rejects.toMatchObject(refused);
  });

  test('nothing is read, written, listed or removed behind a folder that is a link out of it', async () => {
    await symlink(outside, join(root, 'b'));
    const part = `.file.0.${crypto.randomUUID()}.part`;
    await writeFile(join(outside, part), 'x');
    await expect(store.get('b/secret')).rejects.toMatchObject(refused);
    await expect(store.put('b/new', content('new'))).rejects.toMatchObject(refused);
    await expect(store.put('b/deep/new', content('new'))).rejects.toMatchObject(refused);
    await expect(
      store.discardUnfinished('b/', { epoch: 1, assertHeld: () => Promise.resolve() }),
    ).rejects.toMatchObject(refused);
    await expect(
      (async () => {
        for await (const { key } of store.survey('b/')) expect(key).toBe('never listed');
      })(),
    ).rejects.toMatchObject(refused);
    expect((await readdir(outside)).toSorted()).toEqual([part, 'secret'].toSorted());
  });

  test('a link that leads nowhere is replaced by the file that is written, and nothing appears where it led', async () => {
    await symlink(join(outside, 'nowhere'), join(root, 'a', 'file'));
    expect(await store.get('a/file')).toBeNull();
    await store.put('a/file', content('new'));
    expect(await readText(store, 'a/file')).toBe('new');
    expect(await readdir(outside)).toEqual(['secret']);
  });

  test('links within the folder are followed, and the folder itself may be one', async () => {
    await symlink(join(root, 'a'), join(root, 'b'));
    await store.put('b/file', content('new'));
    expect(await readFile(join(root, 'a', 'file'), 'utf8')).toBe('new');
    await symlink(root, join(folder, 'mounted'));
    const mounted = createDirectoryStore(join(folder, 'mounted'), files());
    expect(await readText(mounted, 'a/file')).toBe('new');
    // A folder whose name begins as the other's is another.
    await mkdir(join(folder, 'root-2'));
    await writeFile(join(folder, 'root-2', 'file'), 'x');
    await symlink(join(folder, 'root-2'), join(root, 'c'));
    await expect(store.get('c/file')).rejects.toMatchObject(refused);
  });
});
