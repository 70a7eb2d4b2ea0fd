/**
 * The logins of compose.yaml: what its services `roles` and `grants` type, on a real server by the real psql, and then each
 * process of daybook with its own login. Skipped where psql is not installed; DAYBOOK_TEST_PSQL=required refuses that.
 */
import { execFile, spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { rowsOf, type Database } from '../../src/store/engine/database.ts';
import { daybook, envOf, startDaybook, type Env } from '../cli/daybook.ts';
import { Browser } from '../plugins/pages/access/support.ts';
import { openStage, type Stage } from '../support/stage.ts';
import { documentsOf } from './deployed.ts';

interface Compose {
  readonly services: Readonly<
    Record<string, { readonly command: readonly string[]; readonly environment?: Env }>
  >;
}
const { services } = documentsOf('compose.yaml')[0] as Compose;

const hasPsql = spawnSync('psql', ['--version']).status === 0;
test.runIf(process.env['DAYBOOK_TEST_PSQL'] === 'required')('psql is here', () => expect(hasPsql).toBe(true));

const LOGINS = ['migrate', 'job', 'serve', 'pages', 'prune', 'read_only'] as const;
type Login = (typeof LOGINS)[number];

let folder = '';
let admin: Database;
let stage: Stage;
const server = new URL(inject('postgresUrl'));
const name = `compose_${randomUUID().replaceAll('-', '')}`;

const secretOf = (login: Login, password: string): void =>
  writeFileSync(
    join(folder, `${login}_database_url`),
    `postgres://daybook_${login}_login:${password}@database/${name}\n`,
  );
const urlOf = (login: Login, password = 'made-up'): string =>
  `postgres://daybook_${login}_login:${password}@${server.host}/${name}`;

/** What a service types, with the places of this machine in place of the container's. */
async function typed(service: string): Promise<void> {
  const script = services[service]!.command[0]!.replaceAll('$$', '$')
    .replaceAll('/run/secrets', folder)
    .replaceAll(' /roles/', ' sql/roles/')
    .replaceAll(' /logins.sql', ' deploy/logins.sql')
    .replace('host=database ', `host=${server.hostname} port=${server.port} `);
  await promisify(execFile)('/bin/sh', ['-ec', script]);
}

describe.runIf(hasPsql)('the logins of compose.yaml', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'daybook-compose-'));
    writeFileSync(join(folder, 'database_password'), server.password);
    for (const login of LOGINS) secretOf(login, 'made-up');
    const first = await openDatabase({ databaseUrl: `${server.href}/postgres`, dataDir: '' });
    await sql`CREATE DATABASE ${sql.id(name)}`.execute(first.db);
    await first.close();
    admin = await openDatabase({ databaseUrl: `${server.href}/${name}`, dataDir: '' });
    stage = await openStage();
    // As `docker compose up` does it, twice: nothing is in the way of the second time.
    for (let again = 0; again < 2; again += 1) {
      await typed('roles');
      expect(await run(['migrate'], 'migrate', { DAYBOOK_WORKERS: 'queue' })).toMatchObject({ code: 0 });
      await typed('grants');
    }
  });
  afterAll(async () => {
    await stage.close();
    await admin.close();
    rmSync(folder, { recursive: true });
  });

  const KEYS = `k1:${randomBytes(32).toString('base64')}`;
  const run = (args: readonly string[], login: Login, more: Env = {}) =>
    daybook(args, { ...envOf(stage), DATABASE_URL: urlOf(login), DAYBOOK_SECRET_KEYS: KEYS, ...more });

  test('each process has its own, and none is the superuser’s', () => {
    const used = Object.entries(services).flatMap(([service, { environment }]) => {
      const path = environment?.['DATABASE_URL_FILE'];
      return path === undefined ? [] : [[service, path.replace('/run/secrets/', '')]];
    });
    expect(Object.fromEntries(used)).toEqual({
      migrate: 'migrate_database_url',
      schedule: 'job_database_url',
      serve: 'serve_database_url',
      pages: 'pages_database_url',
      worker: 'job_database_url',
      prune: 'prune_database_url',
    });
  });

  test('have these roles, and no right of their own', async () => {
    const rows = await rowsOf(admin.db)<{ name: string; roles: string; isMore: boolean }>`
      SELECT l.rolname AS name, string_agg(r.rolname, ' ' ORDER BY r.rolname) AS roles,
        l.rolsuper OR l.rolcreatedb OR l.rolcreaterole OR l.rolreplication OR l.rolbypassrls AS "isMore"
      FROM pg_roles l JOIN pg_auth_members m ON m.member = l.oid JOIN pg_roles r ON r.oid = m.roleid
      WHERE l.rolname LIKE 'daybook%_login' GROUP BY l.oid, 1, 3 ORDER BY 1`;
    expect(rows).toEqual([
      { name: 'daybook_job_login', roles: 'daybook_inbox daybook_job', isMore: false },
      { name: 'daybook_migrate_login', roles: 'daybook_migrate', isMore: false },
      {
        name: 'daybook_pages_login',
        roles: 'daybook_pages daybook_read_only daybook_sessions',
        isMore: false,
      },
      { name: 'daybook_prune_login', roles: 'daybook_prune', isMore: false },
      { name: 'daybook_read_only_login', roles: 'daybook_read_only', isMore: false },
      { name: 'daybook_serve_login', roles: 'daybook_inbox', isMore: false },
    ]);
    const owners = await rowsOf(admin.db)<{ owner: string }>`
      SELECT DISTINCT tableowner AS owner FROM pg_tables WHERE schemaname IN ('public', 'daybook_queue')`;
    expect(owners).toEqual([{ owner: 'daybook_migrate' }]);
  });

  test('a night, its statements, and the status work with the job’s', async () => {
    const merchant = stage.app.settings.platform.merchant!.merchantNo;
    expect(await run(['run', '--from', '2026-03-02', '--to', '2026-03-05'], 'job')).toMatchObject({
      code: 0,
    });
    const day = ['--merchant', merchant, '--currency', 'USD', '--day', '2026-03-03'];
    const out = join(folder, 'downloads');
    expect(await run(['statements', 'get', ...day, '--out', out], 'job')).toMatchObject({ code: 0 });
    expect((await run(['status'], 'job', { DAYBOOK_WORKERS: 'queue' })).stdout).toContain(merchant);
    expect((await run(['doctor'], 'job')).stdout).not.toMatch(/permission/i);
  });

  test('the receiver works with serve’s, and the pages with theirs, the status with a queue too', async () => {
    for (const [login, path] of [
      ['serve', '/readyz'],
      ['pages', '/status'],
    ] as const) {
      const isPages = login === 'pages';
      let printed = '';
      const serving = startDaybook(services[login]!.command, {
        ...envOf(stage),
        DATABASE_URL: urlOf(login),
        DAYBOOK_WORKERS: 'queue',
        ...(isPages
          ? { DAYBOOK_COOKIE_KEYS: KEYS, DAYBOOK_PAGES_LISTEN: '127.0.0.1:0' }
          : { DAYBOOK_SECRET_KEYS: KEYS, DAYBOOK_LISTEN: '127.0.0.1:0' }),
      });
      serving.child.stdout!.on('data', (text: string) => (printed += text));
      const address = isPages ? /pages: (\S+)/ : /(http:\/\/127\.0\.0\.1:\d+)/;
      const url = await vi.waitFor(() => address.exec(printed)?.[1] ?? expect.fail(serving.reported()), {
        timeout: 30_000,
      });
      const browser = new Browser(new URL(url).origin);
      if (isPages) expect((await browser.get(url)).status).toBe(303);
      const response = await browser.get(path);
      expect([login, response.status, await response.text()]).toEqual([login, 200, expect.anything()]);
      serving.child.kill('SIGTERM');
      await serving.ended;
    }
  });

  test('old records are counted and deleted with the prune login alone', async () => {
    const args = ['prune', '--before', '2025-01-01', '--yes', '--by', 'Ada'];
    expect(await run(args, 'prune')).toMatchObject({ code: 0 });
    for (const login of ['job', 'serve', 'pages'] as const)
      expect((await run(args, login)).stderr, login).toMatch(/permission denied/);
  });

  test('a changed password is taken over, and the one before it opens nothing', async () => {
    secretOf('read_only', 'another');
    await typed('roles');
    const open = (password: string) =>
      openDatabase({ databaseUrl: urlOf('read_only', password), dataDir: '' }).then(async (database) => {
        await sql`SELECT 1 FROM statement`.execute(database.db);
        await database.close();
      });
    await expect(open('another')).resolves.toBeUndefined();
    await expect(open('made-up')).rejects.toThrow();
  });
});
