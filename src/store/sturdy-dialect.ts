/**
 * The one place every statement goes through: a fault of the surroundings is told as such, and a read that a lost
 * connection cut short is made again, as write transactions are.
 */
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  type TransactionSettings,
} from 'kysely';
import { isConnectionError, isContention } from './errors.ts';
import { createPatience } from './retry.ts';

export interface Sturdiness {
  /** The error to throw in place of one of the database's. */
  readonly told: (error: unknown) => Promise<unknown>;
  /** Pauses before a read is made again; none where that cannot help. */
  readonly delaysMs: readonly number[];
  /** SQL that goes with the statement that begins a transaction, at no further cost. */
  readonly transactionSettings?: string;
}

/** `dialect` with all its statements under `sturdiness`. */
export const sturdyDialect = (dialect: Dialect, sturdiness: Sturdiness): Dialect => ({
  createAdapter: () => dialect.createAdapter(),
  createDriver: () => sturdyDriver(dialect.createDriver(), sturdiness),
  createIntrospector: (db) => dialect.createIntrospector(db),
  createQueryCompiler: () => dialect.createQueryCompiler(),
});

/** Reads alone: what is sent twice by mistake must change nothing. */
const isRead = ({ sql }: CompiledQuery): boolean =>
  /^\s*(select|with)\b/i.test(sql) && !/\b(insert|update|delete|merge|nextval|pg_\w*xact\w*)\b/i.test(sql);

/** A connection that is taken from the pool when the first statement comes, and taken anew for another try of a read. */
class SturdyConnection implements DatabaseConnection {
  readonly #driver: Driver;
  readonly #sturdiness: Sturdiness;
  #inner: DatabaseConnection | null = null;
  /** What came before on the connection (BEGIN, SET) may matter: only a first statement can move to another one. */
  #isUsed = false;

  constructor(driver: Driver, sturdiness: Sturdiness) {
    this.#driver = driver;
    this.#sturdiness = sturdiness;
  }

  /** Hands the connection itself to `work` and tells what it throws. */
  async using<Result>(work: (inner: DatabaseConnection) => Promise<Result>): Promise<Result> {
    this.#isUsed = true;
    try {
      this.#inner ??= await this.#driver.acquireConnection();
      return await work(this.#inner);
    } catch (error) {
      throw await this.#sturdiness.told(error);
    }
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { delaysMs } = this.#sturdiness;
    const mayMove = !this.#isUsed && isRead(query) && delaysMs.length > 0;
    const pause = createPatience(delaysMs);
    for (;;) {
      try {
        return await this.using((inner) => inner.executeQuery<Row>(query));
      } catch (error) {
        if (!mayMove || !(isConnectionError(error) || isContention(error))) throw error;
        await this.release();
        await pause(error);
      }
    }
  }

  async *streamQuery<Row>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<Row>> {
    yield* await this.using((inner) => Promise.resolve(inner.streamQuery<Row>(query, chunkSize)));
  }

  async release(): Promise<void> {
    const inner = this.#inner;
    this.#inner = null;
    if (inner !== null) await this.#driver.releaseConnection(inner);
  }
}

/** Kysely hands back only what `acquireConnection` gave it. */
function sturdy(connection: DatabaseConnection): SturdyConnection {
  if (connection instanceof SturdyConnection) return connection;
  throw new TypeError('a connection of another driver');
}

/** The connection for a driver that begins a transaction on it: `settings` go with the statement it sends. */
const withSettings = (inner: DatabaseConnection, settings: string | undefined): DatabaseConnection =>
  settings === undefined
    ? inner
    : {
        executeQuery: (begin) => inner.executeQuery(CompiledQuery.raw(`${begin.sql}; ${settings}`)),
        streamQuery: (query, chunkSize) => inner.streamQuery(query, chunkSize),
      };

function sturdyDriver(driver: Driver, sturdiness: Sturdiness): Driver {
  const using = (connection: DatabaseConnection, work: (inner: DatabaseConnection) => Promise<void>) =>
    sturdy(connection).using(work);
  return {
    init: (options) => driver.init(options),
    destroy: (options) => driver.destroy(options),
    acquireConnection: () => Promise.resolve(new SturdyConnection(driver, sturdiness)),
    releaseConnection: (connection) => sturdy(connection).release(),
    beginTransaction: (connection, settings: TransactionSettings) =>
      using(connection, (inner) =>
        driver.beginTransaction(withSettings(inner, sturdiness.transactionSettings), settings),
      ),
    commitTransaction: (connection) => using(connection, (inner) => driver.commitTransaction(inner)),
    rollbackTransaction: (connection) => using(connection, (inner) => driver.rollbackTransaction(inner)),
    savepoint: (connection, name, compile) =>
      using(connection, async (inner) => driver.savepoint?.(inner, name, compile)),
    rollbackToSavepoint: (connection, name, compile) =>
      using(connection, async (inner) => driver.rollbackToSavepoint?.(inner, name, compile)),
    releaseSavepoint: (connection, name, compile) =>
      using(connection, async (inner) => driver.releaseSavepoint?.(inner, name, compile)),
  };
}
