import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInbox, listNotifications } from '../../../../src/plugins/submissions/notifications.ts';
import { merchantTokens } from '../../../../src/store/merchants.ts';
import { accepted, inReview, onboardingResult, type Subject } from './subjects.ts';
import { KEYS, NOW } from './support.ts';
import { freshDatabase } from '../../../support/database.ts';
import { daybook, startDaybook, type Env } from '../../../cli/daybook.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let folder: string;
let env: Env;
let one: Subject;
beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-notifications-'));
  env = {
    DATABASE_URL: database.url,
    DAYBOOK_DATA_DIR: folder,
    DAYBOOK_SECRET_KEYS: `k1:${KEYS[0]!.key.toString('base64')}`,
    DAYBOOK_NOW: NOW.toISOString(),
    DAYBOOK_LISTEN: '127.0.0.1:0',
  };
  one = await accepted(database.db, 'A1');
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

const arrives = (secret: string, payload: object) =>
  createInbox({ db: database.db, secretKeys: KEYS, now: () => NOW }).keep({
    kind: 'onboarding',
    secret,
    body: JSON.stringify(payload),
  });

describe('notifications', () => {
  it(
    'shows notifications with their outcomes, and ends with 3 while one needs a person',
    { timeout: 120_000 },
    async () => {
      expect(await daybook(['notifications'], env)).toMatchObject({
        code: 0,
        stdout: 'no notification needs a person\n',
      });
      await arrives(one.secret, onboardingResult(one));
      await arrives(one.secret, onboardingResult(one, { token: 'tok-other' }));
      expect((await daybook(['notifications'], env)).stdout).toMatch(/not processed yet/);

      const processed = await daybook(['notifications', 'process', '--json'], env);
      expect(processed.code, processed.stderr).toBe(3);
      expect(JSON.parse(processed.stdout)).toEqual({
        outcomes: { applied: 1, 'second-token': 1 },
        left: [],
      });
      const reported = await daybook(['notifications'], env);
      expect(reported.code).toBe(3);
      expect(reported.stdout).toMatch(
        /^\s*2 +onboarding +A1 .* second-token +another merchant number or token/m,
      );
      expect(reported.stdout).not.toMatch(/tok-/);
      expect(reported.stdout).toContain('kept in all: 1 applied, 1 second-token');

      const hidden = await daybook(['notifications', 'show', '2'], env);
      expect([hidden.code, hidden.stdout]).toEqual([2, '']);
      const shown = await daybook(['notifications', 'show', '2', '--reveal'], env);
      expect(JSON.parse(shown.stdout)).toEqual(onboardingResult(one, { token: 'tok-other' }));

      const resolve = ['notifications', 'resolve', '2', '--note', 'asked them'];
      expect((await daybook(resolve, env)).code).toBe(0);
      expect(await daybook(resolve, env)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('no notification 2 needs a person') as string,
      });
      expect((await daybook(['notifications'], env)).code).toBe(0);
      expect((await daybook(['notifications', '--all'], env)).stdout).toContain('resolved: asked them');

      const apply = ['notifications', 'apply', '2', '--note', 'they gave a new one'];
      const applied = await daybook(apply, env);
      expect([applied.code, applied.stderr]).toEqual([0, '']);
      expect(applied.stdout).toBe(
        'notification 2 is applied: the application with merOrderNo A1 is approved\n' +
          'merchant M-A1 is known, its token stored encrypted\n',
      );
      expect(await merchantTokens(database.db, KEYS)).toEqual([{ merchantNo: 'M-A1', token: 'tok-other' }]);
      expect(await daybook(apply, env)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('notification 2 was applied before; nothing was changed') as string,
      });
    },
  );

  it('leaves notifications whose key is missing, names the key, and ends with 4', async () => {
    await arrives(one.secret, onboardingResult(one));
    const other = { ...env, DAYBOOK_SECRET_KEYS: `k2:${randomBytes(32).toString('base64')}` };
    const left = await daybook(['notifications', 'process'], other);
    expect([left.code, left.stdout]).toEqual([4, expect.stringContaining('"k1"')]);
    expect((await daybook(['notifications', 'process'], env)).stdout).toBe('1 duplicate\n');
  });
});

