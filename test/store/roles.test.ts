/** The roles of sql/roles: on a real server each can do its own work, and nothing else. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { sql, type Kysely } from 'kysely';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { installQueue, openQueue } from '../../src/plugins/queue/queue.ts';
import { keepWorking } from '../../src/plugins/queue/worker.ts';
import { enqueue } from '../../src/plugins/queue/jobs.ts';
import { processNotifications } from '../../src/plugins/submissions/notifications.ts';
import { deliverDue } from '../../src/plugins/alerts/deliver.ts';
import { runAlerts } from '../../src/plugins/alerts/run-end.ts';
import type { Target } from '../../src/plugins/alerts/targets.ts';
import { claimWatchdogCheck, listAlerts, troublesOf } from '../../src/plugins/alerts/outbox.ts';
import { checkForMissedRun } from '../../src/plugins/alerts/watch.ts';
import { executeReferenceRun, referenceWork } from '../../src/plugins/reference/run.ts';
import { namesOf, storeNames } from '../../src/store/names.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { migrate } from '../../src/store/engine/migrations.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { closeMonth } from '../../src/months/close.ts';
import { monthOf } from '../../src/months/month.ts';
import {
  beginSession,
  deleteOverSessions,
  endSession,
  endSessionsOf,
  extendSession,
  findSession,
} from '../../src/plugins/pages/access/stored.ts';
import { doneBy } from '../../src/store/audit.ts';
import { prunableRows, pruneRows } from '../../src/store/prune.ts';
import { openPlatformLimit } from '../../src/store/platform-limit.ts';
import { accepted, inReview, onboardingResult } from '../plugins/submissions/notifications/subjects.ts';
import { KEYS, NOW, serveOver } from '../plugins/submissions/notifications/support.ts';
import { createLeftWatch } from '../../src/plugins/submissions/serve-command.ts';
import { FORM_TOKEN, showPages } from '../plugins/pages/support.ts';
import { MERCHANT, openStage, type Stage } from '../support/stage.ts';

const ROLES = ['migrate', 'job', 'inbox', 'prune', 'read-only', 'sessions', 'pages'] as const;
type Role = (typeof ROLES)[number];
const scriptOf = (role: Role) => readFile(new URL(`../../sql/roles/${role}.sql`, import.meta.url), 'utf8');

/** A login with only that role and no rights of its own. */
async function loginAs(role: Role, url: string, admin: Kysely<DB>): Promise<Database> {
  const name = `test_${randomUUID().slice(0, 8)}`;
  const granted =
    role === 'pages'
      ? 'daybook_pages, daybook_sessions, daybook_read_only'
      : `daybook_${role.replace('-', '_')}`;
  await sql.raw(`CREATE ROLE ${name} LOGIN PASSWORD 'made-up' IN ROLE ${granted}`).execute(admin);
  const login = new URL(url);
  login.username = name;
  login.password = 'made-up';
  return openDatabase({ databaseUrl: login.href, dataDir: '' });
}

/** The error of a statement that is not permitted. */
const refused = { code: '42501' };
const forbidden = (db: Kysely<DB>, statement: string) =>
  expect(sql.raw(statement).execute(db), statement).rejects.toMatchObject(refused);

const logins = new Map<Role, Database>();
const of = (role: Role) => logins.get(role)!.db;
let stage: Stage;
let admin: Kysely<DB>;
beforeAll(async () => {
  stage = await openStage();
  admin = stage.app.database.db;
  const url = stage.app.settings.databaseUrl!;
  for (const role of ROLES) {
    // Twice, because a script is run again after each migration.
    for (let again = 0; again < 2; again += 1) await sql.raw(await scriptOf(role)).execute(admin);
    logins.set(role, await loginAs(role, url, admin));
  }
});
afterAll(async () => {
  for (const login of logins.values()) await login.close();
  await stage.close();
});

