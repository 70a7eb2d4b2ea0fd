import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { ObjectStoreRefused } from '../../src/objects/object-store.ts';
import { openObjectStore } from '../../src/objects/open.ts';

afterEach(() => vi.unstubAllEnvs());

const KEYS = { AWS_ACCESS_KEY_ID: 'made-up', AWS_SECRET_ACCESS_KEY: 'made-up', AWS_REGION: 'us-east-1' };
const open = (env: Record<string, string>, allowInsecure: readonly string[] = []) =>
  openObjectStore({
    statementsUrl: 's3://bucket/x',
    s3ForcePathStyle: null,
    env: { ...KEYS, ...env },
    allowInsecure,
  });

test.each(['http://s3.example', 'HTTP://s3.example:9000', 'http://minio.localhost', 'http://10.0.0.7:9000'])(
  'plain http to another machine is refused: %s',
  async (endpoint) => {
    for (const name of ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL']) {
      await expect(open({ [name]: endpoint })).rejects.toThrow(ObjectStoreRefused);
      await expect(open({ [name]: endpoint }, ['database'])).rejects.toThrow(
        /DAYBOOK_ALLOW_INSECURE=statements/,
      );
      expect((await open({ [name]: endpoint }, ['statements'])).location).toContain('bucket');
    }
  },
);

test.each(['https://s3.example', 'http://127.0.0.1:9000', 'http://localhost:9000', 'http://[::1]:9000'])(
  'https, or plain http to this machine, is accepted: %s',
  async (endpoint) => {
    expect((await open({ AWS_ENDPOINT_URL_S3: endpoint })).location).toContain('bucket');
  },
);

test('the same rule holds for an endpoint that the SDK finds in a profile', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-profile-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(
    join(folder, 'config'),
    '[default]\nendpoint_url = http://s3.invalid:9000\nregion = us-east-1\n',
  );
  vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'config'));
  const store = await open({});
  await expect(store.head('a')).rejects.toThrow(/s3\.invalid.*by plain http/);
});
