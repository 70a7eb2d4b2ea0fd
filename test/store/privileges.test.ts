/** Everything that the roles of sql/roles, and everybody, may do: asserted in full, so that nothing can be added unseen. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { sql, type Kysely } from 'kysely';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { installQueue } from '../../src/plugins/queue/queue.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { rowsOf, type Database } from '../../src/store/engine/database.ts';
import { migrate } from '../../src/store/engine/migrations.ts';
import type { DB } from '../../src/store/engine/schema.ts';

const SCRIPTS = ['migrate', 'job', 'inbox', 'prune', 'read-only', 'pages', 'sessions'] as const;
const scriptOf = (name: string) => readFile(new URL(`../../sql/roles/${name}.sql`, import.meta.url), 'utf8');

let owner: Database;
let admin: Database;
const open: Database[] = [];

/** A login with these roles and no rights of its own. */
async function loginAs(url: string, ...roles: readonly string[]): Promise<Database> {
  const name = `test_${randomUUID().slice(0, 8)}`;
  await sql.raw(`CREATE ROLE ${name} LOGIN PASSWORD 'made-up' IN ROLE ${roles.join(', ')}`).execute(admin.db);
  if (roles.includes('daybook_migrate'))
    await sql.raw(`ALTER ROLE ${name} SET role daybook_migrate`).execute(admin.db);
  const login = Object.assign(new URL(url), { username: name, password: 'made-up' });
  const opened = await openDatabase({ databaseUrl: login.href, dataDir: '' });
  open.push(opened);
  return opened;
}

let url = '';
beforeAll(async () => {
  const serverUrl = inject('postgresUrl');
  const name = `privileges_${randomUUID().replaceAll('-', '')}`;
  const server = await openDatabase({ databaseUrl: `${serverUrl}/postgres`, dataDir: '' });
  await sql`CREATE DATABASE ${sql.id(name)}`.execute(server.db);
  await server.close();
  url = `${serverUrl}/${name}`;
  admin = await openDatabase({ databaseUrl: url, dataDir: '' });
  open.push(admin);
  await sql.raw(await scriptOf('migrate')).execute(admin.db);
  owner = await loginAs(url, 'daybook_migrate');
  await migrate(owner.db);
  await installQueue(owner.db);
  // Twice, because they are run again after each migration.
  for (const script of [...SCRIPTS, ...SCRIPTS]) await sql.raw(await scriptOf(script)).execute(admin.db);
});
afterAll(async () => {
  for (const one of open.reverse()) await one.close();
});

/** What a role was granted, one line for each set of privileges, columns in brackets. */
async function privilegesOf(db: Kysely<DB>, role: string): Promise<string[]> {
  const rows = await rowsOf(db)<{ object: string; privilege: string }>`
    WITH granted (object, column_name, grantee, privilege) AS (
      SELECT CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || c.relname, NULL, acl.grantee, acl.privilege_type
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) acl
      WHERE n.nspname IN ('public', 'daybook_queue')
      UNION ALL
      SELECT CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || c.relname, a.attname, acl.grantee, acl.privilege_type
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace,
        aclexplode(a.attacl) acl
      WHERE n.nspname IN ('public', 'daybook_queue')
      UNION ALL
      SELECT 'schema ' || nspname, NULL, acl.grantee, acl.privilege_type FROM pg_namespace, aclexplode(nspacl) acl
      WHERE nspname IN ('public', 'daybook_queue')
      UNION ALL
      SELECT 'database', NULL, acl.grantee, acl.privilege_type FROM pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba))) acl
      WHERE datname = current_database()
      UNION ALL
      SELECT proname::text, NULL, acl.grantee, acl.privilege_type
      FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) acl
      WHERE pronamespace = 'pg_catalog'::regnamespace AND proname IN ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_import')
      UNION ALL
      SELECT 'functions of ' || nspname, NULL, acl.grantee, acl.privilege_type
      FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace, aclexplode(proacl) acl
      WHERE n.nspname IN ('public', 'daybook_queue')
    )
    SELECT CASE WHEN column_name IS NULL THEN object ELSE object || ' (' || column_names || ')' END AS object,
      string_agg(DISTINCT privilege, ', ' ORDER BY privilege) AS privilege
    FROM (
      SELECT object, privilege, min(column_name) AS column_name, string_agg(column_name, ', ' ORDER BY column_name) AS column_names
      FROM granted WHERE grantee = coalesce((SELECT oid FROM pg_roles WHERE rolname = ${role}), 0)
      GROUP BY object, privilege, column_name IS NULL
    ) AS one GROUP BY 1 ORDER BY 1`;
  const together = Map.groupBy(rows, ({ privilege }) => privilege);
  return [...together]
    .map(
      ([privilege, of]) =>
        `${privilege}: ${of
          .map(({ object }) => object)
          // pg-boss has one of these a day.
          .filter((object) => !/_\d{8}$/.test(object))
          .join(', ')}`,
    )
    .sort();
}

