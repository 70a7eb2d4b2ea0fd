/**
 * Plants secrets and personal data in every payload and setting. Then runs every command and every way it can fail,
 * as a user would. None of the data may be in any output, log, file or unencrypted column afterwards.
 *
 * @module-tag long
 */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/plugins/sandbox/server.ts';
import { freshDatabase } from '../support/database.ts';
import { runWarm } from '../support/warm-commands.ts';
import { allFiles, allRows, createCanaries } from './canaries.ts';
import { FAILURES, startEchoingPlatform, type EchoingPlatform, type Failure } from './echoing-platform.ts';
import { application, payee } from './planted-files.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const NOW = '2026-03-06T01:30:00+08:00';

const canaries = createCanaries();
const { word } = canaries;
const MERCHANT = { merchantNo: 'SBX-M-1', token: word('merchant token') };
const AGENT_TOKEN = word('agent token');
const secretKey = (name: string): string =>
  canaries.planted(name, createHash('sha256').update(word(name)).digest('base64'));
const KEY = secretKey('secret key');
const OTHER_KEY = secretKey('other secret key');
const DATABASE_PASSWORD = word('database password');

type Env = Readonly<Record<string, string>>;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let sandbox: Sandbox;
let platform: EchoingPlatform;
let folder: string;
let env: Env;
/** Everything that any command has written. */
const written: string[] = [];

