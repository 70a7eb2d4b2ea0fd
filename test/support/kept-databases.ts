/**
 * Databases of the test run's server that are emptied and used again: a copy of the template costs 50 ms and 10 MB, an
 * emptied one with its warm caches a fifth. Each use has a name of its own, so that a connection left over from a test
 * before cannot reach it.
 */
import pg from 'pg';
import { adminOf, copyDatabase, newDatabaseName } from './postgres-server.ts';

/** Deletes the rows of all tables but the database's identity and its migrations, and restarts ids. */
export const EMPTY_TABLES = `
  DO $$
  DECLARE
    relation record;
  BEGIN
    -- Rows are deleted in any order: no trigger and no reference is looked at.
    SET LOCAL session_replication_role = replica;
    FOR relation IN
      SELECT oid::regclass::text AS name, pg_relation_size(oid) AS bytes
      FROM pg_class
      WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
        AND relname NOT IN ('installation', 'kysely_migration', 'kysely_migration_lock') AND pg_relation_size(oid) > 0
    LOOP
      IF relation.bytes < 128 * 1024 THEN EXECUTE 'DELETE FROM ' || relation.name;
      ELSE EXECUTE 'TRUNCATE ' || relation.name || ' CASCADE';
      END IF;
    END LOOP;
    PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
    FROM pg_sequences WHERE last_value IS NOT NULL;
    UPDATE installation SET clock_off_at = NULL, clock_off = NULL WHERE clock_off_at IS NOT NULL;
  END $$`;

/**
 * What a test may have changed besides rows: tables, columns, constraints, functions, triggers, rights, settings, and what the
 * planner knows.
 */
const SHAPE = `
  SELECT concat_ws(' ',
    (SELECT concat(count(*), sum(oid::int8), sum(hashtext(concat(relname, reloptions, relacl))),
       sum(reltuples) FILTER (WHERE relkind = 'r'))
       FROM pg_class WHERE relnamespace = 'public'::regnamespace),
    (SELECT concat(count(*), sum(hashtext(concat(attrelid, attname, atttypid, attnotnull, atthasdef, attacl))))
       FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid AND relnamespace = 'public'::regnamespace
       WHERE attnum > 0),
    (SELECT concat(count(*), max(oid), count(*) FILTER (WHERE convalidated)) FROM pg_constraint),
    (SELECT concat(count(*), max(oid)) FROM pg_proc),
    (SELECT concat(count(*), max(oid), count(*) FILTER (WHERE tgenabled <> 'O')) FROM pg_trigger),
    (SELECT concat(count(*), max(oid), sum(hashtext(nspacl::text))) FROM pg_namespace),
    (SELECT string_agg(name, ' ' ORDER BY name) FROM kysely_migration),
    (SELECT count(*) FROM pg_db_role_setting), (SELECT count(*) FROM pg_default_acl), (SELECT count(*) FROM pg_policy),
    (SELECT string_agg(datacl::text, '') FROM pg_database WHERE datname = current_database())
  ) AS shape`;

interface Origin {
  readonly shape: string;
  /** The row of `installation` as the template has it. */
  readonly identity: unknown;
}

export class KeptDatabases {
  private readonly idle: string[] = [];
  private ofFile: string[] = [];
  private ofTest: string[] | null = null;
  private origin: Promise<Origin> | undefined;

  /** The URL of a migrated database without data, until the test that takes it ends, or outside of a test the file. */
  async take(serverUrl: string): Promise<string> {
    const owner = this.ofTest ?? this.ofFile;
    let url = null;
    while (url === null && this.idle.length > 0) url = await this.emptied(serverUrl, this.idle.shift()!);
    url ??= await copyDatabase(serverUrl);
    this.origin ??= originOf(url);
    await this.origin;
    owner.push(url.slice(serverUrl.length + 1));
    return url;
  }

  beginTest(): void {
    this.ofTest = [];
  }

  endTest(): void {
    this.idle.push(...(this.ofTest ?? []));
    this.ofTest = null;
  }

  endFile(): void {
    this.endTest();
    this.idle.push(...this.ofFile);
    this.ofFile = [];
  }

  /** Null if more than its rows were changed. */
  private async emptied(serverUrl: string, name: string): Promise<string | null> {
    const admin = adminOf(serverUrl);
    const next = newDatabaseName();
    try {
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
      await admin.query(`ALTER DATABASE ${name} RENAME TO ${next}`);
    } catch {
      return null; // still in use, renamed or dropped
    }
    const origin = await this.origin!;
    return withClient(`${serverUrl}/${next}`, async (client) => {
      if ((await shapeOf(client)) !== origin.shape) return null;
      await client.query(EMPTY_TABLES);
      await client.query('DELETE FROM installation');
      await client.query(
        'INSERT INTO installation SELECT * FROM jsonb_populate_record(NULL::installation, $1::jsonb)',
        [JSON.stringify(origin.identity)],
      );
      return `${serverUrl}/${next}`;
    });
  }
}

/** Those of this process, which runs many files of tests. */
export const databases = new KeptDatabases();

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

const originOf = (url: string): Promise<Origin> =>
  withClient(url, async (client) => {
    const { rows } = await client.query<{ identity: unknown }>(
      'SELECT to_jsonb(installation) AS identity FROM installation',
    );
    return { shape: await shapeOf(client), identity: rows[0]!.identity };
  });

async function shapeOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ shape: string }>(SHAPE);
  return rows[0]!.shape;
}
