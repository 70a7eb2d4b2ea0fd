/** The embedded database (PGlite): PostgreSQL in this process, one process at a time, for setups without a server. */
import type { PGlite, Transaction } from '@electric-sql/pglite';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Kysely, PGliteDialect, type PGliteDialectConfig } from 'kysely';
import { COLUMN_PARSERS } from './column-values.ts';
import type { Database } from './database.ts';
import { lockFolder } from './folder-lock.ts';
import type { DB } from './schema.ts';

type DialectPglite = Extract<PGliteDialectConfig['pglite'], { closed: boolean }>;
type Query = DialectPglite['query'];

/**
 * Opens the folder `dataDir/db`, creating it on first use. Throws `EmbeddedDatabaseBusy` while another process has it.
 */
export async function openEmbeddedFolder(dataDir: string): Promise<Database> {
  await mkdir(dataDir, { recursive: true });
  const folder = join(dataDir, 'db');
  const lock = await lockFolder(folder);
  try {
    const { PGlite: Pglite } = await import('@electric-sql/pglite');
    const pglite = await Pglite.create({ dataDir: folder, parsers: COLUMN_PARSERS });
    return embeddedDatabase(pglite, () => lock.release());
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** A `Database` over a running PGlite, which must parse columns with `COLUMN_PARSERS`. */
export function embeddedDatabase(pglite: PGlite, onClosed: () => void = () => undefined): Database {
  const db = new Kysely<DB>({ dialect: new PGliteDialect({ pglite: bySimpleProtocol(pglite) }) });
  return {
    db,
    kind: 'embedded',
    close: async () => {
      await db.destroy();
      if (!pglite.closed) await pglite.close();
      onClosed();
    },
  };
}

/**
 * Statements without parameters go by the simple protocol, as node-postgres sends them: whole scripts, such as a
 * migration, run on both alike.
 */
function bySimpleProtocol(pglite: PGlite): DialectPglite {
  const queryOf = (runner: PGlite | Transaction): Query => {
    const query = async (text: string, params?: unknown[], options?: object) => {
      if (params !== undefined && params.length > 0) return runner.query(text, params, options);
      const results = await runner.exec(text, options);
      return results.at(-1) ?? { rows: [], fields: [] };
    };
    return query as Query;
  };
  return {
    query: queryOf(pglite),
    transaction: (work) =>
      pglite.transaction((trx) => work({ query: queryOf(trx), rollback: () => trx.rollback() })),
    close: () => pglite.close(),
    get closed() {
      return pglite.closed;
    },
    get ready() {
      return pglite.ready;
    },
    waitReady: pglite.waitReady,
  };
}
