/**
 * A server that was seen to compare checksums and to obey conditions gets one request an object; others as many as it takes.
 *
 * @module-tag long
 */
import { randomUUID } from 'node:crypto';
import { buildApp } from 'fauxqs';
import { afterEach, describe, expect, test } from 'vitest';
import { ObjectExists, readObject, type ObjectStore } from '../../src/objects/object-store.ts';
import { openObjectStore } from '../../src/objects/open.ts';
import { createS3Store } from '../../src/objects/s3.ts';
import { makeCareful, type Carefulness } from '../support/careful-s3.ts';
import { startProxy } from '../support/proxy.ts';
import { freshBucket, gatewayServer, startFauxqsServer } from './s3-servers.ts';

interface Subject {
  readonly store: ObjectStore;
  /** The methods of the requests since the last check, each with the end of its key. */
  readonly seen: () => string[];
  /** Changes the bytes of the next upload on their way. */
  readonly alterNext: () => void;
  /** From now on requests of this method are answered with 503, after so many more of them; null: no longer. */
  readonly makeBusy: (method: string | null, after?: number) => void;
  readonly stop: () => Promise<void>;
}

let subject: Subject;
afterEach(() => subject.stop());

/** `etagOfPut`: what its answers to uploads say, whatever it shows later. */
async function open(careful: Carefulness, etagOfPut?: string): Promise<Subject> {
  const app = buildApp({ logger: false });
  let requests: string[] = [];
  let alters = false;
  let busy: { method: string | null; after: number } = { method: null, after: 0 };
  app.addHook('preHandler', async (request, reply) => {
    if (request.method !== busy.method) return;
    busy.after -= 1;
    if (busy.after < 0)
      return reply.code(503).type('application/xml').send('<Error><Code>SlowDown</Code></Error>');
  });
  app.addHook('preHandler', (request, _, done) => {
    requests.push(`${request.method} ${request.url.split('?')[0]!.split('/').at(-1)!}`);
    if (request.method === 'PUT' && alters) {
      alters = false;
      request.body = Buffer.from('what nobody sent');
    }
    done();
  });
  makeCareful(app, careful);
  if (etagOfPut !== undefined) {
    app.addHook('onSend', (request, reply, _payload, done) => {
      if (request.method === 'PUT') reply.header('etag', etagOfPut);
      done();
    });
  }
  const bucket = `daybook-${randomUUID()}`;
  await app.inject({ method: 'PUT', url: `/${bucket}` });
  const endpoint = await app.listen({ port: 0, host: '127.0.0.1' });
  const store = await openObjectStore({
    ...{ statementsUrl: `s3://${bucket}/statements`, s3ForcePathStyle: null },
    env: {
      AWS_ENDPOINT_URL_S3: endpoint,
      AWS_ACCESS_KEY_ID: 'test-access',
      AWS_SECRET_ACCESS_KEY: 'test-secret',
    },
  });
  requests = [];
  const seen = () => requests.splice(0);
  const makeBusy = (method: string | null, after = 0) => void (busy = { method, after });
  return { store, seen, alterNext: () => void (alters = true), makeBusy, stop: () => app.close() };
}

const IDLE = { seen: () => [], alterNext: () => undefined, makeBusy: () => undefined };
const bytes = (text: string) => Buffer.from(text);
const CAREFUL = { comparesMd5: true, obeysIfNoneMatch: true };

