/** What an upload in parts asks of a server, how far it reads ahead, and what it leaves if it fails. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { buildApp } from 'fauxqs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestOf, ObjectDenied, type ObjectStore } from '../../src/objects/object-store.ts';
import { openObjectStore } from '../../src/objects/open.ts';
import { PART_BYTES, PART_LIMITS, partsOf, sendParts } from '../../src/objects/s3-parts.ts';
import { TRIES_MAX } from '../../src/objects/s3.ts';
import { startProxy } from '../support/proxy.ts';
import { clientOf } from './s3-servers.ts';

const MIB = 1024 * 1024;

interface Asked {
  /** `begin`, `part 1`, `complete`, `abort`, `list`, or the method. */
  readonly what: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** What the server does instead of what was asked; it may wait first. */
type Refusal = { readonly status: number; readonly code: string } | undefined;

let app: ReturnType<typeof buildApp>;
let endpoint: string;
let bucket: string;
let asked: Asked[];
/** In order: what arrived, and what was answered. */
let events: string[];
let judge: (what: string) => Refusal | Promise<Refusal>;
let hidesEtag: boolean;

const whatOf = (method: string, url: string): string => {
  const query = new URL(url, 'http://server').searchParams;
  if (query.has('partNumber')) return `part ${query.get('partNumber')}`;
  if (query.has('uploadId')) return method === 'DELETE' ? 'abort' : 'complete';
  if (query.has('uploads')) return method === 'GET' ? 'list' : 'begin';
  return method;
};

beforeEach(async () => {
  [asked, events, judge, hidesEtag] = [[], [], () => undefined, false];
  app = buildApp({ logger: false });
  app.addHook('preHandler', async ({ method, url, headers, body }, reply) => {
    const what = whatOf(method, url);
    asked.push({ what, headers, body: what === 'complete' ? String(body) : '' });
    events.push(`${what} asked`);
    const refusal = await judge(what);
    if (refusal === undefined) return;
    const xml = `<Error><Code>${refusal.code}</Code><Message>it said so</Message></Error>`;
    return reply.code(refusal.status).type('application/xml').send(xml);
  });
  app.addHook('onSend', ({ method, url }, reply, _payload, done) => {
    const what = whatOf(method, url);
    if (hidesEtag && what === 'part 2') reply.removeHeader('etag');
    events.push(`${what} answered`);
    done();
  });
  bucket = `daybook-${randomUUID()}`;
  await app.inject({ method: 'PUT', url: `/${bucket}` });
  endpoint = await app.listen({ port: 0, host: '127.0.0.1' });
  [asked, events] = [[], []];
});
afterEach(() => app.close());

const envOf = (more: Readonly<Record<string, string>> = {}) => ({
  ...{ AWS_ENDPOINT_URL_S3: endpoint, AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', ...more },
});
const opened = (more?: Readonly<Record<string, string>>, idleTimeoutMs = 20_000): Promise<ObjectStore> =>
  openObjectStore({
    statementsUrl: `s3://${bucket}/x`,
    s3ForcePathStyle: null,
    idleTimeoutMs,
    env: envOf(more),
  });

/** So many chunks of a MiB. `isEnded`: its reader has let go of it. */
function source(chunks: number, onChunk: (chunk: number) => void = () => undefined) {
  const state = { isEnded: false };
  const content = async function* () {
    try {
      await Promise.resolve();
      for (let chunk = 0; chunk < chunks; chunk += 1) {
        onChunk(chunk);
        yield Buffer.alloc(MIB, chunk);
      }
    } finally {
      state.isEnded = true;
    }
  };
  return { content, state };
}

/** What was asked of the server that writes. */
const writes = (): string[] =>
  asked.map(({ what }) => what).filter((what) => !['GET', 'HEAD'].includes(what));
const headersOf = (what: string) => asked.find((request) => request.what === what)!.headers;

test('parts hold the bytes in order; each but the last is full, and none is empty', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 40 })),
      fc.integer({ min: 1, max: 20 }),
      async (chunks, size) => {
        const parts: Uint8Array[] = [];
        const stream = async function* () {
          for (const chunk of chunks) yield await Promise.resolve(chunk);
        };
        for await (const part of partsOf(stream(), size)) parts.push(part);
        expect(Buffer.concat(parts)).toEqual(Buffer.concat(chunks));
        for (const part of parts.slice(0, -1)) expect(part.byteLength).toBe(size);
        expect(parts.every((part) => part.byteLength > 0 && part.byteLength <= size)).toBe(true);
      },
    ),
  );
});

