import { sql } from 'kysely';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { openDatabase } from '../../src/store/connection.ts';
import { EmbeddedDatabaseBusy, MigrationsPending } from '../../src/store/errors.ts';
import { assertMigrated, migrate, pendingMigrations } from '../../src/store/migrations.ts';
import { freshDatabase } from '../support/database.ts';

const COLUMNS = sql<Record<string, unknown>>`SELECT
  9007199254740991::bigint AS id, 1.50::numeric AS amount, '2026-03-29'::date AS day,
  '2026-03-29 01:02:03'::timestamp(0) AS booked_at, '2026-03-29 01:02:03+00'::timestamptz AS seen_at, NULL::numeric AS none`;
const AS_READ = {
  id: 9007199254740991,
  amount: '1.50',
  day: '2026-03-29',
  booked_at: '2026-03-29 01:02:03',
  seen_at: new Date('2026-03-29T01:02:03Z'),
  none: null,
};

describe('a PostgreSQL server', () => {
  it('hands columns out as exact digits, plain days and safe numbers', async () => {
    const { db, close } = await freshDatabase();
    expect((await COLUMNS.execute(db)).rows).toEqual([AS_READ]);
    await expect(sql`SELECT 9007199254740992::bigint AS id`.execute(db)).rejects.toThrow(RangeError);
    await close();
  });

  it('says which migrations are missing, applies them once, and then has none to apply', async () => {
    const fresh = await freshDatabase();
    expect(await pendingMigrations(fresh.db)).toEqual([]);
    expect(await migrate(fresh.db)).toEqual([]);
    await sql`DELETE FROM kysely_migration WHERE name = '0002_statements'`.execute(fresh.db);
    await expect(assertMigrated(fresh.db)).rejects.toThrow(MigrationsPending);
    expect(await pendingMigrations(fresh.db)).toEqual(['0002_statements']);
    await fresh.close();
  });

  it.each([
    ['a wrong password', (url: URL) => (url.password = 'hunter2'), 'DatabaseRefused'],
    ['no such database', (url: URL) => (url.pathname = '/nowhere'), 'DatabaseRefused'],
    ['a port nobody listens on', (url: URL) => (url.port = '1'), 'DatabaseUnreachable'],
  ])('names the place and the cause, never the password: %s', async (_, spoil, name) => {
    const url = new URL(`${inject('postgresUrl')}/postgres`);
    url.password = 'opensesame';
    spoil(url);
    const failure = await openDatabase({ databaseUrl: url.href, dataDir: '' }).catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ name });
    expect(String(failure)).toContain('127.0.0.1');
    expect(String(failure)).not.toMatch(/hunter2|opensesame/);
  });

  it('does not quote a URL it cannot read', async () => {
    const failure = await openDatabase({
      databaseUrl: 'postgres://daybook:hunter2@[bad/x',
      dataDir: '',
    }).catch(String);
    expect(failure).toContain('DatabaseUnreachable');
    expect(failure).not.toContain('hunter2');
  });

  it('outlives the loss of an idle connection', async () => {
    const { db, url, close } = await freshDatabase();
    const { db: admin, close: closeAdmin } = await openDatabase({ databaseUrl: url, dataDir: '' });
    await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`.execute(
      admin,
    );
    await expect
      .poll(() =>
        sql`SELECT 1`.execute(db).then(
          () => 'answers',
          () => 'cut',
        ),
      )
      .toBe('answers');
    await closeAdmin();
    await close();
  });
});

describe('the embedded database', () => {
  it('keeps its folder to one process, hands columns out like the server, and keeps rows', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'daybook-embedded-'));
    const first = await openDatabase({ databaseUrl: null, dataDir });
    expect(await migrate(first.db)).toEqual([
      '0001_ledger',
      '0002_statements',
      '0003_reference',
      '0004_onboarding',
      '0005_beneficiaries',
      '0006_notifications',
      '0007_open_ends',
      '0008_stored_files',
      '0009_second_readings',
      '0010_open_questions',
      '0011_known_paths',
      '0012_secret_key_check',
      '0013_audit',
    ]);
    expect((await COLUMNS.execute(first.db)).rows).toEqual([AS_READ]);
    const second = await openDatabase({ databaseUrl: null, dataDir }).catch((error: unknown) => error);
    expect(second).toBeInstanceOf(EmbeddedDatabaseBusy);
    expect(String(second)).toContain('DATABASE_URL');
    await first.close();

    const again = await openDatabase({ databaseUrl: null, dataDir });
    await assertMigrated(again.db);
    await again.close();
    await rm(dataDir, { recursive: true });
  });
});
