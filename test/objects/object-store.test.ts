/** The same tests for every object store: a folder, fauxqs, and a real gateway if one is given. */
import * as fs from 'node:fs/promises';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { type Files, createLocalFiles } from '../../src/objects/directory-files.ts';
import {
  digestOf,
  ObjectExists,
  readObject,
  type ListedObject,
  type ObjectStore,
} from '../../src/objects/object-store.ts';
import { freshBucket, gatewayServer, startFauxqsServer, type S3Server } from './s3-servers.ts';

interface Subject {
  readonly store: ObjectStore;
  readonly close: () => Promise<void>;
}

async function directory(files: Files): Promise<Subject> {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-objects-'));
  return {
    store: createDirectoryStore(join(folder, 'deep', 'statements'), files),
    close: () => rm(folder, { recursive: true }),
  };
}

const bucketOn = async (server: S3Server): Promise<Subject> => ({
  store: (await freshBucket(server)).store,
  close: server.stop,
});

const gateway = gatewayServer();
const subjects: readonly (readonly [string, () => Promise<Subject>])[] = [
  ['a directory on a local disk', () => directory(createLocalFiles())],
  ['a directory elsewhere', () => directory(fs)],
  ['fauxqs', async () => bucketOn(await startFauxqsServer())],
  ...(gateway === null ? [] : ([['the gateway', () => bucketOn(gateway)]] as const)),
];

const text = (content: string): Uint8Array => new TextEncoder().encode(content);
const MIB = 1024 * 1024;

/** Twenty MiB in uneven chunks. They make several parts, and no chunk ends where a part does. */
async function* large(): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  for (let chunk = 0; chunk < 20; chunk += 1) yield new Uint8Array(MIB + chunk).fill(chunk);
}

async function keys(store: ObjectStore, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of store.survey(prefix)) found.push(key);
  return found;
}