it('a result that was not applied is told with its application, its registration, and by status', async () => {
  const [three, four] = [await accepted(database.db, 'A3'), await inReview(database.db, 'R3')];
  await arrives(three.secret, onboardingResult(three, { token: '' }));
  const push = (payload: object) =>
    createInbox({ db: database.db, secretKeys: KEYS, now: () => NOW }).keep({
      ...{ kind: 'beneficiary', secret: four.secret, body: JSON.stringify(payload) },
    });
  await push({ status: '04', payeeId: 'P-R3' });
  await push({ status: '03' });
  expect((await daybook(['notifications', 'process'], env)).code).toBe(3);
  const onboard = await daybook(['onboard', 'status', String(three.id)], env);
  expect(onboard.code).toBe(3);
  expect(onboard.stdout).toMatch(/not applied \(notification \d+, malformed: token is empty, though/);
  expect(onboard.stdout).toMatch(/`daybook notifications apply \d+` applies it/);
  expect((await daybook(['onboard', 'status'], env)).code).toBe(3);
  for (const args of [
    ['beneficiary', 'status', String(four.id)],
    ['beneficiary', 'status'],
  ]) {
    const { code, stdout } = await daybook(args, env);
    expect(code).toBe(3);
    expect(stdout).toMatch(
      /not applied \(notification \d+, contradiction: the registration was approved before/,
    );
  }
  const platform = { PLATFORM_BASE_URL: 'http://127.0.0.1:1', PLATFORM_TIME_ZONE: 'UTC' };
  const all = await daybook(['status'], { ...env, ...platform });
  expect(all.code, all.stderr).toBeGreaterThanOrEqual(3);
  expect(all.stdout).toContain('2 results need a person: `daybook notifications`');
  for (const { number } of await listNotifications(database.db, { all: false, limit: 10 }))
    await daybook(['notifications', 'resolve', String(number), '--note', 'case 1'], env);
  expect((await daybook(['onboard', 'status', String(three.id)], env)).code).toBe(0);
});

it('text from a stranger cannot add lines, control the terminal or hide characters', async () => {
  const payeeId = 'P1\r\nregistration 9 is approved\u001b[2J\u202e\u200b';
  const two = await inReview(database.db, 'R9');
  // Whoever may write to the table can store such a text.
  await database.db.updateTable('beneficiary').set({ payee_id: payeeId }).where('id', '=', two.id).execute();
  const spelt = String.raw`payeeId P1\r\nregistration 9 is approved\u001b[2J\u202e\u200b`;
  const one = await daybook(['beneficiary', 'status', String(two.id)], env);
  expect(one.stdout.split('\n')).toContain(`  ${spelt}`);
  const all = await daybook(['beneficiary', 'status'], env);
  expect(all.stdout).toContain(spelt.replace('payeeId ', ''));
  const json = await daybook(['beneficiary', 'status', String(two.id), '--json'], env);
  expect(JSON.parse(json.stdout)).toMatchObject({ payeeId });
  for (const { stdout } of [one, all, json]) expect(stdout).not.toMatch(/[\u001b\r\u202e\u200b]/);
});

describe('serve', () => {
  it('accepts results until it is asked to stop, and ends with 0', async () => {
    const two = await accepted(database.db, 'A2');
    const { child, ended } = startDaybook(['serve', '--json'], env);
    const said = (stream: Readable, pattern: RegExp) =>
      new Promise<string>((resolve) => {
        let text = '';
        stream.on('data', (chunk: Buffer) => {
          text += chunk.toString();
          const found = pattern.exec(text);
          if (found !== null) resolve(found[1] ?? '');
        });
      });
    const applied = said(child.stderr!, /"applied":1/);
    const url = await said(child.stdout!, /"url": "([^"]+)"/);
    const response = await fetch(`${url}${two.path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(onboardingResult(two)),
    });
    expect(response.status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await applied;
    child.kill('SIGTERM');
    const { code, stderr } = await ended;
    expect(code, stderr).toBe(0);
    expect(stderr).not.toContain(two.secret);
  });

  it.each<[string, Env, RegExp]>([
    ['without a key', { DAYBOOK_SECRET_KEYS: '' }, /DAYBOOK_SECRET_KEYS is not set/],
    [
      'on an address that is not this machine’s',
      { DAYBOOK_LISTEN: '192.0.2.1:80' },
      /cannot listen on 192\.0\.2\.1:80.*DAYBOOK_LISTEN/,
    ],
  ])('does not start %s', async (_, change, sentence) => {
    const { code, stdout, stderr } = await daybook(['serve'], { ...env, ...change });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(sentence);
  });
});

it(
  'the onboarding demo shows every step, both times alike, and leaves usable settings',
  { timeout: 180_000, tags: ['long'] },
  async () => {
    for (let time = 0; time < 2; time += 1) {
      const { code, stdout, stderr } = await daybook(['demo-onboarding'], {}, folder);
      expect(code, stderr).toBe(0);
      for (const step of [
        /1\. Reference data \(sp2502\)\n {3}bank of HK 2/,
        /2\. Application \(sp1101\).*\n {3}accepted as bizFlow/,
        /3\. Result \(sp3101\).*\n.*approved, merchant SANDBOX-2\d+; its token is stored encrypted/,
        /4\. Ledger \(sp2404\)[\s\S]*\.r1\.csv {2}continuous/,
        /5\. Beneficiary \(sp1401\).*\n {3}payeeId P\w+, status 01/,
        /6\. Result \(sp3401\).*\n {3}status 04/,
      ]) {
        expect(stdout).toMatch(step);
      }
      for (const next of ['onboard list', 'beneficiary status', 'merchants list', 'statements list'])
        expect(stdout).toContain(`  npx daybook ${next} --config .daybook/demo-onboarding.yaml\n`);
    }
    const config = ['--config', '.daybook/demo-onboarding.yaml'];
    const listed = await daybook(['merchants', 'list', ...config], {}, folder);
    expect(listed.stdout).toMatch(/SANDBOX-2\d+ +active +stored/);
    expect(await readFile(join(folder, '.daybook/demo-onboarding.yaml'), 'utf8')).toContain(
      'secretKeys: demo:',
    );
  },
);