describe('migrate', () => {
  it('creates and owns every table in a database of its own', async () => {
    const name = `roles_${randomUUID().replaceAll('-', '')}`;
    const serverUrl = inject('postgresUrl');
    await sql`CREATE DATABASE ${sql.id(name)}`.execute(admin);
    const empty = await openDatabase({ databaseUrl: `${serverUrl}/${name}`, dataDir: '' });
    await sql.raw(await scriptOf('migrate')).execute(empty.db);
    const login = await loginAs('migrate', `${serverUrl}/${name}`, empty.db);
    expect((await migrate(login.db)).length).toBeGreaterThan(5);
    expect(await installQueue(login.db)).toBe(true);
    for (const role of ['job', 'inbox', 'prune', 'read-only', 'pages', 'sessions'] as const) {
      await sql.raw(await scriptOf(role)).execute(login.db);
    }
    await login.close();
    await empty.close();
  });
});

describe('job', () => {
  it('runs a night, a rerun and the reference data', async () => {
    const night = await stage.run({}, { db: of('job') });
    expect(night.publish?.published.length).toBeGreaterThan(0);
    expect((await stage.run({}, { db: of('job') })).publish?.published).toEqual([]);
    const work = referenceWork({ ...stage.app, database: logins.get('job')! }, new AbortController().signal);
    expect((await executeReferenceRun(work)).exitCode).toBe(0);
  });

  it('closes a month, and changes no close', async () => {
    const month = monthOf('2026-03')!;
    const auditEvent = { by: 'Ada', command: 'close', subject: MERCHANT.merchantNo };
    const request = { merchantNo: MERCHANT.merchantNo, month, despite: 'a test', auditEvent };
    const { objects, now, settings } = stage.app;
    const options = { db: of('job'), objects, now, signingKey: null, zone: settings.platform.timeZone };
    expect(await closeMonth(request, options)).toMatchObject({ kind: 'closed', close: { number: 1 } });
    const signingKey = { name: 'made-up', text: '', check: () => null, sign: () => 'signed' };
    expect(await closeMonth(request, { ...options, signingKey })).toMatchObject({
      kind: 'already',
      close: { number: 1, signature: 'signed' },
    });
    await forbidden(of('job'), 'UPDATE month_close SET number = 2');
    await forbidden(of('job'), "UPDATE month_close SET content = ''");
    await forbidden(of('job'), 'DELETE FROM month_close');
    await forbidden(of('job'), 'SELECT * FROM page_session');
  });

  it('raises, sends and lists alerts', async () => {
    const db = of('job');
    const sent: string[] = [];
    const target: Target = {
      ...{ key: 'json x', name: 'x' },
      send: ({ kind }) => {
        sent.push(kind);
        return Promise.resolve({ ok: true });
      },
    };
    const alerts = runAlerts({
      targets: [target.key],
      direct: () => Promise.resolve(),
      directlySent: () => Promise.resolve(new Map()),
      onSuccess: () => Promise.resolve(),
      onProblem: (error: unknown) => {
        throw error;
      },
    });
    const [entry] = stage.sandbox.entriesOf(MERCHANT.merchantNo);
    stage.sandbox.amend(MERCHANT.merchantNo, entry!.batchNo, { busiType: 'CORRECTED' });
    await stage.run({}, { db, alerts });
    await checkForMissedRun(db, [MERCHANT.merchantNo], {
      ...{ targets: [target.key], now: new Date('2026-04-01T00:00:00Z'), zone: 'UTC', maxAgeMs: 1 },
    });
    expect(await claimWatchdogCheck(db, 'runs', 1_000)).toBe(true);
    await deliverDue({ db, targets: [target], now: () => NOW, onFailed: () => undefined });
    expect(sent.sort()).toEqual(['amendment', 'missed-night']);
    expect(await listAlerts(db, 10)).toHaveLength(2);
  });

  it('sends jobs to the queue, and works on them', async () => {
    await installQueue(admin);
    await sql.raw(await scriptOf('job')).execute(admin);
    const problems: unknown[] = [];
    const onProblem = (error: unknown) => void problems.push(error);
    const queue = await openQueue(of('job'), { supervises: true, onProblem });
    const jobs = [{ runId: 1, merchantNo: 'M1' }];
    await of('job')
      .transaction()
      .execute((trx) => enqueue(queue, trx, jobs));
    await queue.boss.supervise();
    const ends: string[] = [];
    await keepWorking(queue, {
      atOnce: 1,
      work: () => Promise.resolve(),
      endAbandoned: () => Promise.resolve(),
      onEnd: ({ outcome }) => ends.push(outcome),
      onProblem,
      signal: new AbortController().signal,
      untilEmpty: true,
    });
    await queue.close();
    expect({ ends, problems }).toEqual({ ends: ['done'], problems: [] });
  });

  it.each([
    'SELECT * FROM application',
    'SELECT * FROM beneficiary',
    'SELECT * FROM notification',
    'DROP TABLE daybook_queue.job',
    'DELETE FROM ledger_entry',
    'DELETE FROM statement',
    'TRUNCATE ledger_entry',
    'DROP TABLE ledger_entry',
    'ALTER TABLE ledger_entry ADD COLUMN more text',
    'CREATE TABLE more (id int)',
    'DELETE FROM kysely_migration',
    "UPDATE installation SET oldest_program = '0001'",
  ])('may not: %s', (statement) => forbidden(of('job'), statement));
});

