/** The message if statements cannot be stored: which setting is wrong, and what to do. */
import { existsSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { openObjectStore } from '../../src/objects/open.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { freshBucket, gatewayServer, startFauxqsServer, type S3Server } from './s3-servers.ts';

const { chmod, mkdir, mkdtemp, readdir, rm, writeFile } = fs;

const open = (statementsUrl: string, env: Readonly<Record<string, string>> = {}): Promise<ObjectStore> =>
  openObjectStore({ statementsUrl, s3ForcePathStyle: null, env });

const refusal = async (
  opened: ObjectStore | Promise<ObjectStore>,
): Promise<{ name: string; message: string }> => {
  try {
    await (await opened).check();
  } catch (error) {
    const { name, message } = error as Error;
    return { name, message };
  }
  throw new Error('the check passed');
};

test.each(['ftp://host/x', 'statements', 'file://host/x', 's3:///prefix'])(
  '%s names no object store',
  async (url) => {
    await expect(open(url)).rejects.toThrow(
      /STATEMENTS_URL .* write s3:\/\/bucket\/prefix or file:\/\/\/folder/,
    );
  },
);

describe('a directory', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'daybook-refusals-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('a file in its place is named in the message', async () => {
    const file = join(folder, 'statements');
    await writeFile(file, '');
    expect(await refusal(open(pathToFileURL(file).href))).toEqual({
      name: 'ObjectStoreRefused',
      message: expect.stringMatching(/statements: a file has this name: set STATEMENTS_URL to a folder/),
    });
  });

  test.runIf(existsSync('/proc/self'))(
    'a system folder in which no folder can be created is refused at once',
    async () => {
      expect(await refusal(open('file:///proc/daybook/statements'))).toEqual({
        name: 'ObjectStoreRefused',
        message: expect.stringMatching(
          /^statements cannot be stored in \/proc\/daybook\/statements: .*cannot be made/,
        ),
      });
    },
  );

  test.skipIf(process.getuid?.() === 0)('a folder without write permission is named', async () => {
    await chmod(folder, 0o500);
    expect((await refusal(open(pathToFileURL(folder).href))).message).toMatch(/write permission/);
    await chmod(folder, 0o700);
  });

  test('a folder in the place of a file is named, both in reading and in writing', async () => {
    const taken = join(folder, 'taken');
    await mkdir(join(taken, 'manifest.json'), { recursive: true });
    const store = await open(pathToFileURL(taken).href);
    const reported = {
      name: 'ObjectStoreUnreachable',
      message: expect.stringMatching(/a folder has the name of a file that daybook writes: move it away/),
    };
    await expect(store.put('manifest.json', new Uint8Array(1))).rejects.toMatchObject(reported);
    await expect(store.digest('manifest.json')).rejects.toMatchObject(reported);
    expect(await readdir(taken)).toEqual(['manifest.json']);
  });

  test.each([
    ['ENOSPC', 'ObjectStoreUnreachable', /the disk is full: free some space/],
    ['EROFS', 'ObjectStoreRefused', /the file system is read-only: mount it writable/],
    ['EACCES', 'ObjectStoreRefused', /give its user write permission/],
    // The error of creating folders on a read-only file system.
    ['ENOENT', 'ObjectStoreRefused', /cannot be made.*see that the disk is mounted, and writable/],
  ])('%s in the check is %s', async (code, name, message) => {
    const fault = () => Promise.reject(Object.assign(new Error(`${code}: raw`), { code }));
    const store = createDirectoryStore(join(folder, 'clean'), { ...fs, mkdir: fault });
    expect(await refusal(store)).toEqual({ name, message: expect.stringMatching(message) });
    await expect(store.put('a.csv', new Uint8Array(1))).rejects.toMatchObject({
      name: 'ObjectStoreUnreachable',
      message: expect.stringMatching(message),
    });
  });

  test('the check leaves no file behind', async () => {
    const clean = join(folder, 'clean');
    await (await open(pathToFileURL(clean).href)).check();
    expect(await readdir(clean)).toEqual([]);
  });
});

