/** A database that is used again is as a copy of the template: no row, no number, no change of a table is left. */
import pg from 'pg';
import { beforeEach, expect, inject, test } from 'vitest';
import { KeptDatabases } from '../support/kept-databases.ts';
import { copyDatabase } from '../support/postgres-server.ts';

let kept: KeptDatabases;
beforeEach(() => (kept = new KeptDatabases()));

async function asked(url: string, ...queries: readonly string[]): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let rows: readonly unknown[] = [];
    for (const query of queries) rows = (await client.query<Record<string, unknown>>(query)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

const OID = 'SELECT oid FROM pg_database WHERE datname = current_database()';
const INSERT = `INSERT INTO run (command, holder, started_at)
  SELECT 'run', 'made-up', now() FROM generate_series(1, COUNT) RETURNING id`;

/** The database of one test, in which `queries` ran, and that of the next one. */
async function twice(...queries: readonly string[]) {
  const oids: unknown[] = [];
  const urls: string[] = [];
  for (const each of [queries, []]) {
    kept.beginTest();
    const url = await kept.take(inject('postgresUrl'));
    oids.push(...(await asked(url, OID)));
    if (each.length > 0) await asked(url, ...each);
    kept.endTest();
    urls.push(url);
  }
  return { first: urls[0]!, second: urls[1]!, isSame: JSON.stringify(oids[0]) === JSON.stringify(oids[1]) };
}

test.each([1, 3000])('%d rows are gone, and ids begin at 1', async (count) => {
  const insert = INSERT.replace('COUNT', String(count));
  const { first, second, isSame } = await twice(insert, 'UPDATE installation SET id = gen_random_uuid()');
  expect(isSame).toBe(true);
  expect(await asked(second, 'SELECT id FROM run')).toEqual([]);
  expect(await asked(second, INSERT.replace('COUNT', '1'))).toEqual([{ id: '1' }]);
  const copy = await copyDatabase(inject('postgresUrl'));
  expect(await asked(second, 'SELECT * FROM installation')).toEqual(
    await asked(copy, 'SELECT * FROM installation'),
  );
  // A connection left over from the test before cannot reach it.
  await expect(asked(first, 'SELECT 1')).rejects.toThrow('does not exist');
});

test.each([
  'ALTER TABLE run ALTER COLUMN holder DROP NOT NULL',
  'ALTER TABLE run ADD COLUMN more text',
  'DROP INDEX run_started',
  'CREATE TABLE more (id int)',
  'ANALYZE',
  'GRANT SELECT ON run TO PUBLIC',
  'ALTER TABLE run SET (autovacuum_enabled = false)',
  "DELETE FROM kysely_migration WHERE name LIKE '0002%'",
  "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 1024', current_database()); END $$",
])('a database is not used again after %s', async (query) => {
  expect(await twice(query)).toMatchObject({ isSame: false });
});

test('what is taken outside of a test stays until its file ends', async () => {
  const url = await kept.take(inject('postgresUrl'));
  kept.beginTest();
  kept.endTest();
  expect(await kept.take(inject('postgresUrl'))).not.toBe(url);
  expect(await asked(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});
