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
} from 'kysely';
import { idleLimitSql, REHEARSAL_IDLE_MS } from './waits.ts';

const sqlOf = (text: string) => CompiledQuery.raw(text);

/** One connection inside an open transaction. It has one user at a time, whose transactions become savepoints. */
class RehearsalDriver implements Driver {
  readonly #connection: DatabaseConnection;
  #last: Promise<void> = Promise.resolve();
  #free: () => void = () => undefined;

  constructor(connection: DatabaseConnection) {
    this.#connection = connection;
  }

  init = () => Promise.resolve();
  destroy = () => Promise.resolve();

  async acquireConnection(): Promise<DatabaseConnection> {
    const turn = this.#last;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#last = promise;
    await turn;
    this.#free = () => resolve(undefined);
    return this.#connection;
  }

  releaseConnection(): Promise<void> {
    this.#free();
    return Promise.resolve();
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(sqlOf('SAVEPOINT rehearsal'));
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(sqlOf('RELEASE SAVEPOINT rehearsal'));
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(sqlOf('ROLLBACK TO SAVEPOINT rehearsal'));
    await connection.executeQuery(sqlOf('RELEASE SAVEPOINT rehearsal'));
  }
}

/**
 * Gives `work` a database that behaves like `db`, and rolls back everything that `work` wrote, whether it succeeds or
 * throws.
 *
 * A statement that fails outside a transaction makes the whole rehearsal fail, as in any open PostgreSQL transaction.
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
