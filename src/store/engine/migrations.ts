/**
 * Brings the database's tables to this version: applies the numbered SQL files of sql/, each once, in order, all or
 * nothing.
 */
import { readdir, readFile } from 'node:fs/promises';
import { sql, type Kysely } from 'kysely';
import { Migrator, type Migration, type MigrationProvider } from 'kysely/migration';
import { packageFile } from '../../host/files.ts';
import { codeOf, DatabaseNewer, MigrationsPending } from './errors.ts';
import { commentsIn, commonMeaningsIn } from './comments.ts';
import { rowOf, rowsOf } from './database.ts';

const SQL_FOLDER = packageFile('sql');
/** The SQLSTATE of a database that was never migrated. */
const NO_SUCH_TABLE = '42P01';

/** The last migration of the baseline, which is applied completely or not at all. Each later one says in its first line which programs may run with it. */
const BASELINE = '0009';

const numberOf = (name: string): string => name.slice(0, 4);

/**
 * The number that a program has to know to work with the database once this script was applied: its own, or the one that its
 * first line names (`-- runs with: 0009`). Null: it leaves the number as it is. Throws where the first line does not say so.
 */
export function oldestProgramOf(name: string, script: string): string | null {
  if (numberOf(name) <= BASELINE) return null;
  const [, oldest] = /^-- runs with: (\d{4}|none)\n/.exec(script) ?? [];
  if (oldest === undefined) throw new Error(`${name}.sql begins without "-- runs with: NNNN" or "none"`);
  return oldest === 'none' ? numberOf(name) : oldest;
}

/** Names of all migrations of this version. */
export const migrationNames = async (folder: string = SQL_FOLDER): Promise<string[]> =>
  (await readdir(folder))
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .map((file) => file.replace(/\.sql$/, ''))
    .sort();

/** Number of this program's last migration, which says how new the program is. */
export const lastMigration = async (): Promise<string> => numberOf((await migrationNames()).at(-1)!);

/**
 * Reads the files `NNNN_name.sql`. Each is a script of plain SQL that can be pasted into psql; its comments at tables and columns become
 * those of the database.
 */
const sqlFiles = (folder: string): MigrationProvider => ({
  async getMigrations() {
    const migrations: Record<string, Migration> = {};
    // The first file says what columns of many tables mean.
    let common: ReadonlyMap<string, string> | undefined;
    for (const name of await migrationNames(folder)) {
      const script = await readFile(`${folder}/${name}.sql`, 'utf8');
      const oldest = oldestProgramOf(name, script);
      const meanings = (common ??= commonMeaningsIn(script));
      migrations[name] = {
        up: async (db) => {
          await sql.raw(script).execute(db);
          await sql.raw(commentsIn(script, meanings)).execute(db);
          if (oldest !== null)
            await sql`UPDATE installation SET oldest_program = greatest(oldest_program, ${oldest})`.execute(
              db,
            );
        },
      };
    }
    return migrations;
  },
});

const migratorOf = <Schema>(db: Kysely<Schema>, folder: string) =>
  new Migrator({ db, provider: sqlFiles(folder) });

/**
 * Applies the missing migrations in one transaction, in one process at a time. Returns their names. Does nothing to a newer
 * database that this program may work with. Throws `DatabaseNewer`.
 */
export async function migrate<Schema>(db: Kysely<Schema>, folder: string = SQL_FOLDER): Promise<string[]> {
  const applied = await assertUsable(db, folder);
  const own = await migrationNames(folder);
  if (applied.some((name) => !own.includes(name))) return [];
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
  const applied = await assertUsable(db, folder);
  return (await migrationNames(folder)).filter((name) => !applied.includes(name));
}

/** Names of migrations that the database has and this program does not know. */
export async function laterMigrations<Schema>(
  db: Kysely<Schema>,
  folder: string = SQL_FOLDER,
): Promise<string[]> {
  const own = await migrationNames(folder);
  return (await appliedMigrations(db)).filter((name) => !own.includes(name));
}

/** Names of the migrations that a database has, by one cheap query. */
export async function appliedMigrations<Schema>(db: Kysely<Schema>): Promise<string[]> {
  const rows = await rowsOf(db)<{ name: string }>`SELECT name FROM kysely_migration`;
  return rows.map(({ name }) => name);
}

/** Returns the names of the database's migrations. Throws `DatabaseNewer` if this program may not work with it. */
async function assertUsable<Schema>(db: Kysely<Schema>, folder: string): Promise<readonly string[]> {
  const applied = await appliedMigrations(db).catch((error: unknown) => {
    if (codeOf(error) === NO_SUCH_TABLE) return [];
    throw error;
  });
  const problem = await newerProblem(db, applied, await migrationNames(folder));
  if (problem === null) return applied;
  throw new DatabaseNewer(
    `the database ${problem}. Run the version of daybook that changed it, or a later one.`,
  );
}

/**
 * Says by how much a database with these migrations is newer than a program with those; null if it is not, or if the database
 * says that the program may work with it all the same.
 */
export async function newerProblem<Schema>(
  db: Kysely<Schema>,
  applied: readonly string[],
  own: readonly string[],
): Promise<string | null> {
  const unknown = applied.filter((name) => !own.includes(name)).sort();
  if (unknown.length === 0) return null;
  const ownLast = numberOf(own.toSorted().at(-1) ?? '0000');
  const oldest = await oldestProgram(db);
  return oldest !== null && ownLast >= oldest
    ? null
    : `is newer than this program (${numberOf(unknown.at(-1)!)} > ${ownLast})`;
}

async function oldestProgram<Schema>(db: Kysely<Schema>): Promise<string | null> {
  try {
    const { oldest } = await rowOf(db)<{ oldest: string }>`SELECT oldest_program AS oldest FROM installation`;
    return oldest;
  } catch (error) {
    if (codeOf(error) === NO_SUCH_TABLE) return null;
    throw error;
  }
}

/** Throws `DatabaseNewer`, or `MigrationsPending` unless the database is at this version. */
export async function assertMigrated<Schema>(db: Kysely<Schema>): Promise<void> {
  const pending = await pendingMigrations(db);
  if (pending.length === 0) return;
  throw new MigrationsPending(
    `the database lacks ${pending.join(', ')}: run \`daybook migrate\`, then the same command again.`,
  );
}
