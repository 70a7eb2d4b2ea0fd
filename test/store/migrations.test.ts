/** Which programs may work with a database after a migration: expand, run both versions, contract. */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { acquireLease } from '../../src/store/engine/lease.ts';
import {
  appliedMigrations,
  lastMigration,
  migrate,
  migrationNames,
  newerProblem,
  oldestProgramOf,
  pendingMigrations,
} from '../../src/store/engine/migrations.ts';
import { emptyDatabase, type ServerDatabase } from '../support/database.ts';

const SQL = fileURLToPath(new URL('../../sql', import.meta.url));

let database: ServerDatabase;
let folder: string;
beforeEach(async () => {
  database = await emptyDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-migrations-'));
});
afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

/** The migrations of a later version: those of this one, and more. */
async function later(version: string, scripts: Readonly<Record<string, string>>): Promise<string> {
  const path = join(folder, version);
  await cp(SQL, path, { recursive: true });
  for (const [name, script] of Object.entries(scripts)) await writeFile(join(path, `${name}.sql`), script);
  return path;
}

test('after a migration that only adds, the version before works on; after one that takes away, it is refused', async () => {
  const { db } = database;
  const own = await migrationNames();
  const last = own.at(-1)!.slice(0, 4);
  await migrate(db);
  const adds = { '9001_adds': `-- runs with: ${last}\nCREATE TABLE added (id integer);` };
  const removes = { '9002_removes': '-- runs with: none\nDROP TABLE added;' };

  expect(await migrate(db, await later('adding', adds))).toEqual(['9001_adds']);
  expect(await pendingMigrations(db)).toEqual([]);
  expect(await migrate(db)).toEqual([]);
  expect(await newerProblem(db, await appliedMigrations(db), own)).toBeNull();

  expect(await migrate(db, await later('removing', { ...adds, ...removes }))).toEqual(['9002_removes']);
  const newer = `the database is newer than this program (9002 > ${last}). Run the version of daybook`;
  await expect(pendingMigrations(db)).rejects.toThrow(newer);
  await expect(migrate(db)).rejects.toThrow(newer);
  await expect(pendingMigrations(db, join(folder, 'adding'))).rejects.toThrow('(9002 > 9001)');
});

test('an older number after a newer one lets no older program in', async () => {
  const { db } = database;
  await migrate(
    db,
    await later('both', {
      '9001_removes': '-- runs with: none\nSELECT 1;',
      '9002_adds': '-- runs with: 0009\nSELECT 1;',
    }),
  );
  await expect(pendingMigrations(db)).rejects.toThrow('(9002 >');
});

test.each([
  ['0010_x', '-- runs with: none\n', '0010'],
  ['0012_x', '-- runs with: 0010\nSELECT 1;', '0010'],
  ['0009_x', 'SELECT 1;', null],
])('%s with %j asks for %s', (name, script, oldest) => {
  expect(oldestProgramOf(name, script)).toBe(oldest);
});

test.each(['SELECT 1;', '-- runs with: all\n', '\n-- runs with: none\n'])(
  'a migration that begins with %j is refused before anything is applied',
  async (script) => {
    await expect(migrate(database.db, await later('silent', { '9001_silent': script }))).rejects.toThrow(
      '9001_silent.sql begins without "-- runs with: NNNN" or "none"',
    );
    expect(await appliedMigrations(database.db).catch(() => [])).toEqual([]);
  },
);

test('a program that ran on through a migration that takes away begins no run and takes no lease, and says why', async () => {
  const { db } = database;
  await migrate(db);
  const last = (await migrationNames()).at(-1)!.slice(0, 4);
  const ask = (name: string) => acquireLease(db, { name, holder: 'alpha:1:-', ttlMs: 60_000, lockMs: 100 });
  const begin = () =>
    sql`INSERT INTO run (command, holder, started_at) VALUES ('run', 'here', now())`.execute(db);
  await begin();
  const adds = { '9001_adds': `-- runs with: ${last}\nSELECT 1;` };
  await migrate(db, await later('adding', adds));
  await begin();
  await ask('one');

  await migrate(db, await later('removing', { ...adds, '9002_removes': '-- runs with: none\nSELECT 1;' }));
  const refused = {
    name: 'DatabaseNewer',
    exitCode: 2,
    message: expect.stringContaining(`(9002 > ${last})`),
  };
  await expect(begin()).rejects.toMatchObject(refused);
  await expect(ask('another')).rejects.toMatchObject(refused);
});

test('a program of an older number is refused, a person with psql is not', async () => {
  const { db } = database;
  await migrate(db);
  const insert = sql`INSERT INTO run (command, holder, started_at) VALUES ('run', 'here', now())`;
  const as = (name: string) =>
    db.connection().execute(async (one) => {
      await sql`SELECT set_config('application_name', ${name}, false)`.execute(one);
      try {
        await insert.execute(one);
      } finally {
        await sql`RESET application_name`.execute(one);
      }
    });
  const last = await lastMigration();
  await db.updateTable('installation').set({ oldest_program: last }).execute();
  await expect(as('daybook')).rejects.toThrow(`(${last} > 0000)`);
  await expect(as('daybook/0008')).rejects.toThrow(`(${last} > 0008)`);
  await as('psql');
  await as(`daybook/${last}`);
});

test('a later migration says in its script what its tables and columns mean', async () => {
  const { db } = database;
  await migrate(
    db,
    await later('told', {
      '9001_told': `-- runs with: none
-- Made up, for
-- this test.
CREATE TABLE told (
  merchant_no text COLLATE "C" NOT NULL, kind text CHECK (kind IN ('a', 'b')),
  -- When it's told; null
  -- before.
  at timestamptz,
  amount numeric(10, 2), -- In units of the currency.
  PRIMARY KEY (merchant_no)
);
CREATE VIEW told_twice AS SELECT
  merchant_no,
  coalesce(amount, 0) * 2 AS twice -- Both together.
FROM told;
ALTER TABLE told ADD COLUMN note text; -- What a person says.
`,
    }),
  );
  const meanings = await sql<{ name: string; meaning: string | null }>`
    SELECT relname || coalesce('.' || attname, '') AS name, description AS meaning FROM pg_description
    JOIN pg_class ON pg_class.oid = objoid LEFT JOIN pg_attribute ON attrelid = objoid AND attnum = objsubid AND objsubid > 0
    WHERE relname LIKE 'told%' ORDER BY 1`.execute(db);
  expect(Object.fromEntries(meanings.rows.map(({ name, meaning }) => [name, meaning]))).toEqual({
    told: 'Made up, for this test.',
    'told.amount': 'In units of the currency.',
    'told.at': "When it's told; null before.",
    'told.merchant_no': "The platform's number of the merchant.",
    'told.note': 'What a person says.',
    'told_twice.merchant_no': "The platform's number of the merchant.",
    'told_twice.twice': 'Both together.',
  });
});
