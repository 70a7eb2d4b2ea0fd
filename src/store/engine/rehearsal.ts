/** Does database work without keeping it: everything runs as usual on one connection, and is rolled back at the end. */
import {
  CompiledQuery,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from 'kysely';
import { idleLimitSql } from './retry.ts';

/** A rehearsal calls the platform inside its transaction. As long as its lease lasts. */
const REHEARSAL_IDLE_MS = 15 * 60_000;

const WRITES = /\b(insert|update|delete|merge)\b/i;

const sqlOf = (text: string) => CompiledQuery.raw(text);

/** One connection inside an open transaction. It has one user at a time, whose transactions become savepoints. */
class RehearsalDriver implements Driver {
  readonly #savepoint: SavepointConnection;
  #last: Promise<void> = Promise.resolve();
  #free: () => void = () => undefined;

  constructor(connection: DatabaseConnection) {
    this.#savepoint = new SavepointConnection(connection);
  }

  init = () => Promise.resolve();
  destroy = () => Promise.resolve();

  async acquireConnection(): Promise<DatabaseConnection> {
    const turn = this.#last;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#last = promise;
    await turn;
    this.#free = () => resolve(undefined);
    return this.#savepoint;
  }

  releaseConnection(): Promise<void> {
    this.#free();
    return Promise.resolve();
  }

  async beginTransaction(): Promise<void> {
    await this.#savepoint.begin();
  }

  async commitTransaction(): Promise<void> {
    await this.#savepoint.keep();
  }

  async rollbackTransaction(): Promise<void> {
    await this.#savepoint.undo();
  }
}

/** A connection on which a write that is no part of a transaction is one of its own, as on any other. */
class SavepointConnection implements DatabaseConnection {
  readonly #inner: DatabaseConnection;
  #isBegun = false;

  constructor(inner: DatabaseConnection) {
    this.#inner = inner;
  }

  async begin(): Promise<void> {
    await this.#inner.executeQuery(sqlOf('SAVEPOINT rehearsal'));
    this.#isBegun = true;
  }

  async keep(): Promise<void> {
    this.#isBegun = false;
    await this.#inner.executeQuery(sqlOf('RELEASE SAVEPOINT rehearsal'));
  }

  async undo(): Promise<void> {
    await this.#inner.executeQuery(sqlOf('ROLLBACK TO SAVEPOINT rehearsal'));
    await this.keep();
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#isBegun || !WRITES.test(query.sql)) return this.#inner.executeQuery<Row>(query);
    await this.begin();
    try {
      const result = await this.#inner.executeQuery<Row>(query);
      await this.keep();
      return result;
    } catch (error) {
      await this.undo();
      throw error;
    }
  }

  streamQuery<Row>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<Row>> {
    return this.#inner.streamQuery<Row>(query, chunkSize);
  }
}

/**
 * Gives `work` a database that behaves like `db`, and rolls back everything that `work` wrote, whether it succeeds or
 * throws.
 *
 * A read that fails outside a transaction makes the rehearsal fail, as in any open PostgreSQL transaction.
 */
export function rehearse<Schema, Result>(
  db: Kysely<Schema>,
  work: (rehearsal: Kysely<Schema>) => Promise<Result>,
): Promise<Result> {
  return db.getExecutor().provideConnection(async (connection) => {
    const dialect: Dialect = {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new RehearsalDriver(connection),
      createIntrospector: (inner) => new PostgresIntrospector(inner),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    };
    await connection.executeQuery(sqlOf(`BEGIN; ${idleLimitSql(REHEARSAL_IDLE_MS)}`));
    try {
      return await work(new Kysely<Schema>({ dialect }));
    } finally {
      await connection.executeQuery(sqlOf('ROLLBACK'));
    }
  });
}