/** By role, '' for everybody. Columns stand in brackets, daybook's queue with its schema. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  // The functions of the queue have no more rights than who calls them.
  '': ['CONNECT: database', 'EXECUTE: functions of daybook_queue', 'USAGE: schema public'],
  daybook_read_only: [
    'SELECT: absent_entry, account_day, account_doubt, account_name, alert, alert_condition, alert_delivery, artifact, audit_event, book_day, book_entry (amount, book, booked_at, currency, day, id, ' +
      'import_id, merchant_no, number, reference_keys, type, version, withdrawn_import_id), book_import, book_import_waiting, book_match, ' +
      'book_match_entry, book_unreadable (answered_import_id, import_id, line, reason), certificate, ' +
      'changed_day, continuity_break, daybook_account_days, daybook_coverage, daybook_open_breaks, ' +
      'daybook_queue.job, daybook_statements, event, foreign_account_day, installation, kysely_migration, lateness_count, lease, ledger_cursor, ' +
      'ledger_entry, ledger_entry_version, merchant (added_at, joined_at, merchant_no, status), month_close, ' +
      'month_preparation, quarantined_entry (acknowledged_at, batch_no, begin_ms, currency, end_ms, fingerprint, first_seen_at, id, ' +
      'merchant_no, note, occurrences, reason, released_at, run_id, span), reference_item, reference_list, request, run, run_merchant, ' +
      'secret_key_check, silent_account, statement, statement_mail',
    'USAGE: schema daybook_queue, schema public',
  ],
  daybook_pages: [
    'DELETE, INSERT, SELECT, UPDATE: book_day, book_import_waiting, book_match, book_match_entry',
    'DELETE, INSERT, SELECT: month_preparation',
    'INSERT, SELECT, UPDATE: book_entry',
    'INSERT, SELECT: book_import, book_unreadable, event, month_close',
    'INSERT, UPDATE: account_name',
    'INSERT: audit_event (assigned_to, at, by_whom, command, due_on, note, subject), request (asked_by, figures, from_day, merchant_no, number, requested_at, to_day, what)',
    'SELECT: account_day, certificate, continuity_break, ledger_entry, quarantined_entry (raw)',
    'TEMPORARY: database',
    'UPDATE: account_day (version), book_import (added, approved_event_id, audit_event_id, changed, content_sha256, first_day, last_day, returned, rows_read, starts_on, unreadable, withdrawn), ' +
      'book_unreadable (answered_import_id), continuity_break (closed_at, note, status), month_close (reopened_event_id, signature), ' +
      'quarantined_entry (acknowledged_at, note), request (finished_at, state)',
    'USAGE: book_match_id_seq, request_number, schema public',
  ],
  daybook_inbox: [
    'DELETE, INSERT, SELECT, UPDATE: alert, alert_condition, alert_delivery, notification',
    'INSERT, SELECT, UPDATE: account_name, application, beneficiary, fingerprint_key, merchant, platform_hold',
    'INSERT, SELECT: secret_key_check',
    'INSERT: audit_event (at, by_whom, command, note, subject)',
    'SELECT, UPDATE: installation (nights_checked_at, runs_checked_at)',
    'SELECT: audit_event, kysely_migration, kysely_migration_lock, reference_item, reference_list, ' +
      'run_merchant (exit_code, finished_at, merchant_no, reads, run_id)',
    'USAGE: schema public',
  ],
  daybook_sessions: [
    'DELETE, INSERT, SELECT: page_session',
    'INSERT: audit_event (at, by_whom, command, note, subject)',
    'SELECT: audit_event (id), kysely_migration, kysely_migration_lock',
    'UPDATE: page_session (ends_at)',
    'USAGE: schema public',
  ],
  daybook_job: [
    'DELETE, INSERT, SELECT, UPDATE: absent_entry, alert, alert_condition, alert_delivery, book_day, book_import_waiting, book_match, book_match_entry, daybook_queue.bam, ' +
      'daybook_queue.job, daybook_queue.job_common, daybook_queue.job_dependency, daybook_queue.queue, ' +
      'daybook_queue.queue_stats, daybook_queue.schedule, daybook_queue.subscription, daybook_queue.version, ' +
      'daybook_queue.warning, event, foreign_account_day, silent_account',
    'DELETE, INSERT, SELECT: month_preparation',
    'EXECUTE: functions of daybook_queue',
    'INSERT, SELECT, UPDATE: account_day, account_name, artifact, book_entry, certificate, continuity_break, lateness_count, lease, ' +
      'ledger_cursor, ledger_entry, ledger_entry_version, merchant, platform_hold, quarantined_entry, reference_item, ' +
      'reference_list, request, run, run_merchant, statement, statement_mail',
    'INSERT, SELECT: book_import, book_unreadable, month_close, secret_key_check',
    'INSERT: audit_event (assigned_to, at, by_whom, command, due_on, note, subject)',
    'SELECT: account_doubt, audit_event, changed_day, installation, kysely_migration, kysely_migration_lock',
    'TEMPORARY: database',
    'UPDATE: book_import (added, approved_event_id, audit_event_id, changed, content_sha256, first_day, last_day, returned, rows_read, starts_on, unreadable, withdrawn), ' +
      'book_unreadable (answered_import_id), installation (clock_off, clock_off_at, id, nights_checked_at, runs_checked_at, store_turn, store_turn_next), month_close (reopened_event_id, signature)',
    'USAGE: book_match_id_seq, request_number, schema daybook_queue, schema public',
  ],
  daybook_prune: [
    'DELETE, SELECT: request, run_merchant',
    'DELETE: alert, event, notification, quarantined_entry',
    'INSERT: audit_event (at, by_whom, command, note, subject)',
    'SELECT: alert (id, raised_at), alert_delivery (alert_id, state), application (changed_at, notify_hash, state), ' +
      'audit_event, beneficiary (decided_at, notify_hash, payee_id, recorded_at, replied_at, status), ' +
      'continuity_break (id, status), event (kind, reported_at, subject), kysely_migration, kysely_migration_lock, ' +
      'notification (kind, notify_hash, outcome, processed_at, resolved_at), ' +
      'quarantined_entry (acknowledged_at, released_at), run',
    'USAGE: schema public',
  ],
};
const ROLES = Object.keys(MAY).filter((role) => role !== '');

it.each(Object.entries(MAY))('the role "%s" may do this and nothing else', async (role, privileges) => {
  expect(await privilegesOf(admin.db, role)).toEqual(privileges);
});

const logins = new Map<string, Database>();
const of = async (role: string): Promise<Kysely<DB>> => {
  if (!logins.has(role)) logins.set(role, await loginAs(url, role));
  return logins.get(role)!.db;
};
const forbidden = { code: '42501' };

const TEMPORARY = [
  'CREATE TEMPORARY TABLE mine (id int)',
  'CREATE TEMPORARY TABLE mine AS SELECT 1',
  'CREATE TEMPORARY SEQUENCE mine',
  'CREATE TEMPORARY VIEW mine AS SELECT 1',
  'SELECT 1 INTO TEMPORARY mine',
];

it.each(ROLES)(
  '%s makes no tables or large objects, and only what matches own books temporary ones',
  async (role) => {
    const db = await of(role);
    for (const statement of [
      ...(role === 'daybook_job' || role === 'daybook_pages' ? [] : TEMPORARY),
      'CREATE TABLE public.mine (id int)',
      'CREATE SCHEMA mine',
      'SELECT lo_create(0)',
      'SELECT lo_creat(-1)',
      "SELECT lo_from_bytea(0, 'x')",
      "SELECT lo_import('/etc/hostname')",
    ])
      await expect(sql.raw(statement).execute(db), statement).rejects.toMatchObject(forbidden);
  },
);

const EVENT = { by_whom: 'Ada', command: 'made up', subject: 'x', note: null };
const LONG_AGO = new Date('2020-01-01T00:00:00Z');
const added = (db: Kysely<DB>) =>
  db
    .insertInto('audit_event')
    .values({ ...EVENT, at: LONG_AGO })
    .returning('at')
    .executeTakeFirstOrThrow();

it('a reader adds nothing to the audit', async () => {
  await expect(added(await of('daybook_read_only'))).rejects.toMatchObject(forbidden);
});

it.each(['daybook_job', 'daybook_inbox', 'daybook_prune'])(
  '%s adds to the audit, and chooses neither time nor number',
  async (role) => {
    const db = await of(role);
    const [{ now } = { now: LONG_AGO }] = await rowsOf(admin.db)<{ now: Date }>`SELECT now() AS now`;
    expect((await added(db)).at.getTime()).toBeGreaterThanOrEqual(now.getTime());
    for (const statement of [
      `INSERT INTO audit_event (id, at, by_whom, command, subject) OVERRIDING SYSTEM VALUE VALUES (1, now(), 'a', 'b', 'c')`,
      `UPDATE audit_event SET at = now()`,
      'DELETE FROM audit_event',
      'ALTER TABLE audit_event DISABLE TRIGGER ALL',
      'SET session_replication_role = replica',
    ])
      await expect(sql.raw(statement).execute(db), statement).rejects.toMatchObject(forbidden);
  },
);

it.each(['daybook_job', 'daybook_inbox', 'daybook_prune'])(
  'what %s adds in another’s name has the login that added it, which nobody chooses',
  async (role) => {
    const db = await of(role);
    const [{ login } = { login: '' }] = await rowsOf(db)<{ login: string }>`SELECT session_user AS login`;
    expect(login).toMatch(/^test_/);
    const stored = await db
      .insertInto('audit_event')
      .values({ ...EVENT, by_whom: 'eve', at: LONG_AGO })
      .returning(['by_whom', 'login'])
      .executeTakeFirstOrThrow();
    expect(stored).toEqual({ by_whom: 'eve', login });
    for (const statement of [
      `INSERT INTO audit_event (at, by_whom, command, subject, login) VALUES (now(), 'a', 'b', 'c', 'other')`,
      `UPDATE audit_event SET login = 'other'`,
      `SET SESSION AUTHORIZATION ${new URL(url).username}`,
    ])
      await expect(sql.raw(statement).execute(db), statement).rejects.toMatchObject(forbidden);
  },
);

it('not even the owner of the table chooses the login', async () => {
  const { login } = await owner.db
    .insertInto('audit_event')
    .values({ ...EVENT, at: LONG_AGO, login: 'other' })
    .returning('login')
    .executeTakeFirstOrThrow();
  expect(login).toMatch(/^test_/);
});

it('the owner of the table says when: a rehearsal of a night in the past is recorded in that night', async () => {
  expect((await added(owner.db)).at).toEqual(LONG_AGO);
});

it('what was unreadable is read by its currency and not by its text', async () => {
  await sql`
    INSERT INTO quarantined_entry (merchant_no, raw, reason, fingerprint, span, first_seen_at)
    VALUES ('M1', '{"currency" : "EUR", "name": "Ada"}', 'x', 'a', '{[1,2)}', now()), ('M1', 'eur', 'x', 'b', '{[1,2)}', now())
  `.execute(admin.db);
  const db = await of('daybook_read_only');
  const rows = await rowsOf(db)<object>`SELECT currency FROM quarantined_entry ORDER BY fingerprint`;
  expect(rows).toEqual([{ currency: 'EUR' }, { currency: null }]);
  for (const statement of [
    'SELECT raw FROM quarantined_entry',
    'SELECT * FROM quarantined_entry',
    'SELECT count(*) FROM quarantined_entry q WHERE q.raw LIKE $$%Ada%$$',
    'SELECT q::text FROM quarantined_entry q',
  ])
    await expect(sql.raw(statement).execute(db), statement).rejects.toMatchObject(forbidden);
});

it('what an earlier version granted is taken back', async () => {
  await sql`GRANT INSERT ON audit_event TO daybook_read_only, daybook_inbox`.execute(admin.db);
  await sql`GRANT SELECT ON quarantined_entry TO daybook_read_only`.execute(admin.db);
  await sql.raw(`GRANT TEMPORARY ON DATABASE ${new URL(url).pathname.slice(1)} TO PUBLIC`).execute(admin.db);
  for (const script of SCRIPTS) await sql.raw(await scriptOf(script)).execute(admin.db);
  for (const role of ['', 'daybook_read_only', 'daybook_inbox'])
    expect(await privilegesOf(admin.db, role)).toEqual(MAY[role]);
});
