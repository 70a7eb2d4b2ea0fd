/** Opens the database: a PostgreSQL server or the embedded one. The `Database` behaves the same for both. */
import { embeddedSlot } from './embedded-slot.ts';
import { Kysely, PostgresDialect, type PostgresPool } from 'kysely';
import { ExpectedError } from '../../ledger/ending.ts';
import { boundedPool, createPool } from './pool.ts';
import { COLUMN_PARSERS, type Database, type Db } from './database.ts';
import {
  codeOf,
  CROWDED,
  DatabaseNotSet,
  DatabaseRefused,
  DatabaseUnreachable,
  DatabaseUnsupported,
  isConnectionError,
  isCrowded,
  reasonOf,
  troubleOf,
  DatabaseUnprotected,
  StoreUnreachable,
} from './errors.ts';
import { CLIENT_SILENCE_MS, DATABASE_WAITS, type DatabaseWaits } from './retry.ts';
import { lastMigration } from './migrations.ts';
import type { DB } from './schema.ts';
import { isLoopback } from '../../host/addresses.ts';

import pg from 'pg';

const POOL_CONNECTIONS_MAX = 7;
const SERVER_VERSION_MIN = 140_000;
const ENCODING = 'UTF8';

export interface DatabaseSettings {
  /** Null for the embedded database in `dataDir`. */
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  /** If `database` is in it, a server on another machine may be used without TLS. */
  readonly allowInsecure?: readonly string[];
  /** Default `POOL_CONNECTIONS_MAX`. The embedded database has one connection. */
  readonly connectionsMax?: number;
  /** Default `DATABASE_WAITS`. */
  readonly waits?: DatabaseWaits;
}

/**
 * Connects, and checks that the server can be used. Does not apply migrations. Throws `DatabaseNotSet`, `DatabaseUnprotected`,
 * `DatabaseUnreachable`, `DatabaseRefused`, `DatabaseUnsupported`, `EmbeddedDatabaseBusy`, `DatabaseUnusable` or
 * another of the errors in errors.ts.
 */
export async function openDatabase(
  settings: DatabaseSettings,
  openEmbedded = embeddedSlot.part(),
): Promise<Database> {
  if (settings.databaseUrl === null) {
    if (openEmbedded !== null) return openEmbedded(settings.dataDir);
    throw new DatabaseNotSet(
      'there is nowhere to keep the ledger: DATABASE_URL is not set, and this daybook has no embedded database. Set ' +
        'DATABASE_URL to a PostgreSQL server.',
    );
  }
  const { databaseUrl, waits = DATABASE_WAITS, connectionsMax = POOL_CONNECTIONS_MAX } = settings;
  const program = await lastMigration();
  const pool = openPool(databaseUrl, { connectionsMax, waits, program });
  try {
    assertProtected(databaseUrl, `the database ${placeOf(databaseUrl)}`, settings);
    await checkServer(boundedPool(pool, { ...waits, retryDelaysMs: [] }), databaseUrl);
  } catch (error) {
    await pool.end();
    throw openingFailure(databaseUrl, error);
  }
  const opened: { readonly db: Db; readonly pool: pg.Pool }[] = [];
  const over = (own: pg.Pool): Db => {
    const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool: boundedPool(own, waits) }) });
    opened.push({ db, pool: own });
    return db;
  };
  const db = over(pool);
  const reserve = (wanted: number): Db => {
    const connections = Math.min(wanted, pool.options.max - 1);
    if (connections === 0) return db;
    pool.options.max -= connections;
    return over(openPool(databaseUrl, { connectionsMax: connections, waits, program }));
  };
  const close = async (): Promise<void> => {
    for (const one of opened) {
      await one.db.destroy();
      // Kysely takes the pool at its first query. Without one, `destroy` leaves the pool open.
      if (!one.pool.ending) await one.pool.end();
    }
  };
  return { db, kind: 'postgres', reserve, close };
}

function openPool(
  databaseUrl: string,
  {
    connectionsMax,
    waits,
    program,
  }: Required<Pick<DatabaseSettings, 'connectionsMax' | 'waits'>> & { readonly program: string },
): pg.Pool {
  try {
    const config: pg.PoolConfig = {
      connectionString: databaseUrl,
      // Its number lets the database refuse a program that is too old (sql/0003_runs.sql).
      application_name: `daybook/${program}`,
      max: connectionsMax,
      keepAlive: true,
      keepAliveInitialDelayMillis: CLIENT_SILENCE_MS,
      types: { getTypeParser: parserOf },
    };
    return createPool(config, waits);
  } catch (error) {
    throw openingFailure(databaseUrl, error);
  }
}

type ParserOf = (oid: number, format?: 'text' | 'binary') => (value: string) => unknown;
const defaultParserOf = pg.types.getTypeParser as ParserOf;
const parserOf: ParserOf = (oid, format) => COLUMN_PARSERS[oid] ?? defaultParserOf(oid, format);

/**
 * Throws `DatabaseUnsupported` if the server is too old, if the database cannot hold every character, or if a setting of it would change
 * what daybook's statements mean: behind PgBouncer a session cannot set it.
 */
