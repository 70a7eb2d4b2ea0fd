/**
 * Uploads over a connection that is cut: they are repeated until they succeed, or given up with nothing left behind.
 */
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestOf, type ObjectStore } from '../../src/objects/object-store.ts';
import { openObjectStore } from '../../src/objects/open.ts';
import { PART_LIMITS } from '../../src/objects/s3-parts.ts';
import { IDLE_TIMEOUT_MS, TRIES_MAX } from '../../src/objects/s3.ts';
import { startCuttingProxy, type Cut, type CuttingProxy } from '../support/cutting-proxy.ts';
import { startProxy } from '../support/proxy.ts';
import { freshBucket, gatewayServer, startFauxqsServer, type S3Server } from './s3-servers.ts';

const gateway = gatewayServer();
const servers: readonly (readonly [string, () => Promise<S3Server>])[] = [
  ['fauxqs', startFauxqsServer],
  ...(gateway === null ? [] : ([['the gateway', () => Promise.resolve(gateway)]] as const)),
];
const MIB = 1024 * 1024;

async function* large(): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  for (let chunk = 0; chunk < 20; chunk += 1) yield new Uint8Array(MIB).fill(chunk);
}

describe.each(servers)('%s behind a wire that is cut', (_, start) => {
  let server: S3Server;
  let proxy: CuttingProxy;
  let store: ObjectStore;
  let bucket: string;
  let client: Awaited<ReturnType<typeof freshBucket>>['client'];
  beforeEach(async () => {
    server = await start();
    proxy = await startCuttingProxy(server.env.AWS_ENDPOINT_URL_S3!);
    ({ store, bucket, client } = await freshBucket(server, { AWS_ENDPOINT_URL_S3: proxy.url }));
  });
  afterEach(async () => {
    await proxy.close();
    await server.stop();
  });

  test('an object whose answer was lost is recognized as our own', async () => {
    const content = Buffer.from('a day');
    proxy.cuts.push({ message: /^PUT .*day\.csv/, when: 'after' });
    const digest = await store.put('day.csv', content, { ifAbsent: true });
    expect(digest.bytes).toBe(5);
    expect(await store.head('day.csv')).toMatchObject({ bytes: 5 });
  });

  test('a part that is cut is sent again', async () => {
    const part = { message: /^PUT .*partNumber=2/, when: 'before' } as const;
    proxy.cuts.push(part, part);
    expect(await store.put('day.csv', large, { ifAbsent: true })).toMatchObject(await digestOf(large()));
  });

  test('reading back that is cut is done again', async () => {
    proxy.cuts.push({ message: /^GET .*day\.csv/, when: 'after' });
    expect(await store.put('day.csv', large)).toMatchObject(await digestOf(large()));
  });

  test('an object whose body is cut again and again is read on from there', { tags: ['long'] }, async () => {
    const wire = await startProxy(server.env['AWS_ENDPOINT_URL_S3']!);
    const { store: cut } = await freshBucket(server, { AWS_ENDPOINT_URL_S3: wire.url });
    await cut.put('day.csv', large);
    let passed = 0;
    let cuts = 0;
    wire.judge = ({ direction, bytes }) => {
      passed = direction === 'up' ? 0 : passed + bytes.length;
      if (passed < 7 * MIB) return 'pass';
      cuts += 1;
      return 'cut';
    };
    expect(await digestOf((await cut.get('day.csv'))!)).toEqual(await digestOf(large()));
    expect(cuts).toBeGreaterThan(1);
    wire.judge = ({ direction, bytes }) => (direction === 'down' && bytes.length > 4_000 ? 'cut' : 'pass');
    const reading = async () => digestOf((await cut.get('day.csv'))!);
    await expect(reading()).rejects.toMatchObject({ name: 'ObjectStoreUnreachable' });
    await wire.close();
  });

  test(
    'an upload given up leaves no object and says that it can be repeated',
    { tags: ['long'] },
    async () => {
      proxy.cuts.push({ message: /^PUT .*partNumber=2/, when: 'before', always: true });
      await expect(store.put('day.csv', large, { ifAbsent: true })).rejects.toMatchObject({
        name: 'ObjectStoreUnreachable',
        message: expect.stringMatching(/the connection was cut: check AWS_ENDPOINT_URL_S3/),
      });
      proxy.cuts.length = 0;
      expect(await store.head('day.csv')).toBeNull();
      if (server.strict) {
        const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
        expect(Uploads ?? []).toEqual([]);
      }
      expect(await store.put('day.csv', large, { ifAbsent: true })).toMatchObject(await digestOf(large()));
    },
  );

  test('an upload whose abort is cut too is still aborted', async (context) => {
    if (!server.strict) return context.skip('this server does not list uploads');
    const abort: Cut = { message: /^DELETE .*uploadId/, when: 'before' };
    proxy.cuts.push({ message: /^PUT .*partNumber=2/, when: 'before', always: true });
    proxy.cuts.push(...Array.from({ length: 5 }, () => abort));
    await expect(store.put('day.csv', large, { ifAbsent: true })).rejects.toThrow(/the connection was cut/);
    const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
    expect(Uploads ?? []).toEqual([]);
  });

  test.each(['its content', 'its fence'])('an upload that %s ended leaves no part', async (failing) => {
    class Gone extends Error {}
    const gone = () => Promise.reject(new Gone());
    const content = async function* () {
      yield* large();
      if (failing === 'its content') await gone();
    };
    const options = failing === 'its fence' ? { fence: { epoch: 1, assertHeld: gone } } : {};
    await expect(store.put('day.csv', content, options)).rejects.toThrow(Gone);
    expect(await store.head('day.csv')).toBeNull();
    if (!server.strict) return;
    const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
    expect(Uploads ?? []).toEqual([]);
  });

  test('an upload that stands still is found by the next holder, and cannot be completed then', async (context) => {
    if (!server.strict) return context.skip('this server does not list uploads');
    const [frozen, thawed] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const assertHeld = async () => {
      frozen.resolve(undefined);
      await thawed.promise;
    };
    const writing = store.put('m/d=1/a.csv', large, { fence: { epoch: 1, assertHeld } });
    await frozen.promise;
    await store.discardUnfinished('m/d=1/', { epoch: 2, assertHeld: () => Promise.resolve() });
    const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
    expect(Uploads ?? []).toEqual([]);
    thawed.resolve(undefined);
    await expect(writing).rejects.toMatchObject({ name: 'ObjectStoreUnreachable' });
    expect(await store.head('m/d=1/a.csv')).toBeNull();
  });

  test('uploads under a place are removed by the holder of the lease alone', async () => {
    const fence = { epoch: 2, assertHeld: () => Promise.reject(new Error('the lease is lost')) };
    await expect(store.discardUnfinished('m/d=1/', fence)).rejects.toThrow('the lease is lost');
  });

  test('uploads that killed runs left are removed before the next upload to that place', async (context) => {
    if (!server.strict) return context.skip('this server does not list uploads');
    for (const Key of ['ledger/statements/m/d=1/a.csv', 'ledger/statements/m/d=2/a.csv']) {
      await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }));
    }
    await store.discardUnfinished('m/d=1/', { epoch: 2, assertHeld: () => Promise.resolve() });
    const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
    expect(Uploads?.map(({ Key }) => Key)).toEqual(['ledger/statements/m/d=2/a.csv']);
  });
});

