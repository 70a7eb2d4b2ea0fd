/**
 * The embedded database (PGlite): PostgreSQL inside this process, for setups without a server. One process at a time
 * can use it.
 */
import type { PGlite, Transaction } from '@electric-sql/pglite';
import { join } from 'node:path';
import { setImmediate as loopTurn } from 'node:timers/promises';
import { Kysely, PGliteDialect, type PGliteDialectConfig } from 'kysely';
import { loadFor } from '../../host/packages.ts';
import { COLUMN_PARSERS, type Database } from '../../store/engine/database.ts';
import {
  openingTrouble,
  statementTrouble,
  isNewFolder,
  lockFolder,
  type FolderLock,
  closeFiles,
  ownFiles,
  ownFolder,
} from './folder.ts';
import type { DB } from '../../store/engine/schema.ts';
import { troubleOf } from '../../store/engine/errors.ts';

type DialectPglite = Extract<PGliteDialectConfig['pglite'], { closed: boolean }>;
type Query = DialectPglite['query'];

/** PGlite answers without giving way to other work in this process. After this long, the others get a turn. */
const TURN_MS = 10;

/**
 * Opens the folder `dataDir/db` and creates it on first use. Throws `EmbeddedDatabaseBusy` while another process has
 * it open, `DatabaseFull` or `DatabaseUnusable` if it cannot be opened, or if other users may open it, and
 * `PackagesMissing` where PGlite is not installed.
 */
export async function openEmbeddedFolder(dataDir: string): Promise<Database> {
  const folder = join(dataDir, 'db');
  const { PGlite: Pglite } = await loadFor(
    'the embedded database, used where DATABASE_URL is not set',
    () => import('@electric-sql/pglite'),
  );
  let lock: FolderLock | undefined;
  try {
    await ownFolder(dataDir);
    await ownFolder(folder);
    lock = await lockFolder(folder);
    const isNew = await isNewFolder(folder);
    const pglite = await Pglite.create({ fs: await ownFiles(folder), parsers: COLUMN_PARSERS });
    if (isNew) await closeFiles(folder);
    return embeddedDatabase(
      pglite,
      () => lock?.release(),
      (error) => statementTrouble(folder, dataDir, error),
    );
  } catch (error) {
    lock?.release();
    throw await openingTrouble(folder, dataDir, error);
  }
}

/** Makes a `Database` from a running PGlite, which has to read columns with `COLUMN_PARSERS`. */
export function embeddedDatabase(
  pglite: PGlite,
  onClosed: () => void = () => undefined,
  translate: Translate = (error) => Promise.resolve(troubleOf(error)),
): Database {
  // Inside one process no connection can be lost, so nothing is tried again.
  const db = new Kysely<DB>({ dialect: new PGliteDialect({ pglite: bySimpleProtocol(pglite, translate) }) });
  return {
    db,
    kind: 'embedded',
    reserve: () => db,
    close: async () => {
      await db.destroy();
      if (!pglite.closed) await pglite.close();
      onClosed();
    },
  };
}

/** Makes the error that is thrown in place of the database's. */
type Translate = (error: unknown) => Promise<unknown>;

/** Between statements, every few milliseconds, lets timers, signals and sockets have their turn. */
function turnGiver(): () => Promise<void> | undefined {
  let turnedMs = performance.now();
  return () => {
    if (performance.now() - turnedMs < TURN_MS) return undefined;
    return loopTurn().then(() => {
      turnedMs = performance.now();
    });
  };
}

/**
 * Sends statements without parameters by the simple protocol, as node-postgres does. So a complete script, such as a
 * migration, runs on both databases.
 */
function bySimpleProtocol(pglite: PGlite, translate: Translate): DialectPglite {
  const letOthersIn = turnGiver();
  const queryOf = (runner: PGlite | Transaction): Query => {
    const query = async (text: string, params?: unknown[], options?: object) => {
      await letOthersIn();
      try {
        if (params !== undefined && params.length > 0) return await runner.query(text, params, options);
        const results = await runner.exec(text, options);
        return results.at(-1) ?? { rows: [], fields: [] };
      } catch (error) {
        throw await translate(error);
      }
    };
    return query as Query;
  };
  return {
    query: queryOf(pglite),
    transaction: async (work) => {
      const turn = { hasBegun: false };
      try {
        return await pglite.transaction((trx) => {
          turn.hasBegun = true;
          return work({ query: queryOf(trx), rollback: () => trx.rollback() });
        });
      } catch (failure) {
        // A rollback fails with nothing.
        const error = failure === undefined ? failure : await translate(failure);
        if (turn.hasBegun) throw error;
        // Kysely waits until the work begins, however long. So the work begins here, and its first statement fails.
        const failing: Query = () =>
          Promise.resolve().then(() => {
            throw error;
          });
        return work({ query: failing, rollback: () => Promise.resolve() });
      }
    },
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
