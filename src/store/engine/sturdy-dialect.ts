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
import { isLostOrRolledBack, retry } from './retry.ts';

export interface Sturdiness {
  /** The error to throw in place of one of the database's. */
  readonly told: (error: unknown) => Promise<unknown>;
  /** Pauses before a read is made again; none where that cannot help. */
  readonly delaysMs: readonly number[];
  /** SQL that goes with the statement that begins a transaction, at no further cost. Only for a server. */
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
  /** Begins a transaction, and waits for its first statement: where that has no parameters, both are one message. */
  #begin: string | null = null;

  constructor(driver: Driver, sturdiness: Sturdiness) {
    this.#driver = driver;
    this.#sturdiness = sturdiness;
  }

  /** Has `beginOn` begin a transaction; what it sends goes out with the first statement after it. */
  async begin(beginOn: (on: DatabaseConnection) => Promise<void>): Promise<void> {
    const { transactionSettings } = this.#sturdiness;
    if (transactionSettings === undefined) return this.using(beginOn);
    this.#isUsed = true;
    await beginOn({
      executeQuery: ({ sql }) => {
        this.#begin = `${sql}; ${transactionSettings}`;
        return Promise.resolve({ rows: [] });
      },
      streamQuery: () => {
        throw new TypeError('a transaction does not begin with a stream');
      },
    });
  }

  /** What is to be sent for `query`, once the transaction that it is the first of has begun. */
  async #begun(inner: DatabaseConnection, query?: CompiledQuery): Promise<CompiledQuery | undefined> {
    const begin = this.#begin;
    this.#begin = null;
    if (begin === null) return query;
    if (query?.parameters.length === 0) return CompiledQuery.raw(`${begin}; ${query.sql}`);
    await inner.executeQuery(CompiledQuery.raw(begin));
    return query;
  }

  /** Ends the transaction by `work`; one in which nothing was asked never began. */
  async end(work: (inner: DatabaseConnection) => Promise<void>): Promise<void> {
    if (this.#begin === null) return this.using(work);
    this.#begin = null;
  }

  /** Hands the connection itself to `work` and tells what it throws. */
  using<Result>(work: (inner: DatabaseConnection) => Promise<Result>): Promise<Result> {
    return this.#telling(async (inner) => {
      await this.#begun(inner);
      return work(inner);
    });
  }

  async #telling<Result>(work: (inner: DatabaseConnection) => Promise<Result>): Promise<Result> {
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
    const ask = () =>
      this.#telling(async (inner) => inner.executeQuery<Row>((await this.#begun(inner, query)) ?? query));
    if (!mayMove) return ask();
    return retry(ask, { delaysMs, isPassing: isLostOrRolledBack, afterFailure: () => this.release() });
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

function sturdyDriver(driver: Driver, sturdiness: Sturdiness): Driver {
  const using = (connection: DatabaseConnection, work: (inner: DatabaseConnection) => Promise<void>) =>
    sturdy(connection).using(work);
  return {
    init: (options) => driver.init(options),
    destroy: (options) => driver.destroy(options),
    acquireConnection: () => Promise.resolve(new SturdyConnection(driver, sturdiness)),
    releaseConnection: (connection) => sturdy(connection).release(),
    beginTransaction: (connection, settings: TransactionSettings) =>
      sturdy(connection).begin((on) => driver.beginTransaction(on, settings)),
    commitTransaction: (connection) => sturdy(connection).end((inner) => driver.commitTransaction(inner)),
    rollbackTransaction: (connection) => sturdy(connection).end((inner) => driver.rollbackTransaction(inner)),
    savepoint: (connection, name, compile) =>
      using(connection, async (inner) => driver.savepoint?.(inner, name, compile)),
    rollbackToSavepoint: (connection, name, compile) =>
      using(connection, async (inner) => driver.rollbackToSavepoint?.(inner, name, compile)),
    releaseSavepoint: (connection, name, compile) =>
      using(connection, async (inner) => driver.releaseSavepoint?.(inner, name, compile)),
  };
}
