/**
 * Starts the bench's own PostgreSQL, as safe against crashes as in production and with enough memory, and makes
 * databases.
 */
import '../src/plugins.ts';
import { sql, type Kysely } from 'kysely';
import { openDatabase } from '../src/store/engine/connection.ts';
import type { DB } from '../src/store/engine/schema.ts';
import { MIGRATION_WAITS } from '../src/store/engine/retry.ts';
import { createTemplate, startPostgres, TEMPLATE } from '../test/support/postgres-server.ts';
import pg from 'pg';

/** With PostgreSQL's defaults there would be a checkpoint every few seconds, and the bench would measure those. */
const FLAGS = ['-c', 'shared_buffers=1GB', '-c', 'max_wal_size=8GB', '-c', 'checkpoint_timeout=30min'];

export interface BenchDatabase {
  readonly url: string;
  readonly db: Kysely<DB>;
  /** Writes all pending changes to disk, so that the next measure does not pay for them. */
  readonly settle: () => Promise<void>;
  /** Runs `work` with a plain connection, for COPY. */
  readonly withClient: <Result>(work: (client: pg.Client) => Promise<Result>) => Promise<Result>;
  readonly drop: () => Promise<void>;
}

export interface BenchServer {
  /** A new, migrated database. */
  readonly freshDatabase: () => Promise<BenchDatabase>;
  readonly stop: () => Promise<void>;
}

/** `flags`: settings of PostgreSQL's in addition. */
export async function startServer(flags: readonly string[] = []): Promise<BenchServer> {
  const server = await startPostgres({ durable: true, flags: [...FLAGS, ...flags] });
  await createTemplate(server.url);
  let databases = 0;
  const asAdmin = async (statement: (name: string) => ReturnType<typeof sql>, name: string) => {
    const admin = await openDatabase({ databaseUrl: `${server.url}/postgres`, dataDir: '' });
    await statement(name).execute(admin.db);
    await admin.close();
  };
  return {
    freshDatabase: async () => {
      databases += 1;
      const name = `bench_${databases}`;
      await asAdmin((id) => sql`CREATE DATABASE ${sql.id(id)} TEMPLATE ${sql.id(TEMPLATE)}`, name);
      const url = `${server.url}/${name}`;
      // One statement inserts a history of ten million entries, which needs the time limits of migrations.
      const database = await openDatabase({ databaseUrl: url, dataDir: '', waits: MIGRATION_WAITS });
      return {
        url,
        db: database.db,
        settle: async () => {
          await sql`CHECKPOINT`.execute(database.db);
        },
        withClient: async (work) => {
          const client = new pg.Client({ connectionString: url });
          await client.connect();
          try {
            return await work(client);
          } finally {
            await client.end();
          }
        },
        drop: async () => {
          await database.close();
          await asAdmin((id) => sql`DROP DATABASE ${sql.id(id)} WITH (FORCE)`, name);
        },
      };
    },
    stop: server.stop,
  };
}
