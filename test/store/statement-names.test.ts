/** Statements that come again and again are planned once; where that cannot work, they are sent as before. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { createStatementNames } from '../../src/store/engine/bounded-pool.ts';
import { freshDatabase, type ServerDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';

let direct: ServerDatabase;
beforeAll(async () => {
  direct = await freshDatabase();
});
afterAll(() => direct.close());

it('a text gets its name the third time, and always the same one', () => {
  const { of: nameOf } = createStatementNames();
  expect([nameOf('SELECT 1'), nameOf('SELECT 1')]).toEqual([undefined, undefined]);
  const name = nameOf('SELECT 1');
  expect(name).toMatch(/^daybook_[0-9a-f]{24}$/);
  expect(nameOf('SELECT 1')).toBe(name);
  expect(createStatementNames().of('SELECT 1')).toBeUndefined();
});

it('no more than 200 texts get a name, and texts that come once are not remembered for ever', () => {
  const { of: nameOf } = createStatementNames();
  for (let at = 0; at < 5_000; at += 1) expect(nameOf(`once ${at}`)).toBeUndefined();
  const named = Array.from({ length: 300 }, (_, at) => {
    for (let time = 1; time <= 2; time += 1) nameOf(`once ${at}`);
    return nameOf(`once ${at}`);
  });
  expect(new Set(named.filter((name) => name !== undefined)).size).toBe(200);
  expect(named.slice(200)).toEqual(Array(100).fill(undefined));
});

const namesOf = async (db: ServerDatabase['db']) => {
  const { rows } = await sql<{ name: string }>`
    SELECT name FROM pg_prepared_statements WHERE name LIKE 'daybook%'`.execute(db);
  return rows.map(({ name }) => name);
};

async function opened(
  url: string,
  more: { readonly plansOnce?: true; readonly connectionsMax?: number } = {},
) {
  const database = await openDatabase({ databaseUrl: url, dataDir: '', ...more });
  onTestFinished(database.close);
  return database.db;
}

it('on the server itself, a statement that comes often is kept by its connection', async () => {
  const db = await opened(direct.url);
  for (const n of [1, 2, 3, 4]) {
    expect((await sql<{ n: number }>`SELECT ${n}::int AS n`.execute(db)).rows).toEqual([{ n }]);
  }
  expect(await namesOf(db)).toHaveLength(1);
});

it('a pooler tells a process number of its own: nothing is kept, as each transaction may be elsewhere', async () => {
  const proxy = await startProxy(direct.url);
  onTestFinished(proxy.close);
  // The message at login with the number of the server's process.
  proxy.judge = ({ direction, bytes }) => {
    const at = direction === 'down' ? bytes.indexOf(Buffer.from([0x4b, 0, 0, 0, 12])) : -1;
    if (at >= 0) bytes.writeInt32BE(1, at + 5);
    return 'pass';
  };
  const db = await opened(proxy.url);
  for (const n of [1, 2, 3, 4, 5]) {
    expect((await sql<{ n: number }>`SELECT ${n}::int AS n`.execute(db)).rows).toEqual([{ n }]);
  }
  expect(await namesOf(db)).toEqual([]);
});

it('a process of one merchant at a time plans a statement once, over indexes, though its table has no statistics', async () => {
  await sql`CREATE TABLE planned (id int PRIMARY KEY)`.execute(direct.db);
  const plansOf = async (more: { readonly plansOnce?: true }) => {
    const db = await opened(direct.url, { connectionsMax: 1, ...more });
    const ask = () =>
      sql`SELECT planned.id FROM unnest(${'{7}'}::int[]) AS asked (id) JOIN planned USING (id)`.execute(db);
    for (let time = 1; time <= 22; time += 1) await ask();
    const { rows } = await sql`
      SELECT generic_plans > 0 AS generic, custom_plans > 0 AS custom FROM pg_prepared_statements
      WHERE statement LIKE '%AS asked%'`.execute(db);
    const { rows: shown } = await sql<Record<string, string>>`
      EXPLAIN SELECT planned.id FROM unnest('{7}'::int[]) AS asked (id) JOIN planned USING (id)`.execute(db);
    return { kept: rows, plan: shown.map((row) => row['QUERY PLAN']!).join() };
  };
  expect((await plansOf({})).kept).toEqual([{ generic: false, custom: true }]);
  const { kept, plan } = await plansOf({ plansOnce: true });
  expect(kept).toEqual([{ generic: true, custom: false }]);
  expect(plan).not.toContain('Seq Scan on planned');
});

it('a migration changes what a kept statement answers with: it is asked again on a new connection', async () => {
  const db = await opened(direct.url);
  await sql`CREATE TABLE grows (id int)`.execute(direct.db);
  await sql`INSERT INTO grows VALUES (7)`.execute(direct.db);
  const ask = async () => (await sql`SELECT * FROM grows WHERE id = ${7}`.execute(db)).rows;
  for (let time = 1; time <= 4; time += 1) expect(await ask()).toEqual([{ id: 7 }]);
  await sql`ALTER TABLE grows ADD COLUMN more int DEFAULT 1`.execute(direct.db);
  expect(await ask()).toEqual([{ id: 7, more: 1 }]);
});

it('a server that does not know a name it was told: asked again, and nothing is named any more', async () => {
  const db = await opened(direct.url);
  const ask = async (n: number) => (await sql<{ n: number }>`SELECT ${n}::int AS n`.execute(db)).rows[0]!.n;
  for (const n of [1, 2, 3, 4]) expect(await ask(n)).toBe(n);
  await sql`DEALLOCATE ALL`.execute(db);
  for (const n of [5, 6, 7, 8]) expect(await ask(n)).toBe(n);
  expect(await namesOf(db)).toEqual([]);
});
