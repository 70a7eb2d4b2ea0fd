/** A real server that has no connection left, and a pooler in front of it that has none. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { DatabaseUnreachable, troubleOf } from '../../src/store/engine/errors.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import pg from 'pg';

let server: PostgresServer;
let url: string;
beforeAll(async () => {
  server = await startPostgres({
    durable: false,
    flags: ['-c', 'max_connections=8', '-c', 'superuser_reserved_connections=2'],
  });
  const admin = new pg.Client({ connectionString: `${server.url}/postgres` });
  await admin.connect();
  await admin.query(`CREATE ROLE someone LOGIN PASSWORD 'someone'`);
  await admin.end();
  url = `${server.url.replace('daybook:daybook', 'someone:someone')}/postgres`;
}, 60_000);
afterAll(() => server.stop());

/** Takes connections until the server refuses one. */
async function fill(): Promise<pg.Client[]> {
  const taken: pg.Client[] = [];
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    const isRefused = await client.connect().then(
      () => false,
      () => true,
    );
    if (isRefused) return taken;
    taken.push(client);
  }
}
const end = (clients: readonly pg.Client[]) => Promise.all(clients.map((client) => client.end()));

test('a server without a free connection is waited for, and work goes on once one is free', async () => {
  const taken = await fill();
  expect(taken.length).toBeGreaterThan(0);
  let isOpen = false;
  const opening = openDatabase({ databaseUrl: url, dataDir: '' }).then((database) => {
    isOpen = true;
    return database;
  });
  const admin = new pg.Client({ connectionString: `${server.url}/postgres` });
  await admin.connect();
  await admin.end();
  expect(isOpen).toBe(false);
  await end(taken);
  const { db, close } = await opening;
  const { rows } = await sql<{ one: number }>`SELECT 1 AS one`.execute(db);
  expect(rows).toEqual([{ one: 1 }]);
  await close();
}, 30_000);

test('a pool that gets fewer connections than it wants does all its work on those it has', async () => {
  const { db, close } = await openDatabase({ databaseUrl: url, dataDir: '', connectionsMax: 20 });
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) => sql<{ n: number }>`SELECT ${n}::int AS n`.execute(db)),
  );
  expect(answers.map(({ rows }) => rows[0]!.n)).toEqual(Array.from({ length: 40 }, (_, n) => n));
  await close();
}, 60_000);

test.each([
  ['53300', 'sorry, too many clients already'],
  ['08P01', 'no more connections allowed (max_client_conn)'],
])('the message names the cause and what to do: %s', (code, message) => {
  const trouble = troubleOf(Object.assign(new Error(message), { code }));
  expect(trouble).toMatchObject({ exitCode: 4 });
  expect(String(trouble)).toMatch(/^StoreUnreachable: the database has no free connection: /);
  expect(String(trouble)).toContain('Lower DATABASE_POOL_SIZE');
  expect(trouble).not.toBeInstanceOf(DatabaseUnreachable);
});