async function checkServer(pool: PostgresPool, databaseUrl: string): Promise<void> {
  const client = await pool.connect();
  const { version, encoding, schema, nulls } = await client
    .query<{ version: number; encoding: string; schema: string | null; nulls: string }>(
      `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
        current_schema() AS schema, current_setting('array_nulls') AS nulls`,
      [],
    )
    .then(({ rows }) => rows[0]!)
    .finally(() => client.release());
  if (version < SERVER_VERSION_MIN) {
    throw new DatabaseUnsupported(
      `the server is PostgreSQL ${Math.floor(version / 10_000)}; daybook needs ${SERVER_VERSION_MIN / 10_000} or newer.`,
    );
  }
  if (encoding !== ENCODING) throw otherEncoding(databaseUrl, encoding);
  const place = `the database ${placeOf(databaseUrl)}`;
  if (schema === null || schema.startsWith('pg_'))
    throw new DatabaseUnsupported(
      `in ${place}, search_path begins with no schema in which daybook may keep its tables. Create the schema that it names, or take the ` +
        'setting back: ALTER DATABASE name RESET search_path, or ALTER ROLE name RESET search_path.',
    );
  if (nulls !== 'on')
    throw new DatabaseUnsupported(
      `${place} has the setting array_nulls = ${nulls}, and behind a pooler daybook cannot set it for its session. Take the setting back: ` +
        'ALTER DATABASE name RESET array_nulls, or ALTER ROLE name RESET array_nulls.',
    );
}

const otherEncoding = (databaseUrl: string, encoding: string): DatabaseUnsupported =>
  new DatabaseUnsupported(
    `the database ${placeOf(databaseUrl)} has the encoding ${encoding}, which cannot hold every character that the ` +
      `platform may send; daybook needs ${ENCODING}. Create one with CREATE DATABASE name ENCODING '${ENCODING}' ` +
      "LOCALE 'C' TEMPLATE template0, and name it in DATABASE_URL.",
  );

/** An error that names the server, the database and the cause. It leaves out the URL, which contains the password. */
function openingFailure(databaseUrl: string, failure: unknown): unknown {
  const error = failure instanceof StoreUnreachable ? failure.cause : failure;
  const place = `the database ${placeOf(databaseUrl)}`;
  const trouble = troubleOf(error);
  if (trouble instanceof DatabaseRefused) return new DatabaseRefused(error, place);
  if (trouble instanceof ExpectedError && !isConnectionError(trouble)) return trouble;
  if (isCrowded(error))
    return new DatabaseUnreachable(`${place} has no free connection: ${reasonOf(error)}. ${CROWDED}`);
  // An error of an unknown kind might quote the URL, so its text is left out.
  const isKnown = isConnectionError(error) || codeOf(error) !== '';
  const unknown = URL.canParse(databaseUrl)
    ? 'what answers there does not talk as PostgreSQL does'
    : 'the URL cannot be read';
  const why = isKnown ? reasonOf(error) : unknown;
  return new DatabaseUnreachable(
    `${place} cannot be reached: ${why}. Check DATABASE_URL and that the server is up.`,
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

/**
 * Whether the traffic with the server could be read or changed on its way. `local`: it stays on this machine. `verified`:
 * TLS with a checked certificate. `unverified`: TLS with an unchecked certificate. `plain`: not encrypted.
 */
export type Protection = 'local' | 'verified' | 'unverified' | 'plain';

/** Throws the driver's own error if the driver cannot read the URL. */
export function protectionOf(databaseUrl: string): Protection {
  // This client never connects. It is made because only the driver knows what follows from the URL, PGHOST, PGSSLMODE
  // and the like.
  const client: { readonly host: string; readonly ssl: unknown } = new pg.Client({
    connectionString: databaseUrl,
  });
  const { host, ssl } = client;
  if (host.startsWith('/') || isLoopback(host)) return 'local';
  if (ssl === false || ssl === undefined || ssl === null) return 'plain';
  // A certificate whose name is not compared with the host's may be that of any other host.
  const checked =
    typeof ssl !== 'object' ||
    (!('checkServerIdentity' in ssl) && (!('rejectUnauthorized' in ssl) || ssl.rejectUnauthorized !== false));
  return checked ? 'verified' : 'unverified';
}

/**
 * Throws `DatabaseUnprotected` for a connection that others could read or change on its way and that the settings do not
 * allow. `place` names the server without the password.
 */
export function assertProtected(
  databaseUrl: string,
  place: string,
  { allowInsecure = [] }: { readonly allowInsecure?: readonly string[] },
): void {
  const protection = protectionOf(databaseUrl);
  const isCertain = protection === 'local' || protection === 'verified';
  const allowing = protection === 'plain' ? ['database'] : ['database', 'certificates'];
  if (isCertain || allowing.some((one) => allowInsecure.includes(one))) return;
  const how =
    protection === 'plain'
      ? 'without TLS, password and ledger in the open'
      : 'without checking its certificate and name, so that who is in between could read password and ledger';
  throw new DatabaseUnprotected(
    `${place} would be spoken to ${how}: add ?sslmode=verify-full to DATABASE_URL ` +
      '(and sslrootcert=FILE for an authority of your own), or answer for it with DAYBOOK_ALLOW_INSECURE=database.',
  );
}
