/**
 * Alerts by the real commands, as processes: what receivers get of a test, a failed night, a missed one, and an attack.
 *
 * @module-tag long
 */
import { createHmac, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import { addMerchant } from '../../../src/store/merchants.ts';
import { hasEmbedded } from '../../support/database.ts';
import { startMailbox, startReceiver, type Mailbox, type Receiver } from '../../support/receivers.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';
import { daybook, envOf, startDaybook, type Env } from '../../cli/daybook.ts';

const SECRET = 'a secret of the receiver';
const NIGHTS_MS = 60_000;
let stage: Stage;
let hook: Receiver;
let slack: Receiver;
let mailbox: Mailbox;
let env: Env;
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 5 }) });
  [hook, slack, mailbox] = await Promise.all([startReceiver(), startReceiver(), startMailbox()]);
  env = {
    ...envOf(stage),
    DAYBOOK_ALERT_URL: `${hook.url} slack+${slack.url}`,
    DAYBOOK_ALERT_SECRET: SECRET,
    DAYBOOK_ALERT_MAIL_TO: 'ops@company.example',
    DAYBOOK_ALERT_MAIL_FROM: 'daybook@company.example',
    DAYBOOK_SMTP_URL: mailbox.url,
  };
});
afterEach(() => Promise.all([stage.close(), hook.close(), slack.close(), mailbox.close()]));

const kinds = (): unknown[] => hook.documents().map(({ kind }) => kind);
const down = (): void => stage.sandbox.setHostility({ http500Every: 1 });
const up = (): void => stage.sandbox.setHostility({});

describe('alerts test', () => {
  test('sends one to each target and says which took it', async () => {
    const { code, stdout } = await daybook(['alerts', 'test', '--json'], env);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual([
      { target: 'DAYBOOK_ALERT_URL 1 (json)', problem: null },
      { target: 'DAYBOOK_ALERT_URL 2 (slack)', problem: null },
      { target: 'DAYBOOK_ALERT_MAIL_TO', problem: null },
    ]);
    expect(kinds()).toEqual(['test']);
    expect(slack.documents()[0]).toMatchObject({ text: 'daybook: a test' });
    expect(mailbox.mails[0]!.text).toContain('Subject: daybook: a test');
    const [{ headers, text }] = hook.received as [Receiver['received'][number]];
    const [, seconds, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['daybook-signature']))!;
    expect(mac).toBe(createHmac('sha256', SECRET).update(`${seconds}.${text}`).digest('hex'));
  });

  test('ends with 4 where one did not, and shows no address', async () => {
    hook.answer = (response) => response.writeHead(403).end('you shall not');
    const { code, stdout, stderr } = await daybook(['alerts', 'test'], env);
    expect(code).toBe(4);
    expect(stdout).toMatch(/DAYBOOK_ALERT_URL 1 \(json\)\s+it answered 403/);
    expect(stdout).toMatch(/DAYBOOK_ALERT_URL 2 \(slack\)\s+took the test/);
    expect(stdout + stderr).not.toMatch(/secret-part|127\.0\.0\.1|shall not/);
  });

  test('says what to set where nothing is set up', async () => {
    expect(await daybook(['alerts', 'test'], envOf(stage))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no alerts are set up: set DAYBOOK_ALERT_URL'),
    });
  });
});

test('a night by cron that fails is told when the command ends, listed, and recovered by the next', async () => {
  down();
  const failed = await daybook(['run'], env);
  expect(failed.code, failed.stderr).toBe(4);
  expect(hook.documents()).toMatchObject([{ kind: 'failed-night', merchants: [MERCHANT.merchantNo] }]);
  expect(slack.received).toHaveLength(1);
  expect(mailbox.mails).toHaveLength(1);
  up();
  expect((await daybook(['run'], env)).code).toBe(0);
  expect(kinds()).toEqual(['failed-night', 'recovered']);
  const listed = await daybook(['alerts', 'list', '--json'], env);
  expect(JSON.parse(listed.stdout)).toMatchObject(
    ['recovered', 'failed-night'].map((kind) => ({
      kind,
      deliveries: [{ state: 'sent' }, { state: 'sent' }, { state: 'sent' }],
    })),
  );
  const text = await daybook(['alerts', 'list'], env);
  expect(text.stdout).toContain('DAYBOOK_ALERT_MAIL_TO: sent');
}, 120_000);