describe('a server that compares checksums and obeys conditions', () => {
  test('is asked with the first object; each one after it is one request', async () => {
    subject = await open(CAREFUL);
    const { store, seen } = subject;
    const first = await store.put('first.csv', bytes('a day'), { ifAbsent: true });
    expect(seen()).toEqual([
      ...['HEAD first.csv', 'PUT first.csv', 'PUT first.csv', 'GET first.csv', 'PUT first.csv'],
    ]);
    expect(await store.digest('first.csv')).toEqual(first);
    seen();

    const second = await store.put('second.csv', bytes('another day'), { ifAbsent: true });
    const replaced = await store.put('first.csv', bytes('a day again'), { ifEtag: first.etag! });
    expect(seen()).toEqual(['PUT second.csv', 'PUT first.csv']);
    expect(await store.digest('second.csv')).toEqual(second);
    expect(await store.digest('first.csv')).toEqual(replaced);
  });

  test('an object that is there is found by the refusal: equal bytes are our own, others stay', async () => {
    subject = await open(CAREFUL);
    const { store, seen } = subject;
    await store.put('first.csv', bytes('a day'), { ifAbsent: true });
    await store.put('second.csv', bytes('another day'), { ifAbsent: true });
    seen();
    await expect(store.put('second.csv', bytes('other'), { ifAbsent: true })).rejects.toThrow(ObjectExists);
    expect(await store.put('second.csv', bytes('another day'), { ifAbsent: true })).toMatchObject({
      bytes: 11,
    });
    expect(seen()).toEqual(['PUT second.csv', 'GET second.csv', 'PUT second.csv', 'GET second.csv']);
    expect((await readObject(store, 'second.csv'))?.toString()).toBe('another day');
  });

  test('bytes that are changed on their way are refused, nothing is stored, and the message says so', async () => {
    subject = await open(CAREFUL);
    const { store, alterNext } = subject;
    await store.put('first.csv', bytes('a day'), { ifAbsent: true });
    alterNext();
    await expect(store.put('second.csv', bytes('another day'), { ifAbsent: true })).rejects.toMatchObject({
      name: 'ObjectStoreUnreachable',
      message: expect.stringMatching(/the bytes that arrived there are not the sent ones: run again/),
    });
    expect(await store.head('second.csv')).toBeNull();
  });

  test('a large object is looked up first all the same, as uploads in parts may know no condition', async () => {
    subject = await open(CAREFUL);
    const { store } = subject;
    await store.put('first.csv', bytes('a day'), { ifAbsent: true });
    const large = Buffer.alloc(9 * 1024 * 1024, 'published');
    await store.put('large.csv', large, { ifAbsent: true });
    const other = Buffer.alloc(9 * 1024 * 1024, 'something else');
    await expect(store.put('large.csv', other, { ifAbsent: true })).rejects.toThrow(ObjectExists);
    expect(await store.put('large.csv', large, { ifAbsent: true })).toMatchObject({
      bytes: large.byteLength,
    });
    expect(await readObject(store, 'large.csv')).toEqual(large);
  });

  test('where the machine forbids MD5, objects are read back', async () => {
    const server = await startFauxqsServer();
    const { bucket, client } = await freshBucket(server);
    const place = { bucket, prefix: '', endpoint: server.env.AWS_ENDPOINT_URL_S3! };
    const store = createS3Store(client, place, () => null);
    subject = { ...IDLE, store, stop: server.stop };
    const first = await store.put('first.csv', bytes('a day'), { ifAbsent: true });
    const second = await store.put('second.csv', bytes('another day'), { ifAbsent: true });
    expect([await store.digest('first.csv'), await store.digest('second.csv')]).toEqual([first, second]);
  });

  test('if it is asked with an object that is already there, another one asks', async () => {
    subject = await open(CAREFUL);
    const { store, seen } = subject;
    await store.put('there.csv', bytes('a day'));
    seen();
    await store.put('there.csv', bytes('a day'), { ifAbsent: true });
    await store.put('first.csv', bytes('a day'), { ifAbsent: true });
    seen();
    await store.put('second.csv', bytes('a day'), { ifAbsent: true });
    expect(seen()).toEqual(['PUT second.csv']);
  });

  test.each([
    ['the object cannot be read back', 'GET', 0],
    ['the second upload of it gets no answer', 'PUT', 2],
  ])('if %s, another one asks', async (_, method, after) => {
    subject = await open(CAREFUL);
    const { store, seen, makeBusy } = subject;
    makeBusy(method, after);
    const first = store.put('first.csv', bytes('a day'), { ifAbsent: true });
    if (method === 'GET') await expect(first).rejects.toThrow();
    else await first;
    makeBusy(null);
    await store.put('second.csv', bytes('a day'), { ifAbsent: true });
    seen();
    await store.put('third.csv', bytes('a day'), { ifAbsent: true });
    expect(seen()).toEqual(['PUT third.csv']);
  });

  test('if it never gets an answer, it is asked three times and no more', async () => {
    subject = await open(CAREFUL);
    const { store, seen, makeBusy } = subject;
    for (const key of ['1.csv', '2.csv', '3.csv']) {
      makeBusy('PUT', 2);
      await store.put(key, bytes('a day'), { ifAbsent: true });
    }
    makeBusy(null);
    seen();
    await store.put('4.csv', bytes('a day'), { ifAbsent: true });
    expect(seen()).toEqual(['HEAD 4.csv', 'PUT 4.csv']);
  });

  test('many first objects at once are each written, and one of them asks', async () => {
    subject = await open(CAREFUL);
    const { store, seen } = subject;
    const keys = Array.from({ length: 8 }, (_, n) => `${n}.csv`);
    await Promise.all(keys.map((key) => store.put(key, bytes(key), { ifAbsent: true })));
    expect(seen().filter((request) => request.startsWith('PUT'))).toHaveLength(10);
    for (const key of keys) expect((await readObject(store, key))?.toString()).toBe(key);
  });
});