describe('an upload in parts', () => {
  test('holds to the limits of S3 and of memory', () => {
    expect(PART_LIMITS).toEqual({ partBytes: 8 * MIB, inFlightMax: 2, partsMax: 10_000, lastAbortMs: 5_000 });
  });

  test('gives the type when it begins, and the condition when it is completed', async () => {
    const store = await opened();
    await store.put('a.csv', source(17).content, { contentType: 'text/csv', ifAbsent: true });
    expect(writes().toSorted()).toEqual(['begin', 'complete', 'part 1', 'part 2', 'part 3']);
    expect(headersOf('begin')).toMatchObject({ 'content-type': 'text/csv' });
    expect(headersOf('complete')).toMatchObject({ 'if-none-match': '*' });
    for (const what of ['begin', 'part 1', 'part 2', 'part 3']) {
      expect(headersOf(what)).not.toHaveProperty('if-none-match');
    }
    asked = [];
    await store.put('a.csv', source(17).content, { ifEtag: 'seen' });
    expect(headersOf('complete')).toMatchObject({ 'if-match': '"seen"' });
    expect(headersOf('begin')).not.toHaveProperty('if-match');
  });

  test('gives each part a checksum where the server knows them, and elsewhere none', async () => {
    const none = ['x-amz-checksum-algorithm', 'x-amz-checksum-crc32'];
    await (await opened()).put('a.csv', source(9).content);
    for (const what of ['begin', 'part 1']) {
      for (const header of none) expect(headersOf(what)).not.toHaveProperty(header);
    }
    asked = [];
    await (
      await opened({ AWS_REQUEST_CHECKSUM_CALCULATION: 'WHEN_SUPPORTED' })
    ).put('a.csv', source(9).content);
    expect(headersOf('begin')).toMatchObject({ 'x-amz-checksum-algorithm': 'CRC32' });
    const checksums = ['part 1', 'part 2'].map((what) => headersOf(what)['x-amz-checksum-crc32']);
    const completed = asked.find(({ what }) => what === 'complete')!.body;
    expect([...completed.matchAll(/<ChecksumCRC32>([^<]+)</g)].map(([, sum]) => sum)).toEqual(checksums);
  });

  test('sends two parts at a time, never more, and completes them in order', async () => {
    const store = await opened();
    const first = Promise.withResolvers<undefined>();
    const second = Promise.withResolvers<undefined>();
    let inFlight = 0;
    let inFlightMax = 0;
    judge = async (what) => {
      if (!what.startsWith('part')) return;
      inFlight += 1;
      inFlightMax = Math.max(inFlightMax, inFlight);
      if (what === 'part 2') {
        second.resolve(undefined);
        // They may arrive in either order.
        await first.promise;
      }
      // The first part ends after the second one.
      if (what === 'part 1') {
        first.resolve(undefined);
        await second.promise;
        while (!events.includes('part 2 answered')) await new Promise(setImmediate);
      }
      inFlight -= 1;
    };
    const { content } = source(41);
    expect(await store.put('a.csv', content)).toMatchObject(await digestOf(content()));
    expect(inFlightMax).toBe(2);
  });

  test('reads no further ahead than the parts it may hold', async () => {
    const store = await opened();
    let ahead = 0;
    const { content } = source(64, (chunk) => {
      const stored = events.filter((event) => /^part \d+ answered$/.test(event)).length;
      ahead = Math.max(ahead, (chunk + 1) * MIB - stored * PART_BYTES);
    });
    await store.put('a.csv', content);
    // Two in flight, one that is full, and the chunk with which the next begins.
    expect(ahead).toBeLessThanOrEqual(3 * PART_BYTES + MIB);
  });

  test('is begun before the fence is asked, so that a later holder of the lease finds it', async () => {
    const store = await opened();
    const assertHeld = () => Promise.resolve(void events.push('fence asked'));
    await store.put('a.csv', source(9).content, { fence: { epoch: 1, assertHeld } });
    expect(events.indexOf('fence asked')).toBeGreaterThan(events.indexOf('begin answered'));
  });

  test('tries a part again that the server was too busy for', async () => {
    const store = await opened();
    let isBusy = true;
    judge = (what) => {
      if (what !== 'part 2' || !isBusy) return;
      isBusy = false;
      return { status: 503, code: 'SlowDown' };
    };
    const { content } = source(17);
    expect(await store.put('a.csv', content)).toMatchObject(await digestOf(content()));
    expect(writes().filter((what) => what === 'part 2')).toHaveLength(2);
  });
});