describe.each(subjects)('statements in %s', (name, open) => {
  const knowsConditions = name !== 'fauxqs';
  let subject: Subject;
  let store: ObjectStore;
  beforeAll(async () => {
    subject = await open();
    store = subject.store;
  });
  afterAll(() => subject.close());

  test('the check passes and leaves nothing behind', async () => {
    await store.check();
    expect(await keys(store, '')).toEqual([]);
  });

  test('an object is read as it was written, even if its key needs escaping', async () => {
    const key = 'merchant=100%2F7 ü/date=2026-03-31/manifest.json';
    const digest = await store.put(key, text('{"día":1}'));
    expect(digest).toEqual({
      bytes: 10,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      etag: expect.any(String),
    });
    expect((await readObject(store, key))?.toString()).toBe('{"día":1}');
    expect(await store.head(key)).toEqual({ bytes: 10, etag: digest.etag });
  });

  test('a stream of many parts is read byte for byte', async () => {
    const digest = await store.put('large.csv', large, { ifAbsent: true });
    expect(digest).toMatchObject(await digestOf(large()));
    expect(await store.digest('large.csv')).toEqual(digest);
  });

  test('a missing object is null', async () => {
    expect(await store.get('nowhere/at-all.csv')).toBeNull();
    expect(await store.head('nowhere/at-all.csv')).toBeNull();
    expect(await keys(store, 'nowhere')).toEqual([]);
  });

  test('put replaces; put if absent keeps other bytes, and accepts equal bytes as its own', async () => {
    await store.put('revision.csv', text('first'));
    await store.put('revision.csv', text('second'));
    await expect(store.put('revision.csv', text('third'), { ifAbsent: true })).rejects.toThrow(ObjectExists);
    await expect(store.put('large.csv', () => reversed(), { ifAbsent: true })).rejects.toThrow(ObjectExists);
    expect(await store.put('revision.csv', text('second'), { ifAbsent: true })).toMatchObject({ bytes: 6 });
    expect((await readObject(store, 'revision.csv'))?.toString()).toBe('second');
  });

  test('content that fails midway leaves no object, and its error is thrown', async () => {
    class LedgerGone extends Error {}
    const failing = async function* () {
      for await (const chunk of large()) {
        yield chunk;
        if (chunk.byteLength > MIB + 12) throw new LedgerGone();
      }
    };
    await expect(store.put('half.csv', failing, { ifAbsent: true })).rejects.toThrow(LedgerGone);
    expect(await store.head('half.csv')).toBeNull();
    expect(await keys(store, 'half')).toEqual([]);
  });

  test('an object is only replaced if it is still the one that was seen', async () => {
    const { etag } = await store.put('seen.json', text('first'));
    const second = await store.put('seen.json', text('second'), { ifEtag: etag! });
    expect((await store.head('seen.json'))?.etag).toBe(second.etag);
    // Equal bytes come from our own earlier try.
    expect(await store.put('seen.json', text('second'), { ifEtag: second.etag! })).toMatchObject({
      bytes: 6,
    });
    if (!knowsConditions) return;
    await expect(store.put('seen.json', text('third'), { ifEtag: etag! })).rejects.toThrow(ObjectExists);
    await expect(store.put('unseen.json', text('x'), { ifEtag: etag! })).rejects.toThrow(ObjectExists);
    expect((await readObject(store, 'seen.json'))?.toString()).toBe('second');
  });

  test('a writer that was overtaken gives no object its name, and its reason is thrown', async () => {
    class Overtaken extends Error {}
    const fence = { epoch: 7, assertHeld: () => Promise.reject(new Overtaken()) };
    for (const content of [text('small'), large]) {
      await expect(store.put('overtaken.csv', content, { fence })).rejects.toThrow(Overtaken);
      expect(await store.head('overtaken.csv')).toBeNull();
    }
  });

  test('a survey gives size and etag of the objects in a range of keys', async () => {
    const put = new Map<string, string | null>();
    for (const day of ['d=1', 'd=2', 'd=3', 'd=4']) {
      put.set(`s/${day}/a`, (await store.put(`s/${day}/a`, text(day))).etag);
    }
    const found: ListedObject[] = [];
    const range = { after: 's/d=2/', through: 's/d=3/\u{10ffff}' };
    for await (const object of store.survey('s/d=', range)) found.push(object);
    expect(found).toEqual(['s/d=2/a', 's/d=3/a'].map((key) => ({ key, bytes: 3, etag: put.get(key)! })));
  });

  test('keys are listed by prefix, in order', async () => {
    for (const key of ['m=1/b.csv', 'm=1/a.csv', 'm=2/a.csv']) await store.put(key, text(key));
    expect(await keys(store, 'm=1/')).toEqual(['m=1/a.csv', 'm=1/b.csv']);
  });
});

async function* reversed(): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  yield text('other bytes');
}

describe.each([
  ['on a local disk', createLocalFiles],
  ['elsewhere', () => fs],
])('unfinished files of a folder %s', (_, files: () => Files) => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'daybook-unfinished-'));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const names = async () =>
    (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.part'));

  test('those of earlier holders are removed; those of a later holder and those elsewhere stay', async () => {
    const store = createDirectoryStore(folder, files());
    const uuid = '0b0e1d5c-7a34-4c3e-9a7e-0f3a5d1c2b4e';
    await mkdir(join(folder, 'm/d=1'), { recursive: true });
    await mkdir(join(folder, 'm/d=2'), { recursive: true });
    const parts = [
      `m/d=1/.a.r1.csv.${uuid}.part`,
      `m/d=1/.a.r1.csv.3.${uuid}.part`,
      `m/d=1/.a.r1.csv.4.${uuid}.part`,
      `m/d=1/.a.r1.csv.5.${uuid}.part`,
      `m/d=2/.a.r1.csv.3.${uuid}.part`,
    ];
    for (const part of parts) await writeFile(join(folder, part), 'half');
    // Each name says its epoch: there is nothing to ask.
    const assertHeld = () => Promise.reject(new Error('asked in vain'));
    await store.discardUnfinished('m/d=1/', { epoch: 4, assertHeld });
    expect((await names()).sort()).toEqual(parts.slice(2));
    expect(await keys(store, '')).toEqual([]);
  });

  test('the check removes what a killed check left', async () => {
    await writeFile(join(folder, '.daybook-check.part'), '');
    await createDirectoryStore(folder, files()).check();
    expect(await names()).toEqual([]);
  });
});