test('receivers that hang or fail change neither the end of a run nor hold it up, and status tells', async () => {
  hook.answer = () => undefined;
  slack.answer = (response) => response.writeHead(500).end();
  down();
  const ended = await daybook(['run'], env);
  expect(ended.code).toBe(4);
  // A busy machine may reach the end of the command before that of the try.
  expect(ended.stderr).toMatch(/no answer (within 4 s|before the command ended)/);
  expect(ended.stderr).not.toMatch(/secret-part/);
  const { stdout } = await daybook(['status'], env);
  expect(stdout).toContain('alerts: 2 not delivered yet: see `daybook alerts list`');
}, 60_000);

/** Less than a mail server may take for a mail while nobody waits. */
const HELD_UP_MS_MAX = 25_000;

test.each([
  ['greets and then says nothing', 'smtp', (socket: Socket) => void socket.write('220 mail ESMTP\r\n')],
  ['greets and sends a byte a second', 'smtp', (socket: Socket) => slowly(socket, '220 mail ESMTP\r\n')],
  ['answers no TLS handshake', 'smtps', () => undefined],
])(
  'a mail server that %s holds up no end of a run, and a later process delivers',
  async (_, scheme, accepts) => {
    await mailbox.close();
    const sockets = new Set<Socket>();
    const hanging = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      accepts(socket);
    });
    await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve));
    const { port } = hanging.address() as AddressInfo;
    down();
    const began = performance.now();
    // The process itself, as an open connection would keep it.
    const ended = await startDaybook(['run'], { ...env, DAYBOOK_SMTP_URL: `${scheme}://127.0.0.1:${port}` })
      .ended;
    expect(ended.code, ended.stderr).toBe(4);
    expect(performance.now() - began).toBeLessThan(HELD_UP_MS_MAX);
    expect(kinds()).toEqual(['failed-night']);
    for (const socket of sockets) socket.destroy();
    hanging.close();
    mailbox = await startMailbox();
    await sql`UPDATE alert_delivery SET try_at = now() WHERE state = 'waiting'`.execute(
      stage.app.database.db,
    );
    await daybook(['status', '--alert'], { ...env, DAYBOOK_SMTP_URL: mailbox.url });
    expect(mailbox.mails).toHaveLength(1);
  },
  60_000,
);

/** Sends these bytes, then one a second for ever. */
function slowly(socket: Socket, first: string): void {
  socket.write(first);
  const timer = setInterval(() => socket.write('2'), 1_000);
  socket.on('close', () => clearInterval(timer));
}

test('status --alert from cron tells a missed night, once', async () => {
  expect((await daybook(['run'], env)).code).toBe(0);
  const later = { ...env, DAYBOOK_NOW: '2026-03-07T04:00:00+08:00' };
  await daybook(['status', '--alert'], later);
  await daybook(['status', '--alert'], later);
  expect(kinds()).toEqual(['missed-night']);
  expect(await daybook(['status', '--alert'], envOf(stage))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--alert needs a target for alerts'),
  });
}, 60_000);

test('schedule tells in the background, and a missed night is told by serve alone', async () => {
  down();
  const schedule = startDaybook(['schedule'], { ...env, DAYBOOK_SCHEDULE_RESWEEP: '30 1 * * *' });
  await vi.waitFor(() => expect(kinds()).toEqual(['failed-night']), { timeout: NIGHTS_MS });
  schedule.child.kill('SIGTERM');
  expect((await schedule.ended).code).toBe(0);
  up();
  await addMerchant(stage.app.database.db, {
    ...{ merchantNo: MERCHANT.merchantNo, token: null, secretKeys: [], now: stage.app.now() },
  });
  expect((await daybook(['run'], env)).code).toBe(0);
  // As if the schedule had searched for missed nights longer ago.
  await sql`UPDATE installation SET nights_checked_at = '-infinity', runs_checked_at = '-infinity'`.execute(
    stage.app.database.db,
  );
  const serve = startDaybook(['serve'], {
    ...env,
    DAYBOOK_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    DAYBOOK_LISTEN: '127.0.0.1:0',
    DAYBOOK_NOW: '2026-03-07T04:00:00+08:00',
  });
  await vi.waitFor(() => expect(kinds()).toEqual(['failed-night', 'recovered', 'missed-night']), {
    timeout: NIGHTS_MS,
  });
  serve.child.kill('SIGTERM');
  await serve.ended;
}, 180_000);

