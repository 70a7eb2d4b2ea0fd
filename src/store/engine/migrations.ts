/**
 * Brings the database's tables to this version: applies the numbered SQL files of sql/, each once, in order, all or
 * nothing.
 */
import { readdir, readFile } from 'node:fs/promises';
import { sql, type Kysely } from 'kysely';
import { Migrator, type Migration, type MigrationProvider } from 'kysely/migration';
import { packageFile } from '../../host/files.ts';
import { codeOf, DatabaseNewer, MigrationsPending } from './errors.ts';
import { rowsOf } from './database.ts';

const SQL_FOLDER = packageFile('sql');
/** The SQLSTATE of a database that was never migrated. */
const NO_SUCH_TABLE = '42P01';

/** Reads the files `NNNN_name.sql`. Each is a script of plain SQL that can be pasted into psql. */
const sqlFiles = (folder: string): MigrationProvider => ({
  async getMigrations() {
    const migrations: Record<string, Migration> = {};
    const names = (await readdir(folder)).filter((name) => /^\d{4}_\w+\.sql$/.test(name)).sort();
    for (const name of names) {
      const script = await readFile(`${folder}/${name}`, 'utf8');
      migrations[name.replace(/\.sql$/, '')] = {
        up: async (db) => {
          await sql.raw(script).execute(db);
        },
      };
    }
    return migrations;
  },
});

const migratorOf = <Schema>(db: Kysely<Schema>, folder: string) =>
  new Migrator({ db, provider: sqlFiles(folder) });

/** Applies the missing migrations in one transaction, in one process at a time. Returns their names. */
export async function migrate<Schema>(db: Kysely<Schema>, folder: string = SQL_FOLDER): Promise<string[]> {
  await assertNotNewer(db, folder);
  const { error, results } = await migratorOf(db, folder).migrateToLatest();
  if (error !== undefined)
    throw error instanceof Error ? error : new Error('migration failed', { cause: error });
  return (results ?? []).map((result) => result.migrationName);
}

/** Names of migrations this database still lacks. Throws `DatabaseNewer`. */
export async function pendingMigrations<Schema>(
  db: Kysely<Schema>,
  folder: string = SQL_FOLDER,
): Promise<string[]> {
  const applied = await assertNotNewer(db, folder);
  return (await migrationNames(folder)).filter((name) => !applied.includes(name));
}

/** Names of all migrations of this version. */
export async function migrationNames(folder: string = SQL_FOLDER): Promise<string[]> {
  return Object.keys(await sqlFiles(folder).getMigrations());
}

/** Names of the migrations that a database has, by one cheap query. */
export async function appliedMigrations<Schema>(db: Kysely<Schema>): Promise<string[]> {
  const rows = await rowsOf(db)<{ name: string }>`SELECT name FROM kysely_migration`;
  return rows.map(({ name }) => name);
}

/** Returns the names of the database's migrations. Throws `DatabaseNewer` if this version does not have one of them. */
async function assertNotNewer<Schema>(db: Kysely<Schema>, folder: string): Promise<string[]> {
  const applied = await appliedMigrations(db).catch((error: unknown) => {
    if (codeOf(error) === NO_SUCH_TABLE) return [];
    throw error;
  });
  const problem = newerText(applied, await migrationNames(folder));
  if (problem === null) return applied;
  throw new DatabaseNewer(
    `the database ${problem}. Run the version of daybook that changed it, or a later one.`,
  );
}

/** Says by how much a database with these migrations is newer than a program with those; null if it is not. */
export function newerText(applied: readonly string[], own: readonly string[]): string | null {
  const unknown = applied.filter((name) => !own.includes(name)).sort();
  const numberOf = (name = ''): string => name.split('_')[0]!;
  return unknown.length === 0
    ? null
    : `is newer than this program (${numberOf(unknown.at(-1))} > ${numberOf(own.toSorted().at(-1))})`;
}

/** Throws `DatabaseNewer`, or `MigrationsPending` unless the database is at this version. */
export async function assertMigrated<Schema>(db: Kysely<Schema>): Promise<void> {
  const pending = await pendingMigrations(db);
  if (pending.length === 0) return;
  throw new MigrationsPending(
    `the database lacks ${pending.join(', ')}: run \`daybook migrate\`, then the same command again.`,
  );
}
