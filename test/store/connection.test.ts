import { sql } from 'kysely';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { MigrationsPending } from '../../src/store/engine/errors.ts';
import { assertMigrated, migrate, pendingMigrations } from '../../src/store/engine/migrations.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { daybook } from '../cli/daybook.ts';
import { emptyDatabase, freshDatabase } from '../support/database.ts';
import { onBothDatabases } from './support.ts';

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

onBothDatabases(
  (store) => {
    it('returns columns as exact digits, plain days and safe numbers', async () => {
      const { db } = store();
      expect((await COLUMNS.execute(db)).rows).toEqual([AS_READ]);
      await expect(sql`SELECT 9007199254740992::bigint AS id`.execute(db)).rejects.toThrow(RangeError);
    });
  },
  { isSmoke: true },
);

it('without a server and without an embedded database, it says to name a server', async () => {
  const failure = await openDatabase({ databaseUrl: null, dataDir: '' }, null).catch(
    (error: unknown) => error,
  );
  expect(failure).toMatchObject({ name: 'DatabaseNotSet', exitCode: 2 });
  expect(String(failure)).toMatch(/DATABASE_URL is not set, .*\. Set DATABASE_URL to a PostgreSQL server\.$/);
});

describe('a PostgreSQL server', () => {
  it('an empty one gets all tables', async () => {
    const empty = await emptyDatabase();
    expect(await migrate(empty.db)).toEqual([
      '0001_installation',
      '0002_merchants',
      '0003_runs',
      '0004_ledger',
      '0005_statements',
      '0006_alerts',
      '0007_reference',
      '0008_submissions',
      '0009_books',
    ]);
    await assertMigrated(empty.db);
    await empty.close();
  });

  it('says which migrations are missing, and applies each once', async () => {
    const fresh = await freshDatabase();
    expect(await pendingMigrations(fresh.db)).toEqual([]);
    expect(await migrate(fresh.db)).toEqual([]);
    await sql`DELETE FROM kysely_migration WHERE name = '0002_merchants'`.execute(fresh.db);
    await expect(assertMigrated(fresh.db)).rejects.toThrow(MigrationsPending);
    expect(await pendingMigrations(fresh.db)).toEqual(['0002_merchants']);
    await fresh.close();
  });

  it('has as many connections as the settings say, and no more', async () => {
    const { url, close: closeOther } = await freshDatabase();
    const platform = { PLATFORM_BASE_URL: 'https://platform.example', PLATFORM_TIME_ZONE: 'UTC' };
    const env = { ...platform, DATABASE_URL: url, DATABASE_POOL_SIZE: '2' };
    const { db, close } = await openDatabase(loadSettings({ env, readFile: () => '' }));
    const pids = await Promise.all(
      Array.from({ length: 6 }, () => sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(db)),
    );
    expect(new Set(pids.map(({ rows }) => rows[0]!.pid)).size).toBe(2);
    await Promise.all([close(), closeOther()]);
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

  it('says so if something other than PostgreSQL answers', async () => {
    const server = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const databaseUrl = `postgres://daybook:opensesame@127.0.0.1:${port}/ledger?sslmode=verify-full`;
    const failure = await openDatabase({ databaseUrl, dataDir: '' }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: 'DatabaseUnreachable', exitCode: 4 });
    expect(String(failure)).toContain('what answers there does not talk as PostgreSQL does');
  });

  it.each(['LATIN1', 'EUC_JP', 'SQL_ASCII'])(
    'refuses a database in %s before anything is done, and says how to create a usable one',
    async (encoding) => {
      const { db: admin, close } = await openDatabase({
        databaseUrl: `${inject('postgresUrl')}/postgres`,
        dataDir: '',
      });
      const name = `test_${encoding.toLowerCase()}`;
      await sql`CREATE DATABASE ${sql.id(name)} ENCODING ${sql.lit(encoding)} LOCALE 'C' TEMPLATE template0`.execute(
        admin,
      );
      await close();
      const databaseUrl = `${inject('postgresUrl')}/${name}`;
      const failure = await openDatabase({ databaseUrl, dataDir: '' }).catch((error: unknown) => error);
      expect(failure).toMatchObject({ name: 'DatabaseUnsupported', exitCode: 2 });
      expect(String(failure)).toContain(`${name} has the encoding ${encoding}`);
      expect(String(failure)).toContain("CREATE DATABASE name ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0");
      const env = { DATABASE_URL: databaseUrl };
      expect(await daybook(['migrate'], env)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(
          /^daybook: the database 127\.0\.0\.1:\d+\/test_.* daybook needs UTF8\./,
        ),
      });
    },
  );

  it('uses UTF-8, whatever environment, URL and role say', async () => {
    const { db, url, close } = await freshDatabase();
    await sql`ALTER DATABASE ${sql.id(new URL(url).pathname.slice(1))} SET client_encoding TO LATIN1`.execute(
      db,
    );
    vi.stubEnv('PGCLIENTENCODING', 'LATIN1');
    vi.stubEnv('PGCLIENT_ENCODING', 'LATIN1');
    vi.stubEnv('PGOPTIONS', '-c client_encoding=LATIN1');
    const databaseUrl = `${url}?client_encoding=LATIN1&options=${encodeURIComponent('-c client_encoding=LATIN1')}`;
    const other = await openDatabase({ databaseUrl, dataDir: '' });
    try {
      const { rows } =
        await sql`SELECT 'Łódź 東京 🪁' AS said, current_setting('client_encoding') AS encoding`.execute(
          other.db,
        );
      expect(rows).toEqual([{ said: 'Łódź 東京 🪁', encoding: 'UTF8' }]);
    } finally {
      vi.unstubAllEnvs();
      await other.close();
      await close();
    }
  });

  it('does not quote a URL it cannot read', async () => {
    const failure = await openDatabase({
      databaseUrl: 'postgres://daybook:hunter2@[bad/x',
      dataDir: '',
    }).catch(String);
    expect(failure).toContain('DatabaseUnreachable');
    expect(failure).not.toContain('hunter2');
  });

  it('survives the loss of an idle connection', async () => {
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