describe('an upload in parts that fails', () => {
  test.each([
    ['its begin', 'begin'],
    ['its first part', 'part 1'],
    ['a later part', 'part 2'],
    ['its last part', 'part 3'],
    ['its completion', 'complete'],
  ])('as %s is refused says what the server said, and reads no more', async (_, refused) => {
    const store = await opened();
    judge = (what) => (what === refused ? { status: 400, code: 'EntityTooLarge' } : undefined);
    const { content, state } = source(refused === 'part 3' || refused === 'complete' ? 17 : 400);
    await expect(store.put('a.csv', content)).rejects.toMatchObject({
      name: 'ObjectStoreUnreachable',
      message: expect.stringMatching(/status 400, EntityTooLarge: it said so/),
    });
    expect(state.isEnded).toBe(true);
    expect(writes().length).toBeLessThan(12);
    expect(writes().includes('abort')).toBe(refused !== 'begin');
    // A begin whose answer was lost is only found in the listing.
    expect(writes().at(-1)).toBe('list');
    expect(await store.head('a.csv')).toBeNull();
  });

  test('is aborted after the other part in flight has ended, as that would stay', async () => {
    const store = await opened();
    const second = Promise.withResolvers<undefined>();
    judge = async (what) => {
      if (what === 'part 1') return { status: 400, code: 'EntityTooLarge' };
      if (what !== 'part 2') return;
      second.resolve(undefined);
      // Long enough for an abort that does not wait to arrive.
      for (let turn = 0; turn < 200 && !events.includes('abort asked'); turn += 1) {
        await new Promise(setImmediate);
      }
    };
    await expect(store.put('a.csv', source(16).content)).rejects.toThrow(/EntityTooLarge/);
    expect(events.indexOf('abort asked')).toBeGreaterThan(events.indexOf('part 2 answered'));
  });

  test('in two parts is reported with the first failure', async () => {
    const store = await opened();
    judge = async (what) => {
      if (what === 'part 2') return { status: 400, code: 'FirstOne' };
      if (what !== 'part 1') return;
      while (!events.includes('part 2 answered')) await new Promise(setImmediate);
      return { status: 400, code: 'SecondOne' };
    };
    await expect(store.put('a.csv', source(16).content)).rejects.toThrow(/FirstOne/);
  });

  test.each(['content', 'fence'])('by its %s throws that error, and is aborted', async (failing) => {
    class Gone extends Error {}
    const store = await opened();
    const gone = () => Promise.reject(new Gone());
    const { content } = source(20, (chunk) => {
      if (failing === 'content' && chunk === 18) throw new Gone();
    });
    const options = failing === 'fence' ? { fence: { epoch: 1, assertHeld: gone } } : {};
    await expect(store.put('a.csv', content, options)).rejects.toThrow(Gone);
    expect(writes().slice(-2)).toEqual(['abort', 'list']);
    expect(writes()).not.toContain('complete');
    expect(await store.head('a.csv')).toBeNull();
  });

  test('and cannot be aborted throws the first error all the same', async () => {
    class Gone extends Error {}
    const store = await opened();
    judge = (what) => (['abort', 'list'].includes(what) ? { status: 403, code: 'AccessDenied' } : undefined);
    const { content } = source(20, (chunk) => {
      if (chunk === 18) throw new Gone();
    });
    await expect(store.put('a.csv', content)).rejects.toThrow(Gone);
    judge = (what) =>
      what === 'GET' ? undefined : what === 'HEAD' ? undefined : { status: 400, code: what };
    await expect(store.put('a.csv', source(9).content)).rejects.toThrow(/status 400, begin/);
  });

  test('as a part has no ETag says which part', async () => {
    hidesEtag = true;
    const store = await opened();
    await expect(store.put('a.csv', source(9).content)).rejects.toMatchObject({
      name: 'ObjectStoreUnreachable',
      message: expect.stringMatching(/it gave no ETag for part 2 of a\.csv, without which/),
    });
    expect(writes()).toContain('abort');
  });
});