describe('inbox', () => {
  it('tells of missed nights and of results without a key, and sees nothing else of a run', async () => {
    const db = of('inbox');
    const raising = { targets: ['json x'], now: new Date('2026-04-03T00:00:00Z') };
    await checkForMissedRun(db, [MERCHANT.merchantNo], { ...raising, zone: 'UTC', maxAgeMs: 1 });
    const watch = createLeftWatch();
    watch.onLeft([{ number: 1, problem: 'no key opens it' }]);
    await watch.check(troublesOf(db, raising));
    expect(await claimWatchdogCheck(db, 'nights', 1_000)).toBe(true);
    await deliverDue({ db, targets: [], now: () => NOW, onFailed: () => undefined });
    const kinds = (await listAlerts(db, 10)).map(({ kind }) => kind);
    expect(kinds).toContain('key-problem');
    await forbidden(db, 'SELECT figures FROM run_merchant');
    await forbidden(db, 'SELECT * FROM run');
    await forbidden(db, 'SELECT * FROM event');
  });

  it('records an application, stores its result and makes it a merchant', async () => {
    const application = await accepted(of('inbox'), 'ORDER-1');
    await inReview(of('inbox'), 'ORDER-2');
    const served = await serveOver(of('inbox'));
    const { status } = await served.post(application.path, JSON.stringify(onboardingResult(application)));
    await served.close();
    expect(status).toBe(200);
    const report = await processNotifications({
      db: of('inbox'),
      secretKeys: KEYS,
      now: () => NOW,
      signal: new AbortController().signal,
    });
    expect(report).toMatchObject({ outcomes: { applied: 1 }, left: [] });
  });

  it('gives names, and takes none away for good', async () => {
    const given = [{ merchantNo: 'M-9', currency: 'USD', fields: { name: 'Settlement' } }];
    const record = { event: { by: 'ada', command: 'merchants name' }, now: NOW };
    for (const role of ['inbox', 'job'] as const)
      await of(role)
        .transaction()
        .execute((trx) => storeNames(trx, given, record));
    expect((await namesOf(of('read-only'), ['M-9'])).get('M-9')?.accounts.get('USD')).toEqual({
      name: 'Settlement',
    });
    for (const role of ['inbox', 'job'] as const) await forbidden(of(role), 'DELETE FROM account_name');
    await forbidden(of('read-only'), "UPDATE account_name SET name = 'x'");
  });

  it.each([
    'SELECT * FROM ledger_entry',
    'SELECT * FROM statement',
    'SELECT * FROM month_close',
    'SELECT * FROM page_session',
    'INSERT INTO page_session DEFAULT VALUES',
    'INSERT INTO run (command, holder, started_at) VALUES (1, 1, now())',
    'DELETE FROM application',
    'DELETE FROM merchant',
    'DROP TABLE notification',
    'CREATE TABLE more (id int)',
    'SELECT clock_off FROM installation',
    'UPDATE installation SET clock_off = NULL',
  ])('may not: %s', (statement) => forbidden(of('inbox'), statement));
});

