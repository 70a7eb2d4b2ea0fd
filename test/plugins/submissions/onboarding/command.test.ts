import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { applyApplicationResult, applicationById } from '../../../../src/plugins/submissions/applications.ts';
import { addMerchant } from '../../../../src/store/merchants.ts';
import { application, path, person } from './applications.ts';
import { answer, reset, outOfScope } from '../../../platform/stranger.ts';
import { sandbox } from '../../sandbox/support.ts';
import { emptyTables, freshDatabase } from '../../../support/database.ts';
import { daybook, type Env } from '../../../cli/daybook.ts';

const [k1, k2] = [randomBytes(32), randomBytes(32)];
const KEYS = `k1:${k1.toString('base64')}`;
const NOW = new Date('2026-03-10T02:00:00Z');

let database: Awaited<ReturnType<typeof freshDatabase>>;
let folder: string;
beforeAll(async () => {
  database = await freshDatabase();
  folder = mkdtempSync(join(tmpdir(), 'daybook-onboard-'));
});
afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => emptyTables(database.db));

const run = (url: string, args: readonly string[], env: Env = {}) =>
  daybook(args, {
    DATABASE_URL: database.url,
    PLATFORM_BASE_URL: url,
    PLATFORM_TIME_ZONE: 'Asia/Shanghai',
    PLATFORM_RETRIES_MAX: '0',
    DAYBOOK_NOW: NOW.toISOString(),
    DAYBOOK_SECRET_KEYS: KEYS,
    DAYBOOK_PUBLIC_URL: 'http://127.0.0.1:9',
    ...env,
  });

const fileOf = (content: object, name = 'merchant.yaml'): string => {
  const file = join(folder, name);
  writeFileSync(file, name.endsWith('.json') ? JSON.stringify(content) : stringify(content));
  return file;
};
const AWAY = 'http://127.0.0.1:1';