describe('an endpoint where nothing listens', () => {
  test('is reported with the setting that names it', async () => {
    const port = await closedPort();
    const store = open('s3://bucket', {
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 'very-secret',
    });
    const { name, message } = await refusal(store);
    expect(name).toBe('ObjectStoreUnreachable');
    expect(message).toMatch(/127\.0\.0\.1:\d+: nothing answers there: check AWS_ENDPOINT_URL_S3/);
    expect(message).not.toContain('very-secret');
  });
});

describe('an endpoint that answers with something else', () => {
  const answered = async (
    status: number,
    body: string,
    scheme = 'http',
  ): Promise<{ name: string; message: string }> => {
    const server = createHttpServer((_, response) => response.writeHead(status).end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    try {
      return await refusal(
        open('s3://bucket', {
          AWS_ENDPOINT_URL_S3: `${scheme}://127.0.0.1:${port}`,
          AWS_ACCESS_KEY_ID: 'a',
          AWS_SECRET_ACCESS_KEY: 'b',
        }),
      );
    } finally {
      server.closeAllConnections();
      server.close();
    }
  };

  test.each(['<html>Not found</html', '', 'no such page'])(
    '404 with %j says that it may be no S3 server, and not that the bucket is missing',
    async (body) => {
      expect(await answered(404, body)).toEqual({
        name: 'ObjectStoreRefused',
        message: expect.stringMatching(
          /status 404 and does not say what is missing: check that AWS_ENDPOINT_URL_S3/,
        ),
      });
    },
  );

  test('SlowDown says to come again later', { tags: ['long'] }, async () => {
    const body =
      '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Reduce your rate.</Message></Error>';
    expect(await answered(503, body)).toEqual({
      name: 'ObjectStoreUnreachable',
      message: expect.stringMatching(/asks for fewer calls \(SlowDown\).*run again later/),
    });
  });

  test('https to a port that speaks http names the setting', async () => {
    expect(await answered(200, '', 'https')).toEqual({
      name: 'ObjectStoreRefused',
      message: expect.stringMatching(/TLS.*AWS_ENDPOINT_URL_S3/),
    });
  });
});

const gateway = gatewayServer();
const servers: readonly (readonly [string, () => Promise<S3Server>])[] = [
  ['fauxqs', startFauxqsServer],
  ...(gateway === null ? [] : ([['the gateway', () => Promise.resolve(gateway)]] as const)),
];

describe.each(servers)('a bucket on %s', (_, start) => {
  let server: S3Server;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.stop());

  test('that is missing is named, with the setting', async () => {
    expect(await refusal(open('s3://daybook-nowhere/x', server.env))).toEqual({
      name: 'ObjectStoreRefused',
      message: expect.stringMatching(/the bucket 'daybook-nowhere' does not exist there: create it/),
    });
  });
});

describe.skipIf(gateway === null)('credentials on the gateway', () => {
  const credentials = async (env: Readonly<Record<string, string>>) =>
    refusal((await freshBucket(gateway!, env)).store);

  test('a wrong secret key is refused, and no secret is shown', async () => {
    const { name, message } = await credentials({ AWS_SECRET_ACCESS_KEY: 'wrong-secret' });
    expect(name).toBe('ObjectStoreRefused');
    expect(message).toMatch(/the secret key does not fit the access key: set AWS_ACCESS_KEY_ID/);
    expect(message).not.toContain('wrong-secret');
  });

  test('an unknown access key is refused', async () => {
    expect((await credentials({ AWS_ACCESS_KEY_ID: 'nobody' })).message).toMatch(/the access key is unknown/);
  });

  test('during a run the same refusal can be retried later', async () => {
    const { store } = await freshBucket(gateway!, { AWS_SECRET_ACCESS_KEY: 'wrong-secret' });
    await expect(store.put('a.csv', new Uint8Array(1))).rejects.toMatchObject({
      name: 'ObjectStoreUnreachable',
      message: expect.stringMatching(/the secret key does not fit/),
    });
  });
});

async function closedPort(): Promise<number> {
  const server: Server = createServer();
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  await new Promise((resolve) => server.close(resolve));
  return port;
}