describe('sessions', () => {
  it('keeps who is logged in at the pages, and what the audit says of it', async () => {
    const db = of('sessions');
    const times = { begunAt: NOW, endsAt: new Date(NOW.getTime() + 1) };
    const session = { tokenSha256: 'x', name: 'ada', groups: ['finance'], proofSha256: null };
    await beginSession(db, { ...session, ...times, way: 'oidc' });
    expect(await findSession(db, 'x', NOW)).toMatchObject(session);
    expect(await findSession(db, 'x', times.endsAt)).toBeUndefined();
    await extendSession(db, 'x', times.endsAt);
    await endSession(db, 'x');
    expect(await findSession(db, 'x', NOW)).toBeUndefined();
    await beginSession(db, { ...session, ...times, way: 'password' });
    const logout = { by: 'ada', command: 'access logout', subject: 'ada' };
    expect(await doneBy(db, logout, NOW, (trx) => endSessionsOf(trx, 'ada'))).toBe(1);
    await deleteOverSessions(db, NOW);
  });

  it.each([
    "UPDATE page_session SET name = 'eve'",
    'SELECT by_whom FROM audit_event',
    'SELECT * FROM account_day',
    'SELECT merchant_no FROM merchant',
    'SELECT * FROM application',
    'SELECT * FROM notification',
    'SELECT * FROM secret_key_check',
    'SELECT * FROM installation',
    'SELECT * FROM request',
    'CREATE TABLE more (id int)',
  ])('may not: %s', (statement) => forbidden(of('sessions'), statement));
});

describe('prune', () => {
  it('counts and deletes what may go', async () => {
    const asked = { before: new Date('2026-01-01T00:00:00Z'), now: NOW };
    const none = (await prunableRows(of('prune'), asked)).map((one) => ({ ...one, rows: 0 }));
    expect(await pruneRows(of('prune'), asked)).toEqual(none);
  });

  it.each([
    'DELETE FROM ledger_entry',
    'DELETE FROM foreign_account_day',
    'DELETE FROM statement',
    'DELETE FROM run',
    'DELETE FROM audit_event',
    'SELECT * FROM ledger_entry',
    'SELECT body_ciphertext FROM notification',
    'SELECT payload_ciphertext FROM application',
    'SELECT raw FROM quarantined_entry',
    'SELECT token_ciphertext FROM merchant',
  ])('may not: %s', (statement) => forbidden(of('prune'), statement));
});