describe('onboard', () => {
  it('checks a file without sending it, and lists every problem with its path', async () => {
    expect(await run(AWAY, ['onboard', 'check', fileOf(application())])).toEqual({
      code: 0,
      stdout: 'nothing to correct; it can be submitted\n',
      stderr: '',
    });
    // The check needs no settings of the platform.
    const offline = { PLATFORM_BASE_URL: '', PLATFORM_TIME_ZONE: '' };
    expect(await run(AWAY, ['onboard', 'check', fileOf(application())], offline)).toMatchObject({ code: 0 });
    const wrong = fileOf(application({ email: '', shareholder: [person('Ada Wong', { certNo: 12 })] }));
    expect(await run(AWAY, ['onboard', 'check', wrong])).toEqual({
      code: 2,
      stdout:
        '2 problems in the application; nothing was sent.\n  email is required\n  shareholder[0].certNo must be text; put it in quotes\n',
      stderr: '',
    });
    const { stdout, code } = await run(AWAY, ['onboard', 'submit', wrong, '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([
      2,
      {
        problems: [
          { path: 'email', problem: 'is required' },
          { path: 'shareholder[0].certNo', problem: 'must be text; put it in quotes' },
        ],
      },
    ]);
  });

  it('refuses an unreadable file, or paths of this machine, without showing any content', async () => {
    const broken = join(folder, 'broken.yaml');
    writeFileSync(broken, 'email: kyc@example.com\n  certName: [Ada Wong\n');
    const ended = await run(AWAY, ['onboard', 'submit', broken]);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(/broken\.yaml is neither JSON nor YAML/);
    expect(ended.stderr).not.toMatch(/Ada|kyc/);
    const local = fileOf(application({ certificate: [broken] }));
    expect((await run(AWAY, ['onboard', 'check', local])).stdout).toMatch(
      /certificate\[0\] is a file of this (machine|computer)/,
    );
  });

  it('submits to the platform, which finds no problem either, and shows the status', async () => {
    const { url } = await sandbox();
    const submitted = await run(url, ['onboard', 'submit', fileOf(application(), 'merchant.json'), '--json']);
    expect(submitted).toMatchObject({ code: 0 });
    const row = JSON.parse(submitted.stdout) as { id: number; merOrderNo: string; bizFlow: string };
    expect(row).toMatchObject({
      state: 'accepted',
      replacedBy: null,
      advice: expect.stringMatching(/no approval/),
    });
    expect(row.merOrderNo).toMatch(/^DB20260310[0-9a-f]{22}$/);
    const status = await run(AWAY, ['onboard', 'status']);
    expect(status.stdout).toBe(
      `application ${row.id}: accepted since 2026-03-10 10:00:00\n  merOrderNo ${row.merOrderNo}, bizFlow ${row.bizFlow}\n` +
        '  The platform has received it and reviews it; that is no approval yet. Keep `daybook serve` running: the result comes to it.\n\n' +
        'Times are in Asia/Shanghai.\n',
    );
    expect((await run(AWAY, ['onboard', 'list'])).stdout).toMatch(
      /id +state +merOrderNo +bizFlow.*\n +1 +accepted +DB2026/,
    );
    const twice = await run(url, ['onboard', 'submit', fileOf(application())]);
    expect(twice).toMatchObject({ code: 2, stdout: '' });
    expect(twice.stderr).toContain(
      'application 1 is for the same registration number and stands as accepted',
    );
    for (const { stdout, stderr } of [submitted, status, twice])
      expect(stdout + stderr).not.toMatch(/\bAda\b|Lantern|kyc@/i);
  });

  it('a failure with unknown outcome ends with 4 and says what to do; a person settles it', async () => {
    const { url, received } = await outOfScope(reset);
    const { code, stdout } = await run(url, ['onboard', 'submit', fileOf(application())]);
    expect(code).toBe(4);
    expect(stdout).toMatch(
      /^application 1: unknown since .*\n {2}merOrderNo DB\w+\n {2}problem: sp1101 for the agent: the connection failed/,
    );
    expect(stdout).toContain('daybook onboard settle 1 --biz-flow FLOW');
    expect(received).toHaveLength(1);
    expect(await run(AWAY, ['onboard', 'status', '1'])).toMatchObject({ code: 4 });
    expect((await run(AWAY, ['onboard', 'settle', '1', '--biz-flow', 'two\nlines'])).code).toBe(2);
    expect(await run(AWAY, ['onboard', 'settle', '1', '--biz-flow', 'FLOW7'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^application 1: accepted .*\n.*bizFlow FLOW7/),
    });
    expect((await run(AWAY, ['onboard', 'status', '7'])).stderr).toContain('there is no application 7');
  });

  it('a refusal ends with 3; the platform’s words are shown without personal data, unless asked for', async () => {
    const { url } = await outOfScope(
      answer('{"code":"E40000","message":"ada wong: K80012345 unknown","fields":["certNo"]}', 400),
    );
    expect(await run(url, ['onboard', 'submit', fileOf(application())])).toMatchObject({ code: 3 });
    const status = await run(AWAY, ['onboard', 'status', '1']);
    expect(status.stdout).toContain('  reason: ***: *** unknown\n  fields: certNo\n');
    expect((await run(AWAY, ['onboard', 'status', '1', '--reveal'])).stdout).toContain(
      'reason: ada wong: K80012345 unknown',
    );
    const lost = await run(AWAY, ['onboard', 'status', '1'], {
      DAYBOOK_SECRET_KEYS: `k2:${k2.toString('base64')}`,
    });
    expect(lost).toMatchObject({ code: 2, stdout: '' });
    expect(lost.stderr).toMatch(/was encrypted with key "k1", which DAYBOOK_SECRET_KEYS does not have/);
  });

  it('required supplements are shown with reasons, fields and the process version that the next application sends', async () => {
    const { url } = await sandbox();
    await run(url, ['onboard', 'submit', fileOf(application())]);
    const row = (await applicationById(database.db, 1))!;
    await database.db.transaction().execute((trx) =>
      applyApplicationResult(trx, row, {
        decision: {
          to: 'supplement',
          message: '{"reason":"the licence is cut off","fields":["certificate","director"]}',
        },
        bizFlow: row.bizFlow!,
        processVersion: 'V2',
        merNameEn: application().merNameEn,
        secretKeys: [{ id: 'k1', key: k1 }],
        now: NOW,
      }),
    );
    const status = await run(AWAY, ['onboard', 'status', '1']);
    expect(status.code).toBe(3);
    expect(status.stdout).toContain(
      '  reason: the licence is cut off\n  fields: certificate, director\n  process version: V2\n' +
        '  the platform has the merchant under the English name that was sent\n  The platform wants documents',
    );
    const file = fileOf(application({ certificate: [path('whole')] }));
    const next = await run(url, ['onboard', 'submit', file, '--replaces', '1', '--json']);
    expect(JSON.parse(next.stdout)).toMatchObject({
      id: 2,
      state: 'accepted',
      processVersion: 'V2',
      replaces: 1,
    });
    expect(await run(AWAY, ['onboard', 'status', '1'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('replaced by application 2'),
    });
  });

  it('sends nothing if there is no key to encrypt it with', async () => {
    const { url, received } = await outOfScope(answer('{}'));
    const ended = await run(url, ['onboard', 'submit', fileOf(application())], { DAYBOOK_SECRET_KEYS: '' });
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain('DAYBOOK_SECRET_KEYS');
    expect(received).toHaveLength(0);
  });
});

describe('merchants rekey', () => {
  it('encrypts everything with the current key, and says which keys can be removed', async () => {
    const add = (merchantNo: string, id: string, key: Buffer) =>
      addMerchant(database.db, { merchantNo, token: 'made-up', secretKeys: [{ id, key }], now: NOW });
    await add('M1', 'k1', k1);
    await add('M2', 'lost', randomBytes(32));
    const keys = { DAYBOOK_SECRET_KEYS: `k2:${k2.toString('base64')},${KEYS}` };
    const first = await run(AWAY, ['merchants', 'rekey'], keys);
    expect(first).toEqual({
      code: 3,
      stdout:
        '1 row of merchant (token_ciphertext) now under "k2"\n1 row left as they are:\n  token_ciphertext of merchant M2 was ' +
        'encrypted with key "lost", which DAYBOOK_SECRET_KEYS does not have; put it back after the key in use.\n' +
        'no longer needed: "k1"; remove from DAYBOOK_SECRET_KEYS\n',
      stderr: '',
    });
    await add('M2', 'k2', k2);
    const second = await run(AWAY, ['merchants', 'rekey', '--json'], {
      DAYBOOK_SECRET_KEYS: `k2:${k2.toString('base64')}`,
    });
    expect(second.code).toBe(0);
    expect(JSON.parse(second.stdout)).toMatchObject({ keyId: 'k2', unreadable: 0, idle: [] });
  });
});