describe('a server that never answers, and stays connected', () => {
  test('is given up after the last try, and the message says so', async () => {
    const server = await startFauxqsServer();
    const proxy = await startProxy(server.env['AWS_ENDPOINT_URL_S3']!);
    proxy.judge = () => 'swallow';
    const store = await openObjectStore({
      statementsUrl: 's3://made-up/statements',
      s3ForcePathStyle: null,
      idleTimeoutMs: 30,
      env: { ...server.env, AWS_ENDPOINT_URL_S3: proxy.url },
    });
    await expect(store.put('day.csv', Buffer.from('a day'), { ifAbsent: true })).rejects.toMatchObject({
      name: 'ObjectStoreUnreachable',
      message: expect.stringContaining('it does not answer in time'),
    });
    await proxy.close();
    await server.stop();
  });

  test.each([
    ['to abort the upload that it may have begun', 'PUT'],
    ['to read back the object that it may have stored', 'GET'],
  ])('is not tried again %s', async (_, silentFrom) => {
    const server = await startFauxqsServer();
    const proxy = await startProxy(server.env['AWS_ENDPOINT_URL_S3']!);
    const { store } = await freshBucket(server, { AWS_ENDPOINT_URL_S3: proxy.url }, { idleTimeoutMs: 30 });
    const asked: string[] = [];
    let isSilent = false;
    proxy.judge = ({ direction, bytes }) => {
      const [verb] = bytes.toString('latin1', 0, 12).split(' ');
      isSilent ||= verb === silentFrom;
      if (isSilent && direction === 'up' && /^[A-Z]+$/.test(verb!)) asked.push(verb!);
      return isSilent ? 'swallow' : 'pass';
    };
    await expect(store.put('day.csv', Buffer.from('a day'))).rejects.toMatchObject({
      name: 'ObjectStoreUnreachable',
    });
    expect(asked).toEqual(Array.from({ length: TRIES_MAX }, () => silentFrom));
    await proxy.close();
    await server.stop();
  });

  test('delays a run by less than two minutes', () => {
    expect(TRIES_MAX * IDLE_TIMEOUT_MS + PART_LIMITS.lastAbortMs).toBeLessThan(120_000);
  });
});
