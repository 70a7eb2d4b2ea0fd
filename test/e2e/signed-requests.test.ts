/** Commands against a platform that demands a signature of every request, with the key from a file. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ScenarioInput } from '../../src/plugins/sandbox/scenario.ts';
import { createSandbox, type Sandbox } from '../../src/plugins/sandbox/server.ts';
import { daybook, type Env } from '../cli/daybook.ts';
import { freshDatabaseUrl } from '../support/database.ts';
import { FROM, MERCHANT, scenario, TO, ZONE } from '../support/stage.ts';

const KEY = 'made-up-key-of-signatures';
const TEMPLATE = '{method}\\n{path}\\n{timestamp}\\n{nonce}\\n{bodySha256}';
const SIGNED = { 'X-Timestamp': '{timestamp}', 'X-Nonce': '{nonce}', 'X-Signature': '{signature}' };
const BEARER = { Authorization: 'Bearer {token}', merchantNo: '{merchantNo}' };

let sandbox: Sandbox;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'daybook-signed-'));
});
afterEach(async () => {
  await sandbox.close();
  await rm(folder, { recursive: true });
});

/** The settings for a sandbox that checks signatures. */
async function openSigned(
  signatures: Partial<NonNullable<ScenarioInput['signatures']>> = {},
  more: Partial<ScenarioInput> = {},
): Promise<Env> {
  sandbox = createSandbox(scenario({ signatures: { key: KEY, ...signatures }, ...more }));
  const { url } = await sandbox.listen({ port: 0 });
  await writeFile(join(folder, 'key'), `${KEY}\n`, { mode: 0o600 });
  return {
    PLATFORM_BASE_URL: url,
    PLATFORM_TIME_ZONE: ZONE,
    PLATFORM_MERCHANT_NO: MERCHANT.merchantNo,
    PLATFORM_TOKEN: MERCHANT.token,
    PLATFORM_HEADERS: JSON.stringify({ ...BEARER, ...SIGNED }),
    PLATFORM_AGENT_HEADERS: JSON.stringify(SIGNED),
    PLATFORM_SIGNATURE_TEMPLATE: TEMPLATE,
    PLATFORM_SIGNATURE_KEY_FILE: join(folder, 'key'),
    DATABASE_URL: await freshDatabaseUrl(),
    DAYBOOK_DATA_DIR: folder,
    DAYBOOK_REFERENCE_COUNTRIES: 'US',
    DAYBOOK_LOG_LEVEL: 'trace',
  };
}
const RUN = ['run', '--from', FROM, '--to', TO];

test('a night and the reference lists are read, each retry under a signature of its own', async () => {
  const env = await openSigned({}, { hostility: { http500Every: 3 } });
  const night = await daybook(RUN, env);
  expect(night).toMatchObject({ code: 0 });
  expect(await daybook(['reference', 'sync'], env)).toMatchObject({ code: 0 });
  expect(night.stderr).not.toContain(KEY);
  expect(sandbox.requestCount()).toBeGreaterThan(10);
});

test.each<[string, Parameters<typeof openSigned>[0], Partial<Env>]>([
  [
    'seconds, base64 and the body itself',
    { unit: 's', encoding: 'base64', parts: ['timestamp', 'nonce', 'body'], between: '&' },
    {
      PLATFORM_SIGNATURE_TEMPLATE: '{timestampS}&{nonce}&{body}',
      PLATFORM_HEADERS: JSON.stringify({
        ...{ ...BEARER, 'X-Timestamp': '{timestampS}' },
        ...{ 'X-Nonce': '{nonce}', 'X-Signature': '{signatureBase64}' },
      }),
    },
  ],
  [
    'other headers',
    { timestampHeader: 'ts', nonceHeader: 'once', signatureHeader: 'sign' },
    {
      PLATFORM_HEADERS: JSON.stringify({
        ...BEARER,
        ts: '{timestamp}',
        once: '{nonce}',
        sign: '{signature}',
      }),
    },
  ],
])('a platform that signs by %s is read', async (_, signatures, settings) => {
  const env = await openSigned(signatures);
  expect(await daybook(RUN, { ...env, ...(settings as Env) })).toMatchObject({ code: 0 });
});

test.each<[string, Env, string]>([
  ['another key', { PLATFORM_SIGNATURE_KEY: `${KEY}-old` }, 'E40101'],
  ['another text', { PLATFORM_SIGNATURE_TEMPLATE: `${TEMPLATE}\\n{body}` }, 'E40101'],
  [
    'a time in another unit',
    {
      PLATFORM_SIGNATURE_TEMPLATE: TEMPLATE.replace('timestamp', 'timestampS'),
      PLATFORM_HEADERS: JSON.stringify({ ...BEARER, ...SIGNED, 'X-Timestamp': '{timestampS}' }),
    },
    'E40102',
  ],
  [
    'no signature',
    { PLATFORM_HEADERS: JSON.stringify({ ...BEARER, 'X-Timestamp': '{timestamp}' }) },
    'E40101',
  ],
])(
  'with %s every command ends with 4 and says what to check, and nothing secret',
  async (_, change, code) => {
    const { PLATFORM_SIGNATURE_KEY_FILE: file, ...given } = await openSigned();
    const key: Env = 'PLATFORM_SIGNATURE_KEY' in change ? {} : { PLATFORM_SIGNATURE_KEY_FILE: file! };
    const env = { ...given, ...key, ...change };
    for (const args of [RUN, ['doctor'], [...RUN, '--json']]) {
      const { code: exit, stdout, stderr } = await daybook(args, env);
      expect(exit).toBe(4);
      const said = stdout + stderr;
      expect(said).toContain(code);
      expect(said).toMatch(/check the merchant's token, .*PLATFORM_HEADERS/);
      for (const secret of [KEY, MERCHANT.token, TEMPLATE]) expect(said).not.toContain(secret);
      expect(said).not.toMatch(/[0-9a-f]{64}/);
    }
    expect(sandbox.entriesOf(MERCHANT.merchantNo).length).toBeGreaterThan(0);
  },
);

test('a key without a header that has the signature ends with 2, before any call', async () => {
  const env = await openSigned();
  const ended = await daybook(RUN, {
    ...env,
    PLATFORM_HEADERS: JSON.stringify(BEARER),
    PLATFORM_AGENT_HEADERS: '{}',
  });
  expect(ended).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('nothing would be signed') as unknown,
  });
  expect([ended.stderr.includes(KEY), sandbox.requestCount()]).toEqual([false, 0]);
});
