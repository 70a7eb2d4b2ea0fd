/** What the operations of a local disk do at once, and what they leave to a thread. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Files, type OpenFile, createLocalFiles } from '../../src/objects/directory-files.ts';
import { isDoneAtOnce } from './done-at-once.ts';

const KIB = 1024;

let folder: string;
let path: string;
let files: Files;
let file: OpenFile;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'daybook-local-'));
  path = join(folder, 'a.csv');
  await writeFile(path, 'bytes');
  files = createLocalFiles();
  file = await files.open(path, 'r');
});
afterEach(async () => {
  await file.close().catch(() => undefined);
  await rm(folder, { recursive: true });
});

test.each<readonly [string, boolean, () => Promise<unknown>]>([
  ['looking at a file', true, () => files.stat(path, { bigint: true })],
  ['looking at an open one', true, () => file.stat({ bigint: true })],
  ['listing a folder', true, () => files.readdir(folder, { withFileTypes: true })],
  ['reading a small file', true, () => file.read(Buffer.alloc(5))],
  ['closing it', true, () => file.close()],
  ['giving a file another name', false, () => files.link(path, `${path}.2`)],
  ['taking a name away', false, () => files.unlink(path)],
  ['flushing', false, () => file.sync()],
  ['making a folder', false, () => files.mkdir(join(folder, 'new'), {})],
  ['making a file', false, async () => (await files.open(join(folder, 'b.csv'), 'wx')).close()],
  ['replacing a file', false, () => files.rename(path, join(folder, 'c.csv'))],
  ['removing a file, if it is there', false, () => files.rm(path, { force: true })],
])('%s: at once %s', async (_, isAtOnce, work) => {
  expect(await isDoneAtOnce(work)).toBe(isAtOnce);
});

test('of a large file, what comes after its first 64 KiB is written and read by a thread', async () => {
  const written = await files.open(join(folder, 'large.csv'), 'wx');
  const wasAtOnce: boolean[] = [];
  for (const letter of ['a', 'b', 'c']) {
    const piece = Buffer.alloc(32 * KIB, letter);
    wasAtOnce.push(await isDoneAtOnce(() => written.write(piece, 0, piece.byteLength)));
  }
  await written.close();
  expect(wasAtOnce).toEqual([true, true, false]);
  const text = ['a', 'b', 'c'].map((letter) => letter.repeat(32 * KIB)).join('');
  expect(await readFile(join(folder, 'large.csv'), 'utf8')).toBe(text);

  await file.close();
  file = await files.open(join(folder, 'large.csv'), 'r');
  const whole = Buffer.alloc(96 * KIB);
  expect(await isDoneAtOnce(() => file.read(whole))).toBe(false);
  expect(whole.toString()).toBe(text);
});

test('a piece of a buffer is written where the last one ended, and read on from there', async () => {
  const written = await files.open(join(folder, 'pieces.csv'), 'wx');
  await written.write(Buffer.from('--one--'), 2, 3);
  await written.write(Buffer.from('two--'), 0, 3);
  await written.close();
  await file.close();
  file = await files.open(join(folder, 'pieces.csv'), 'r');
  const into = Buffer.alloc(4);
  expect(await file.read(into)).toMatchObject({ bytesRead: 4 });
  expect(into.toString()).toBe('onet');
  expect(await file.read(into)).toMatchObject({ bytesRead: 2 });
});

test('what fails rejects, as other operations do', async () => {
  const code = { code: 'ENOENT', path: join(folder, 'none') };
  await expect(files.stat(join(folder, 'none'), { bigint: true })).rejects.toMatchObject(code);
  await expect(files.open(join(folder, 'none'), 'r')).rejects.toMatchObject(code);
});

test('many of them, also side by side, let everything else have its turn', async () => {
  let turns = 0;
  let turn = setImmediate(function count() {
    turns += 1;
    turn = setImmediate(count);
  });
  const walk = async (): Promise<void> => {
    for (let day = 0; day < 100; day += 1) await files.readdir(folder, { withFileTypes: true });
  };
  await Promise.all(Array.from({ length: 16 }, walk));
  clearImmediate(turn);
  expect(turns).toBeGreaterThanOrEqual(15);
});

test('so do few of them, if they take long', async () => {
  let ms = 0;
  const slow = createLocalFiles(() => (ms += 2));
  const stat = () => slow.stat(path, { bigint: true });
  expect(await isDoneAtOnce(async () => [await stat(), await stat()])).toBe(true);
  expect(await isDoneAtOnce(async () => [await stat(), await stat()])).toBe(false);
});
