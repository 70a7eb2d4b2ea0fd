/** A folder is flushed before anything refers to a file that was named in it, and not for each file. */
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { type Files, createLocalFiles } from '../../src/objects/directory-files.ts';

let folder: string;
let steps: string[];
beforeEach(async () => {
  folder = await fs.mkdtemp(join(tmpdir(), 'daybook-flushes-'));
  steps = [];
});
afterEach(() => fs.rm(folder, { recursive: true }));

describe.each([
  ['each operation by a thread', () => fs],
  ['those of a local disk', createLocalFiles],
])('%s', (_, system: () => Files) => {
  /** The system's files, which note what is named and which folders are flushed. */
  const noted = (change: Partial<Files> = {}): Files => {
    const files = system();
    return {
      ...files,
      link: async (from, to) => {
        await files.link(from, to);
        steps.push(`name ${basename(to)}`);
      },
      open: async (path, flags, mode) => {
        const handle = await files.open(path, flags, mode);
        if (!(await handle.stat({ bigint: true })).isDirectory()) return handle;
        const { sync } = handle;
        const noting = async (): Promise<void> => {
          await sync.call(handle);
          steps.push(`flush ${basename(path)}`);
        };
        return Object.assign(handle, { sync: noting });
      },
      ...change,
    };
  };
  const put = (files: Files, name: string, isFollowed: boolean) =>
    createDirectoryStore(folder, files).put(`day/${name}`, Buffer.from(name), { ifAbsent: true, isFollowed });

  test('once for a file and those before it that it follows', async () => {
    await put(noted(), 'a.csv', true);
    await put(noted(), 'b.csv', true);
    await put(noted(), 'summary.csv', false);
    expect(steps.slice(-4)).toEqual(['name a.csv', 'name b.csv', 'name summary.csv', 'flush day']);
    // A new folder is flushed in its parent at once.
    expect(steps.slice(0, -4)).toEqual([`flush ${basename(folder)}`]);
  });

  test('a new day takes one folder to make, and no look at those above it', async () => {
    await put(noted(), 'first.csv', false);
    const made: string[] = [];
    const files = noted({
      mkdir: (path, options) => {
        made.push(`make ${basename(path)}`);
        return fs.mkdir(path, options);
      },
      stat: (path, options) => {
        made.push(`look at ${basename(path)}`);
        return fs.stat(path, options);
      },
    });
    await createDirectoryStore(folder, files).put('day/next/a.csv', Buffer.from('a'), { ifAbsent: true });
    expect(made).toEqual(['make next']);
  });

  test('for a file that an earlier try has named as well, as that may have died before its flush', async () => {
    await put(noted(), 'summary.csv', true);
    steps = [];
    await put(noted(), 'summary.csv', false);
    expect(steps).toEqual(['flush day']);
  });

  test('without hard links, a name that is taken is left as it is', async () => {
    const noLinks = { link: () => Promise.reject(Object.assign(new Error('no links'), { code: 'EPERM' })) };
    const store = createDirectoryStore(folder, noted(noLinks));
    await store.put('day/a.csv', Buffer.from('first'), { ifAbsent: true });
    await expect(store.put('day/a.csv', Buffer.from('second'), { ifAbsent: true })).rejects.toMatchObject({
      name: 'ObjectExists',
    });
    expect(await fs.readdir(join(folder, 'day'))).toEqual(['a.csv']);
    expect(await fs.readFile(join(folder, 'day/a.csv'), 'utf8')).toBe('first');
  });
});