describe('with limits of its own', () => {
  const client = () => clientOf({ env: envOf(), strict: false, stop: () => Promise.resolve() });
  const placed = (sender: ReturnType<typeof client>, at = endpoint) => ({
    client: sender,
    place: { bucket, prefix: 'x', endpoint: at },
  });

  test('an object of as many parts as S3 takes is stored; one of more is refused, and aborted', async () => {
    const limits = { ...PART_LIMITS, partBytes: 5 * MIB, partsMax: 2 };
    await sendParts(placed(client()), 'a.csv', {}, source(10).content(), limits);
    expect(writes().at(-1)).toBe('complete');
    asked = [];
    const sending = sendParts(placed(client()), 'b.csv', {}, source(11).content(), limits);
    await expect(sending).rejects.toThrow(ObjectDenied);
    await expect(sending).rejects.toThrow(
      /b\.csv is larger than 10485760 bytes, the most that S3 takes in parts/,
    );
    expect(writes().toSorted()).toEqual(['abort', 'begin', 'list', 'part 1', 'part 2']);
  });

  describe('and a server that stops answering', () => {
    const limits = { ...PART_LIMITS, partBytes: 1_000 };
    const begun = async (isSilentTo: (line: string) => boolean, lastAbortMs: number) => {
      const proxy = await startProxy(endpoint);
      const reached: string[] = [];
      proxy.judge = ({ direction, bytes }) => {
        const [, method, url] = /^([A-Z]+) (\S+) HTTP/.exec(bytes.toString('latin1', 0, 400)) ?? [];
        if (direction === 'down' || method === undefined) return 'pass';
        const what = whatOf(method, url!);
        reached.push(what);
        return isSilentTo(what) ? 'swallow' : 'pass';
      };
      const env = envOf({ AWS_ENDPOINT_URL_S3: proxy.url });
      const sender = clientOf(
        { env, strict: false, stop: () => Promise.resolve() },
        { maxAttempts: TRIES_MAX, requestHandler: { socketTimeout: 100 } },
      );
      const content = source(1).content();
      const sending = sendParts(placed(sender), 'a.csv', {}, content, { ...limits, lastAbortMs });
      await expect(sending).rejects.toMatchObject({ name: 'TimeoutError' });
      await proxy.close();
      return reached;
    };

    test('to a part alone, the upload is aborted', async () => {
      await begun((what) => what.startsWith('part'), 5_000);
      expect(writes()).toEqual(['begin', 'abort']);
    });

    test('to anything, it is not waited for as long again', async () => {
      const reached = await begun((what) => what !== 'begin', 1);
      expect(reached.filter((what) => what === 'part 1')).toHaveLength(TRIES_MAX);
      expect(reached.filter((what) => what === 'abort').length).toBeLessThan(2);
      expect(reached).not.toContain('list');
    });
  });
});
