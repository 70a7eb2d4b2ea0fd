/**
 * A database and a store as version 0.1.0 left them (`version-0.1.0`: four days of two accounts, an amended entry, a
 * break) are brought to this version. What was published stays as it is, byte for byte.
 */
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addMonths, monthOf } from '../../src/ledger/lateness.ts';
import type { RunRequest } from '../../src/run/active-run.ts';
import { createLeaseAsker } from '../../src/store/engine/lease.ts';
import { migrate } from '../../src/store/engine/migrations.ts';
import { listStatements } from '../../src/store/statements/statements.ts';
import { verifyProblems } from '../statements/store-oracle.ts';
import { emptyDatabase, type ServerDatabase } from '../support/database.ts';
import {
  DAYS,
  MERCHANT,
  objectsOf,
  openStage,
  publishedIn,
  scenario,
  TO,
  type Stage,
} from '../support/stage.ts';

const OLD = new URL('version-0.1.0/', import.meta.url);
const PUBLISHED = new URL('statements/', OLD);
/** The migrations that version 0.1.0 had. */
const LAST_OF_OLD = '0006';
/** The two statements that a later one replaced. */
const SUPERSEDED = /(USD_2026-03-02|KWD_2026-03-04)\.r1\.csv$/;
const SQL = new URL('../../sql/', import.meta.url);

let folder: string;
let database: ServerDatabase;
let stage: Stage;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'daybook-upgrade-'));
  database = await emptyDatabase();
  await asOldVersionLeftIt();
});
afterEach(async () => {
  await stage.close();
  await database.close();
  await rm(folder, { recursive: true });
});

async function asOldVersionLeftIt(): Promise<void> {
  const migrations = join(folder, 'sql');
  for (const name of (await readdir(SQL)).filter((file) => file.slice(0, 4) <= LAST_OF_OLD)) {
    await cp(new URL(name, SQL), join(migrations, name));
  }
  expect(await migrate(database.db, migrations)).toHaveLength(6);
  await sql.raw(await readFile(new URL('rows.sql', OLD), 'utf8')).execute(database.db);
  stage = await openStage({ scenario: scenario({ entriesPerDay: 6 }) });
  const files = await readdir(PUBLISHED, { recursive: true, withFileTypes: true });
  for (const { parentPath, name } of files.filter((file) => file.isFile())) {
    const path = join(parentPath, name);
    await stage.app.objects.put(relative(fileURLToPath(PUBLISHED), path), await readFile(path));
  }
  amendAsThen();
}

/** After the first day, the sandbox makes the same ledger as it did then. This entry was changed. */
const amendAsThen = (): void =>
  stage.sandbox.amend(MERCHANT.merchantNo, 'SBX1468428298798', { outAmount: '1.5' });

const run = (request: Partial<RunRequest>) =>
  stage.run(request, { db: database.db, asksLease: createLeaseAsker(database.db) });
const csvOf = async () => new Map([...(await objectsOf(stage))].filter(([key]) => key.endsWith('.csv')));
const known = async () =>
  (await listStatements(database.db)).map(({ object_key, sha256 }) => [object_key, sha256]);

test('migrating keeps every statement; comparing and repairing the store writes the same bytes', async () => {
  const before = await csvOf();
  expect(before.size).toBe(16);
  const { rows: published } = await sql<{ object_key: string; sha256: string }>`
    SELECT object_key, sha256 FROM statement ORDER BY object_key`.execute(database.db);
  expect((await migrate(database.db)).length).toBeGreaterThan(20);
  expect((await known()).sort()).toEqual(published.map(({ object_key, sha256 }) => [object_key, sha256]));

  const repair = await run({ command: 'publish', range: null, repairs: true });
  expect(repair.publish).toMatchObject({ published: [], repaired: [], unrepaired: [] });
  expect(await csvOf()).toEqual(before);
  expect(await verifyProblems(stage.app.objects)).toEqual([]);
});

test(
  'this version makes the files of 0.1.0 again from the migrated database, with the same bytes',
  { tags: ['long'] },
  async () => {
    const before = await csvOf();
    await migrate(database.db);
    await rm(join(stage.app.settings.dataDir, 'statements'), { recursive: true });
    const { publish } = await run({ command: 'publish', range: null, repairs: true });
    // Entries of superseded statements have changed since, so that these come from a copy of the store only.
    const superseded = [...before.keys()].filter((key) => SUPERSEDED.test(key));
    expect(publish?.unrepaired.map(({ key }) => key).sort()).toEqual(superseded);
    expect(publish?.published).toEqual([]);
    expect(await csvOf()).toEqual(new Map([...before].filter(([key]) => !superseded.includes(key))));
  },
);

test('after migrating, reading the same days again changes nothing that was published', async () => {
  const before = await csvOf();
  await migrate(database.db);
  const again = await run({ range: { from: DAYS[1]!, to: TO } });
  expect(again).toMatchObject({ exitCode: 3, sync: [{ report: { inserted: 0, amended: 0, vanished: 0 } }] });
  expect(publishedIn(again)).toEqual([]);
  expect(await csvOf()).toEqual(before);
  expect(await verifyProblems(stage.app.objects)).toEqual([]);
});

test('months of before say nothing of lateness, as late entries were not counted then', async () => {
  await migrate(database.db);
  const watched = await database.db
    .selectFrom('lateness_count')
    .selectAll()
    .where('days_max', '=', 0)
    .orderBy('month')
    .execute();
  const today = new Date().toISOString().slice(0, 10);
  expect(watched[0]!.month <= addMonths(today, -13) && watched.at(-1)!.month >= monthOf(today)).toBe(true);
  expect(watched.filter(({ entries, month, sampled_on: on }) => entries > 0 || on !== month)).toEqual([]);
});
