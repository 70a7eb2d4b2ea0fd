/** Databases for tests: a new one for each test on the real server, or the embedded one in memory. */
import { sql, type Kysely } from 'kysely';
import { inject } from 'vitest';
import { embeddedSlot } from '../../src/store/engine/embedded-slot.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { databases, EMPTY_TABLES } from './kept-databases.ts';
import { copyDatabase } from './postgres-server.ts';

export interface ServerDatabase extends Database {
  readonly url: string;
}

/** Connections of an app in a test. Each one costs as much as twenty queries. */
export const CONNECTIONS_MAX = 2;

/** The URL of a migrated database without data on the test run's server, for one test or file. */
export const freshDatabaseUrl = (): Promise<string> => databases.take(inject('postgresUrl'));

/** A migrated database without data on the test run's server, for one test or file. Close it. */
export const freshDatabase = async (): Promise<ServerDatabase> => opened(await freshDatabaseUrl());

/** The same, never used before: a table that had rows keeps its pages, by which the planner reckons. */
export const unusedDatabase = async (): Promise<ServerDatabase> =>
  opened(await copyDatabase(inject('postgresUrl')));

/** A new database without a table, as a server gives it. Close it; the server goes with the run. */
export const emptyDatabase = async (): Promise<ServerDatabase> =>
  opened(await copyDatabase(inject('postgresUrl'), 'template0'));

async function opened(url: string): Promise<ServerDatabase> {
  // A test holds a lock on one, has another wait for it, and watches that on a third.
  const database = await openDatabase({ databaseUrl: url, dataDir: '', connectionsMax: 3 });
  return { ...database, url };
}

/** Whether this program has the plugin for a database without a server. */
export const hasEmbedded = embeddedSlot.part() !== null;

/**
 * The embedded database in memory, migrated. Its maker belongs to the option, and is found as this runs, so that a test on
 * both databases stays when the option goes.
 */
export async function freshEmbedded(): Promise<Database> {
  const maker = new URL('../plugins/embedded/fresh.ts', import.meta.url).href;
  return ((await import(maker)) as { readonly freshEmbedded: () => Promise<Database> }).freshEmbedded();
}

/**
 * Deletes all rows of all tables except the database's identity, and restarts ids from 1. Truncating every table takes
 * ten times as long: few tables have rows.
 */
export async function emptyTables(db: Kysely<DB>): Promise<void> {
  await sql.raw(EMPTY_TABLES).execute(db);
}
