/** Opens the database: a PostgreSQL server, or the embedded one. What it hands out behaves alike on both. */
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { COLUMN_PARSERS } from './column-values.ts';
import type { Database } from './database.ts';
import { openEmbeddedFolder } from './embedded.ts';
import { DatabaseUnreachable, DatabaseUnsupported, isConnectionError } from './errors.ts';
import type { DB } from './schema.ts';

export const POOL_CONNECTIONS_MAX = 10;
export const CONNECT_TIMEOUT_MS = 10_000;
export const SERVER_VERSION_MIN = 140_000;

export interface DatabaseSettings {
  /** Null: the embedded database in `dataDir`. */
  readonly databaseUrl: string | null;
  readonly dataDir: string;
}

/**
 * Connects and checks that the server can be used. Throws `DatabaseUnreachable`, `DatabaseUnsupported` or
 * `EmbeddedDatabaseBusy`. Applies no migrations.
 */
export async function openDatabase(settings: DatabaseSettings): Promise<Database> {
  if (settings.databaseUrl === null) return openEmbeddedFolder(settings.dataDir);
  const database = openServer(settings.databaseUrl);
  try {
    await checkVersion(database.db);
    return database;
  } catch (error) {
    await database.close();
    throw error instanceof DatabaseUnsupported ? error : unreachable(settings.databaseUrl, error);
  }
}

function openServer(databaseUrl: string): Database {
  const pool = createPool(databaseUrl);
  const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool }) });
  return { db, kind: 'postgres', close: () => db.destroy() };
}

function createPool(databaseUrl: string): pg.Pool {
  try {
    const pool = new pg.Pool({
      connectionString: databaseUrl,
      application_name: 'daybook',
      max: POOL_CONNECTIONS_MAX,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      types: { getTypeParser: parserOf },
      // Text forms of days and times are read as they come, so they must come as ISO whatever the role is set to.
      onConnect: asIso,
    });
    // A connection that is cut says so here, idle or in the middle of work; without listeners it would end the process.
    // The pool drops the connection, and the work on it fails by itself.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => void client.on('error', () => undefined));
    return pool;
  } catch (error) {
    throw unreachable(databaseUrl, error);
  }
}

// Awaited by the pool, though its type does not say so.
const asIso = ((client: pg.ClientBase) => client.query('SET datestyle TO ISO')) as (
  client: pg.ClientBase,
) => void;

type ParserOf = (oid: number, format?: 'text' | 'binary') => (value: string) => unknown;
const defaultParserOf = pg.types.getTypeParser as ParserOf;
const parserOf: ParserOf = (oid, format) => COLUMN_PARSERS[oid] ?? defaultParserOf(oid, format);

async function checkVersion(db: Kysely<DB>): Promise<void> {
  const { rows } = await sql<{
    version: number;
  }>`SELECT current_setting('server_version_num')::int AS version`.execute(db);
  const version = rows[0]?.version ?? 0;
  if (version >= SERVER_VERSION_MIN) return;
  throw new DatabaseUnsupported(
    `the server is PostgreSQL ${Math.floor(version / 10_000)}; daybook needs ${SERVER_VERSION_MIN / 10_000} or newer.`,
  );
}

/** Names server, database and cause; the URL itself, with its password, stays out. */
function unreachable(databaseUrl: string, cause: unknown): DatabaseUnreachable {
  const why = cause instanceof Error && isConnectionError(cause) ? causeOf(cause) : refusalOf(cause);
  return new DatabaseUnreachable(
    `the database ${placeOf(databaseUrl)} cannot be reached: ${why}. Check DATABASE_URL and that the server is up.`,
  );
}

const placeOf = (databaseUrl: string): string => {
  try {
    const url = new URL(databaseUrl);
    return `${url.host}${url.pathname}`;
  } catch {
    return 'in DATABASE_URL (which is no URL)';
  }
};

const causeOf = (error: Error): string => {
  const inner = error instanceof AggregateError ? (error.errors[0] as Error | undefined) : undefined;
  return inner?.message ?? error.message;
};

/** A server's refusal (wrong password, no such database) has a code; anything else might quote the URL. */
const refusalOf = (error: unknown): string =>
  error instanceof pg.DatabaseError ? error.message : 'the URL cannot be read';