test.each(['quoted', 'bare'] as const)(
  'a server that compares %s etags replaces only the object that was seen',
  async (obeysIfMatch) => {
    subject = await open({ ...CAREFUL, obeysIfMatch });
    const { store, seen } = subject;
    const first = await store.put('first.csv', bytes('a day'), { ifAbsent: true });
    const second = await store.put('first.csv', bytes('a day again'), { ifEtag: first.etag! });
    await expect(store.put('first.csv', bytes('another'), { ifEtag: first.etag! })).rejects.toThrow(
      ObjectExists,
    );
    expect((await readObject(store, 'first.csv'))?.toString()).toBe('a day again');
    // Which form it compares is found out once.
    seen();
    await store.put('first.csv', bytes('another'), { ifEtag: second.etag! });
    expect(seen()).toEqual(['PUT first.csv']);
  },
);

const gateway = gatewayServer();
test.skipIf(gateway === null)('a real gateway is found to do both', async () => {
  const proxy = await startProxy(gateway!.env.AWS_ENDPOINT_URL_S3!);
  const { store } = await freshBucket(gateway!, { AWS_ENDPOINT_URL_S3: proxy.url });
  subject = { ...IDLE, store, stop: proxy.close };
  await store.put('first.csv', bytes('a day'), { ifAbsent: true });
  const requests: string[] = [];
  proxy.judge = ({ direction, bytes: sent }) => {
    const line = sent.toString('latin1').split('\r\n')[0]!;
    if (direction === 'up' && / HTTP\/1\.1$/.test(line)) requests.push(line.split(' ')[0]!);
    return 'pass';
  };
  const second = await store.put('second.csv', bytes('another day'), { ifAbsent: true });
  expect(requests).toEqual(['PUT']);
  expect(await store.digest('second.csv')).toEqual(second);
});

describe('a server that does not', () => {
  test('compare checksums: what was written is read back', async () => {
    subject = await open({ comparesMd5: false, obeysIfNoneMatch: true });
    const { store, seen, alterNext } = subject;
    await store.put('first.csv', bytes('a day'), { ifAbsent: true });
    seen();
    await store.put('second.csv', bytes('another day'), { ifAbsent: true });
    expect(seen()).toEqual(['PUT second.csv', 'GET second.csv']);
    alterNext();
    await expect(store.put('third.csv', bytes('a third'), { ifAbsent: true })).rejects.toThrow(
      /reads back with 16 bytes/,
    );
  });

  test('obey conditions: it is looked first, and an object that is there stays', async () => {
    subject = await open({ comparesMd5: true, obeysIfNoneMatch: false });
    const { store, seen } = subject;
    await store.put('first.csv', bytes('a day'), { ifAbsent: true });
    seen();
    await store.put('second.csv', bytes('another day'), { ifAbsent: true });
    expect(seen()).toEqual(['HEAD second.csv', 'PUT second.csv']);
    await expect(store.put('second.csv', bytes('other'), { ifAbsent: true })).rejects.toThrow(ObjectExists);
  });

  test('tell the etag that it shows later: what was written is read back, and that etag is kept', async () => {
    subject = await open(CAREFUL, '"told"');
    const { store, seen } = subject;
    await store.put('first.csv', bytes('a day'), { ifAbsent: true });
    seen();
    const second = await store.put('second.csv', bytes('another day'), { ifAbsent: true });
    expect(seen()).toEqual(['PUT second.csv', 'GET second.csv']);
    expect(second.etag).toBe((await store.head('second.csv'))?.etag);
  });
});