describe('pages', () => {
  it('shows each page and takes the steps of a case, and can change nothing else', async () => {
    const login = logins.get('pages')!;
    const { id } = await admin
      .insertInto('continuity_break')
      .values({
        ...{ merchant_no: MERCHANT.merchantNo, currency: 'USD', day: '2026-03-03', before_batch_no: 'X' },
        ...{ expected_balance: '1', found_balance: '2', missing_net: '1', hint: 'unexplained' },
        ...{ begin_ms: Date.parse('2026-03-03'), end_ms: Date.parse('2026-03-03'), found_at: NOW },
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    const pages = await showPages({ ...stage, app: { ...stage.app, database: login } });
    const day = `/m/${MERCHANT.merchantNo}/USD/2026-03-03`;
    for (const path of ['/', '/?month=2026-03', `/m/${MERCHANT.merchantNo}/2026-03`, day, '/breaks?all=yes'])
      expect((await pages.html(path)).length, path).toBeGreaterThan(1_000);
    const found = `merchant=${MERCHANT.merchantNo}&type=f`;
    for (const path of [`/entry?${found}`, '/work', `/breaks?merchant=${MERCHANT.merchantNo}`])
      expect((await pages.html(path)).length, path).toBeGreaterThan(1_000);
    for (const path of [`/breaks/${id}`, '/entry?number=X', '/changes?since=2026-03-01', '/status'])
      expect((await pages.html(path)).length, path).toBeGreaterThan(1_000);
    for (const step of ['taken', 'commented', 'resolved', 'reopened'])
      expect((await pages.post(`/breaks/${id}`, { form_token: FORM_TOKEN, step, note: 'n' })).status).toBe(
        303,
      );
    expect(await pages.html(`/download/${day.slice(3)}`)).toContain('batch_no');
    for (const path of [`/download/${MERCHANT.merchantNo}/2026-03.xlsx`, `/entry.csv?${found}`])
      expect((await pages.get(path)).status, path).toBe(200);
    const names = `/names/${MERCHANT.merchantNo}`;
    const seen = /name="seen"\s+value="(\w+)"/.exec(await pages.html(names))![1]!;
    expect((await pages.post(names, { form_token: FORM_TOKEN, seen, name: 'Acme' })).status).toBe(303);
    const month = `/m/${MERCHANT.merchantNo}/2026-03`;
    expect(await pages.html(`${month}?close=yes`)).toMatch(/<textarea\s+id="despite"/);
    const closed = await pages.post(month, { form_token: FORM_TOKEN, despite: 'a test' });
    expect([closed.status, await pages.html(`${month}?done=yes`)]).toEqual([
      303,
      expect.stringContaining('The month is closed: close 2 freezes'),
    ]);
    await pages.close();
    await installQueue(admin);
    await sql.raw(await scriptOf('read-only')).execute(admin);
    const settings = { ...stage.app.settings, workers: 'queue' } as const;
    const withQueue = await showPages({ ...stage, app: { ...stage.app, settings, database: login } });
    expect(await withQueue.html('/status')).toMatch(/queue/i);
    await withQueue.close();
    await admin.deleteFrom('continuity_break').where('id', '=', id).execute();
    for (const statement of [
      `UPDATE continuity_break SET missing_net = 0`,
      `UPDATE account_day SET closing = 0`,
      'DELETE FROM audit_event',
      'UPDATE month_close SET number = 3',
      'DELETE FROM month_close',
      'DELETE FROM daybook_queue.job',
    ])
      await forbidden(login.db, statement);
  });

  it.each([
    'SELECT token_ciphertext FROM merchant',
    'SELECT * FROM merchant',
    'SELECT payload_ciphertext FROM application',
    'SELECT mer_order_no FROM application',
    'SELECT payload_ciphertext FROM beneficiary',
    'SELECT * FROM beneficiary',
    'SELECT body_ciphertext FROM notification',
    'SELECT * FROM notification',
    'SELECT * FROM fingerprint_key',
    "UPDATE merchant SET token_ciphertext = 'x'",
    "INSERT INTO merchant (merchant_no, status, added_at) VALUES ('M', 'active', now())",
    'INSERT INTO secret_key_check DEFAULT VALUES',
    'DELETE FROM alert',
    'UPDATE installation SET nights_checked_at = now()',
  ])('reads no token and no personal data, and changes nothing of them: %s', (statement) =>
    forbidden(of('pages'), statement),
  );
});

describe('read-only', () => {
  it.each([
    'SELECT * FROM account_day',
    'SELECT * FROM continuity_break',
    'SELECT * FROM statement',
    'SELECT merchant_no, status FROM merchant',
    'SELECT * FROM run',
    'SELECT * FROM daybook_account_days',
    'SELECT * FROM daybook_open_breaks',
    'SELECT * FROM daybook_coverage',
    'SELECT * FROM daybook_statements',
    'SELECT * FROM month_close',
  ])('may: %s', async (statement) => {
    await expect(sql.raw(statement).execute(of('read-only'))).resolves.toBeDefined();
  });

  it.each([
    'SELECT token_ciphertext FROM merchant',
    'SELECT * FROM application',
    'SELECT * FROM beneficiary',
    'SELECT * FROM notification',
    'SELECT * FROM fingerprint_key',
    'SELECT * FROM page_session',
    "UPDATE continuity_break SET status = 'resolved'",
    'DELETE FROM run',
    'CREATE TABLE more (id int)',
  ])('may not: %s', (statement) => forbidden(of('read-only'), statement));
});

it.each(['job', 'inbox'] as const)('%s keeps the platform’s limit together with the others', async (role) => {
  const limit = openPlatformLimit(of(role));
  await limit.sendHolds([{ owner: 'merchant M1', forMs: 60_000 }]);
  await limit.sendHolds([{ owner: 'merchant M1', forMs: 60_000 }]);
  for (const calls of [1, 2])
    expect(await limit.take(calls, 10)).toMatchObject({ holds: [{ owner: 'merchant M1' }] });
});

it('every table is granted to a role that works with it', async () => {
  const tables = await admin.introspection.getTables({ withInternalKyselyTables: false });
  const scripts = (await Promise.all(ROLES.map(scriptOf))).join('\n');
  const own = tables.filter(({ schema }) => schema === 'public');
  expect(own.map(({ name }) => name).filter((name) => !new RegExp(`\\b${name}\\b`).test(scripts))).toEqual(
    [],
  );
});