describe('a night that cannot begin', () => {
  test('because the key is not the database’s is told once, until a night is good', async () => {
    const [right, wrong] = [0, 1].map(() => `k1:${randomBytes(32).toString('base64')}`) as [string, string];
    const withToken = { ...env, TOKEN: 'made-up', DAYBOOK_SECRET_KEYS: right };
    const add = ['merchants', 'add', '--merchant-no', 'M9', '--token-env', 'TOKEN'];
    expect((await daybook(add, withToken)).code).toBe(0);
    expect((await daybook(['merchants', 'disable', 'M9'], withToken)).code).toBe(0);
    for (const command of ['run', 'serve', 'schedule'])
      expect((await daybook([command], { ...env, DAYBOOK_SECRET_KEYS: wrong })).code).toBe(2);
    expect(hook.documents()).toMatchObject([
      {
        kind: 'key-problem',
        title: 'DAYBOOK_SECRET_KEYS does not open what is stored',
        text: expect.stringContaining(
          'the key "k1" in DAYBOOK_SECRET_KEYS is not the one this database knows',
        ),
        runbook: 'Alert: a key or token does not work',
      },
    ]);
    expect((await daybook(['run'], { ...env, DAYBOOK_SECRET_KEYS: right })).code).toBe(0);
    expect(kinds()).toEqual(['key-problem', 'recovered']);
  }, 120_000);

  test('of serve is trouble of its own, which is over once it listens', async () => {
    const serving = {
      ...{ ...env, DAYBOOK_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}` },
      DAYBOOK_LISTEN: '127.0.0.1:0',
    };
    const { db } = stage.app.database;
    await sql`UPDATE kysely_migration SET name = 'away' WHERE name = '0006_alerts'`.execute(db);
    expect((await daybook(['serve'], serving)).code).not.toBe(0);
    expect(hook.documents()).toMatchObject([
      {
        kind: 'not-serving',
        title: expect.stringMatching(/^daybook serve could not begin \(exit \d+\)$/),
        runbook: 'Alert: results are not taken in',
      },
    ]);
    const conditions = () => db.selectFrom('alert_condition').select('name').execute();
    expect(await conditions()).toEqual([{ name: 'serve' }]);
    await sql`UPDATE kysely_migration SET name = '0006_alerts' WHERE name = 'away'`.execute(db);
    const serve = startDaybook(['serve'], serving);
    await vi.waitFor(async () => expect(await conditions()).toEqual([]), { timeout: 30_000 });
    serve.child.kill('SIGTERM');
    await serve.ended;
  }, 90_000);

  test.runIf(hasEmbedded).each([
    ['since the last good one', true],
    ['since the first one that could not begin', false],
  ])(
    'because another process keeps the embedded database is told once a night is missed, %s',
    async (_, isGoodFirst) => {
      const dataDir = await mkdtemp(join(tmpdir(), 'daybook-busy-'));
      const embedded: Record<string, string> = { ...env, DAYBOOK_DATA_DIR: dataDir };
      delete embedded['DATABASE_URL'];
      const nightAfter = (hours: number) => {
        const at = new Date(stage.app.now().getTime() + hours * 3_600_000).toISOString();
        return daybook(['run'], { ...embedded, DAYBOOK_NOW: at });
      };
      if (isGoodFirst) expect((await nightAfter(0)).code).toBe(0);
      const held = await openDatabase({ databaseUrl: null, dataDir });
      if (!isGoodFirst) expect((await nightAfter(0)).code).toBe(5);
      expect((await nightAfter(25)).code).toBe(5);
      expect(hook.received).toEqual([]);
      expect((await nightAfter(27)).code).toBe(5);
      expect((await nightAfter(28)).code).toBe(5);
      expect(hook.documents()).toMatchObject([
        {
          kind: 'failed-night',
          title: 'daybook could not begin (exit 5)',
          text: expect.stringContaining('is in use by'),
        },
      ]);
      await held.close();
      await rm(dataDir, { recursive: true });
    },
    120_000,
  );

  test('because the database is away is told without it, once a day', async () => {
    const away = { ...env, DATABASE_URL: 'postgres://daybook@127.0.0.1:1/daybook' };
    expect((await daybook(['run'], away)).code).toBe(4);
    expect((await daybook(['run'], away)).code).toBe(4);
    expect(hook.documents()).toMatchObject([
      {
        kind: 'failed-night',
        title: 'daybook could not begin (exit 4)',
        todo: expect.stringContaining('doctor'),
      },
    ]);
    expect(mailbox.mails).toHaveLength(1);
  }, 120_000);
});