beforeAll(async () => {
  database = await freshDatabase();
  const role = `canary_${randomBytes(4).toString('hex')}`;
  await sql.raw(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD '${DATABASE_PASSWORD}'`).execute(database.db);
  const databaseUrl = new URL(database.url);
  databaseUrl.username = role;
  databaseUrl.password = DATABASE_PASSWORD;
  sandbox = createSandbox({
    seed: 5,
    from: '2026-03-02',
    to: '2026-03-05',
    now: NOW,
    entriesPerDay: 3,
    merchants: [{ ...MERCHANT, currencies: ['USD'] }],
    agent: { referralChannel: 'A0001', token: AGENT_TOKEN },
    reviews: { delayMs: 20 },
    pushes: { retryMs: 20, retryMsMax: 100 },
  });
  platform = await startEchoingPlatform();
  folder = await mkdtemp(join(tmpdir(), 'daybook-canary-'));
  env = {
    PATH: process.env['PATH'] ?? '',
    PLATFORM_BASE_URL: (await sandbox.listen({ port: 0 })).url,
    PLATFORM_TIME_ZONE: 'Asia/Shanghai',
    PLATFORM_MERCHANT_NO: MERCHANT.merchantNo,
    PLATFORM_TOKEN: MERCHANT.token,
    PLATFORM_HEADERS: JSON.stringify({
      Authorization: 'Bearer {token}',
      merchantNo: '{merchantNo}',
      'X-Gateway-Key': word('fixed header'),
    }),
    PLATFORM_AGENT_TOKEN: AGENT_TOKEN,
    PLATFORM_AGENT_HEADERS: JSON.stringify({ Authorization: 'Bearer {agentToken}' }),
    PLATFORM_REFERRAL_CHANNEL: 'A0001',
    PLATFORM_RETRIES_MAX: '1',
    PLATFORM_TIMEOUT_MS: '5000',
    DATABASE_URL: databaseUrl.href,
    DAYBOOK_DATA_DIR: join(folder, 'data'),
    DAYBOOK_NOW: NOW,
    DAYBOOK_SECRET_KEYS: `k1:${KEY}`,
    DAYBOOK_REFERENCE_COUNTRIES: '["HK"]',
    DAYBOOK_LOG_LEVEL: 'trace',
  };
});

afterAll(async () => {
  await sandbox.close();
  await platform.close();
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly exitCode: number;
  readonly output: string;
}

/** Runs a command. Its output is that of both streams. */
async function ran(argv: readonly string[], commandEnv: Env): Promise<Ended> {
  const { code, stdout, stderr } = await runWarm(argv, commandEnv);
  return { exitCode: code!, output: stdout + stderr };
}

/** Runs a command with its output as text, which says less than JSON. Nothing planted may be in the output. */
async function daybook(argv: string, change: Env = {}): Promise<Ended> {
  const ended = await ran(argv.split(' '), { ...env, ...change });
  written.push(ended.output);
  expect({ argv, found: canaries.foundIn(ended.output) }).toEqual({ argv, found: [] });
  return ended;
}

async function fileOf(name: string, content: object | string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

it('the search finds what it should, in every form', () => {
  const secret = word('probe');
  for (const spelling of [
    secret.toUpperCase(),
    Buffer.from(`xy${secret}z`).toString('base64'),
    Buffer.from(secret).toString('hex'),
    `{"a":"${secret}"}`,
  ]) {
    expect(canaries.foundIn(`before ${spelling} after`)).toEqual(['probe']);
  }
});

it('wrong settings', async () => {
  const wrong: Env[] = [
    { DAYBOOK_SECRET_KEYS: word('no key') },
    { DAYBOOK_SECRET_KEYS: `k1:${word('short key')}` },
    { DAYBOOK_SECRET_KEYS: `k1:${KEY},k1:${OTHER_KEY}` },
    { PLATFORM_TOKEN: `${word('token with a blank')} more` },
    { PLATFORM_AGENT_TOKEN: `${word('agent token with a blank')} more` },
    { PLATFORM_HEADERS: `{"Authorization": "${word('broken headers')}` },
    { PLATFORM_HEADERS: JSON.stringify({ Authorization: `${word('odd header')} {unknown}` }) },
    { PLATFORM_AGENT_HEADERS: `["${word('headers as a list')}"]` },
    { DATABASE_URL: `mysql://me:${word('mysql password')}@db.example/daybook` },
    { DATABASE_URL: `postgres://me:${word('password of a broken URL')}@[db` },
    { PLATFORM_BASE_URL: `https://me:${word('base URL password')}@platform.example` },
    { DAYBOOK_PUBLIC_URL: `https://me:${word('public URL password')}@daybook.example` },
    { STATEMENTS_URL: `s3://me:${word('bucket password')}@bucket/?x=${word('bucket query')}` },
    { PLATFORM_TOKNE: word('token by a wrong name') },
    { DAYBOOK_CONFIG: await fileOf('broken.yaml', `platform:\n  token: "${word('broken config')}\n  x: [`) },
    {
      DAYBOOK_CONFIG: await fileOf('odd.yaml', {
        platform: { token: [word('token as a list')], tokem: word('unknown key in the file') },
        daybook: { secretKeys: { k1: word('keys as a mapping') } },
      }),
    },
  ];
  for (const change of wrong) {
    for (const command of ['run', 'doctor', 'onboard list', 'serve']) {
      const { exitCode } = await daybook(command, change);
      expect([change, exitCode]).toEqual([change, 2]);
    }
  }
});

it('a database that cannot be opened', async () => {
  const url = new URL(env['DATABASE_URL']!);
  url.password = word('wrong database password');
  for (const databaseUrl of [url.href, `postgres://me:${word('password of nowhere')}@127.0.0.1:1/daybook`]) {
    for (const command of ['status', 'onboard list', 'notifications', 'serve', 'doctor']) {
      expect((await daybook(command, { DATABASE_URL: databaseUrl })).exitCode).not.toBe(0);
    }
  }
});

it('files that do not pass the check, field by field', async () => {
  const whole = application(canaries);
  for (const [field, value] of Object.entries(whole)) {
    for (const spoilt of [word(field).repeat(30), [word(field)], { [field]: word(field) }, 7, null]) {
      const path = await fileOf('application.json', { ...whole, [field]: spoilt });
      await daybook(`onboard check ${path}`, { DAYBOOK_PUBLIC_URL: 'https://daybook.example' });
    }
    expect(value).toBeDefined();
  }
  const registration = payee(canaries);
  for (const field of Object.keys(registration)) {
    for (const spoilt of [`${word(field)}\u0000`, [word(field)], { [field]: word(field) }, null]) {
      const path = await fileOf('payee.json', { ...registration, [field]: spoilt });
      // If the check accepts the file, the platform is one where no one listens.
      await daybook(`beneficiary register ${path}`, { PLATFORM_BASE_URL: 'http://127.0.0.1:1' });
    }
  }
  for (const text of [
    `merNameEn: "${word('broken line')}\n  : [`,
    `{"certNo": "${word('duplicate key')}", "certNo": "${word('duplicate key')}"}`,
    `email: *${word('anchor')}`,
    `%YAML ${word('directive')}`,
  ]) {
    const path = await fileOf('broken.txt', text);
    expect((await daybook(`onboard submit ${path}`)).exitCode).toBe(2);
    expect((await daybook(`beneficiary register ${path}`)).exitCode).toBe(2);
  }
});

it.each(Object.keys(FAILURES) as Failure[])('a platform that answers with %s', async (failure) => {
  platform.failsBy = failure;
  const change = { PLATFORM_BASE_URL: platform.url, DAYBOOK_PUBLIC_URL: 'https://daybook.example' };
  const before = platform.sent.length;
  const submitted = await fileOf('application.json', application(canaries));
  const registered = await fileOf('payee.json', payee(canaries));
  const commands = [
    `onboard submit ${submitted}`,
    `beneficiary register ${registered}`,
    `beneficiary register ${registered} --json`,
    'reference sync',
    'sync --from 2026-03-04 --to 2026-03-05',
    'doctor',
  ];
  for (const command of commands) expect((await daybook(command, change)).exitCode).not.toBe(0);
  const sent = platform.sent.slice(before).join('\n');
  const names = ['merchant token', 'fixed header', 'agent token', 'shareholder certName', 'accountNo'];
  expect(canaries.foundIn(sent)).toEqual(expect.arrayContaining(names));
  // The path for the result is secret too. daybook made it.
  for (const [, secret] of sent.matchAll(/\/notify\/\w+\/([\w-]{43})/g)) canaries.planted('path', secret!);
});

it('stored data, lists, and wrong keys', async () => {
  expect((await daybook('reference sync')).exitCode).toBe(0);
  expect((await daybook('run --from 2026-03-04 --to 2026-03-05')).exitCode).toBe(0);
  const token = word('added token');
  const add = 'merchants add --merchant-no SBX-M-9 --token-env NEW_TOKEN';
  expect((await daybook(add, { NEW_TOKEN: `${token}\nsecond line` })).exitCode).toBe(2);
  expect((await daybook(add, { NEW_TOKEN: token })).exitCode).toBe(0);
  const lists = ['onboard list', 'onboard status 1', 'beneficiary status', 'beneficiary status 1'];
  const others = ['merchants list', 'notifications --all', 'status', 'quarantine', 'reference list bank'];
  for (const command of [...lists, ...others]) {
    await daybook(command);
    await daybook(`${command} --json`);
  }
  const keys: Env[] = [
    { DAYBOOK_SECRET_KEYS: '' },
    { DAYBOOK_SECRET_KEYS: `k2:${OTHER_KEY}` },
    { DAYBOOK_SECRET_KEYS: `k1:${OTHER_KEY}` },
  ];
  const unreadable = ['run', 'onboard status 1', 'beneficiary resend 1', 'merchants rekey', 'doctor'];
  for (const change of keys) for (const command of unreadable) await daybook(command, change);
  expect((await daybook('merchants disable SBX-M-9')).exitCode).toBe(0);
});

it('good and bad results posted to serve, and the reports on them', async () => {
  const serving = spawn(process.execPath, [MAIN, 'serve', '--json'], {
    env: { ...env, DAYBOOK_LISTEN: '127.0.0.1:0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const listening = Promise.withResolvers<string>();
  for (const stream of [serving.stdout, serving.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const [, url] = /"url": "([^"]+)"/.exec(output) ?? [];
      if (url !== undefined) listening.resolve(url);
    });
  }
  const url = await listening.promise;
  const push = async (path: string, body: string, type = 'application/json'): Promise<void> => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
    output += await response.text();
  };

  const change = { DAYBOOK_PUBLIC_URL: url };
  const submitted = await fileOf('application.json', application(canaries));
  expect((await daybook(`onboard submit ${submitted}`, change)).exitCode).toBe(0);
  const registered = await fileOf('payee.json', payee(canaries));
  expect(
    (await daybook(`beneficiary register ${registered} --merchant ${MERCHANT.merchantNo}`, change)).exitCode,
  ).toBe(0);
  await sandbox.settled();
  canaries.planted('delivered token', sandbox.merchants().at(-1)!.token);
  for (const { url: address, payload } of sandbox.pushes()) {
    const path = new URL(address).pathname;
    canaries.planted('path', path.split('/').at(-1)!);
    const [body, spoilt] = [JSON.stringify(payload), { ...payload, token: word('second token') }];
    await push(path, body);
    await push(path, JSON.stringify(spoilt));
    await push(path, JSON.stringify({ ...payload, code: word('code'), status: word('status') }));
    await push(path, JSON.stringify({ ...payload, bizFlow: word('flow'), bizFlowNo: word('flow') }));
    await push(path, `{"message": "${word('broken push')}`);
    await push(path, `{"${word('oversize push').repeat(6_000)}": 1}`);
    await push(path, word('text push'), 'text/plain');
    await push(`${path}${word('longer path')}`, body);
    await push(`/notify/onboarding/${word('unknown path').repeat(4).slice(0, 43)}`, body);
  }
  await daybook('notifications process');
  await daybook('notifications process', { DAYBOOK_SECRET_KEYS: `k1:${OTHER_KEY}` });
  for (const command of [
    'notifications --all',
    'notifications --json',
    'notifications resolve 2 --note done',
  ])
    await daybook(command);

  // And while a table is missing.
  await sql`ALTER TABLE notification RENAME TO notification_away`.execute(database.db);
  await push(`/notify/onboarding/${'a'.repeat(43)}`, JSON.stringify({ token: word('push without a table') }));
  await daybook('notifications process');
  await sql`ALTER TABLE notification_away RENAME TO notification`.execute(database.db);
  serving.kill('SIGTERM');
  await once(serving, 'close');
  expect(output).toContain('try again later');
  expect(canaries.foundIn(output)).toEqual([]);

  // With the key, and on request, all of it can be shown. So the steps above did handle it.
  const shown = await ran(['notifications', 'show', '1', '--reveal'], env);
  expect(canaries.foundIn(shown.output)).not.toEqual([]);
});

it('after all that, no row, file or output holds any of it', async () => {
  const rows = await allRows(database.db);
  expect(rows).toMatch(/^application: /m);
  expect(rows).toMatch(/^beneficiary: /m);
  expect(rows).toMatch(/^notification: /m);
  expect(rows.split('\n').filter((row) => canaries.foundIn(row).length > 0)).toEqual([]);
  expect(canaries.foundIn(await allFiles(join(folder, 'data')))).toEqual([]);
  expect(canaries.foundIn(written.join('\n'))).toEqual([]);
});
