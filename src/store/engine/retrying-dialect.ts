/**
 * Every statement goes through here. Errors of the database are replaced by ones with a message for a person, and a
 * read whose connection was cut is made again.
 */
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  type TransactionSettings,
  type OperationNode,
  type QueryCompiler,
  type RawNode,
  type ValueNode,
} from 'kysely';
import { isLostOrRolledBack, retry } from './retry.ts';

export interface RetryOptions {
  /** Makes the error that is thrown in place of the database's. */
  readonly translate: (error: unknown) => Promise<unknown>;
  /** Pauses before a read is made again. Empty: it is never made again. */
  readonly delaysMs: readonly number[];
  /** SQL that is sent together with BEGIN, in the same message. For a server only. */
  readonly transactionSettings?: string;
}

/** Wraps `dialect`, so that all its statements are handled so. */
export const retryingDialect = (dialect: Dialect, options: RetryOptions): Dialect => ({
  createAdapter: () => dialect.createAdapter(),
  createDriver: () => retryingDriver(dialect.createDriver(), options),
  createIntrospector: (db) => dialect.createIntrospector(db),
  createQueryCompiler: () => withKnownTexts(dialect.createQueryCompiler()),
});

/** Only a statement that changes nothing may be sent twice. */
const isReadText = (sql: string): boolean =>
  /^\s*(select|with)\b/i.test(sql) && !/\b(insert|update|delete|merge|nextval|pg_\w*xact\w*)\b/i.test(sql);

/** Statements whose texts are remembered at a time. daybook has some hundreds of them. */
const TEXTS_MAX = 1_000;

/** Remembers of each text whether it is a read: a long statement takes a while to search. */
function createReadCheck(): (sql: string) => boolean {
  const known = new Map<string, boolean>();
  return (sql) => {
    let answer = known.get(sql);
    if (answer === undefined) {
      answer = isReadText(sql);
      if (known.size >= TEXTS_MAX) known.clear();
      known.set(sql, answer);
    }
    return answer;
  };
}

/** Takes a connection from the pool when the first statement comes. Each further attempt of a read takes a new one. */
class RetryingConnection implements DatabaseConnection {
  readonly #driver: Driver;
  readonly #options: RetryOptions;
  readonly #isRead: (sql: string) => boolean;
  #inner: DatabaseConnection | null = null;
  /** A statement may depend on earlier ones (BEGIN, SET). So only the first can move to another connection. */
  #isUsed = false;
  /** The BEGIN that is to be sent with the transaction's first statement: as one message if that has no parameters. */
  #begin: string | null = null;

  constructor(driver: Driver, options: RetryOptions, isRead: (sql: string) => boolean) {
    this.#driver = driver;
    this.#options = options;
    this.#isRead = isRead;
  }

  /** Begins a transaction. What `beginOn` sends is held back until the first statement. */
  async begin(beginOn: (on: DatabaseConnection) => Promise<void>): Promise<void> {
    const { transactionSettings } = this.#options;
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

  /** Sends the BEGIN that was held back, or puts it in front of `query`. Returns what is still to be sent. */
  async #begun(inner: DatabaseConnection, query?: CompiledQuery): Promise<CompiledQuery | undefined> {
    const begin = this.#begin;
    this.#begin = null;
    if (begin === null) return query;
    if (query?.parameters.length === 0) return CompiledQuery.raw(`${begin}; ${query.sql}`);
    await inner.executeQuery(CompiledQuery.raw(begin));
    return query;
  }

  /** Ends the transaction by `work`. A transaction without a statement was never begun, and needs no end. */
  async end(work: (inner: DatabaseConnection) => Promise<void>): Promise<void> {
    if (this.#begin === null) return this.using(work);
    this.#begin = null;
  }

  /** Calls `work` with the connection itself, and replaces its errors. */
  using<Result>(work: (inner: DatabaseConnection) => Promise<Result>): Promise<Result> {
    return this.#translating(async (inner) => {
      await this.#begun(inner);
      return work(inner);
    });
  }

  async #translating<Result>(work: (inner: DatabaseConnection) => Promise<Result>): Promise<Result> {
    this.#isUsed = true;
    try {
      this.#inner ??= await this.#driver.acquireConnection();
      return await work(this.#inner);
    } catch (error) {
      throw await this.#options.translate(error);
    }
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { delaysMs } = this.#options;
    const mayMove = !this.#isUsed && delaysMs.length > 0 && this.#isRead(query.sql);
    const ask = () =>
      this.#translating(async (inner) => inner.executeQuery<Row>((await this.#begun(inner, query)) ?? query));
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

/** Kysely only passes connections that `acquireConnection` returned. */
function retrying(connection: DatabaseConnection): RetryingConnection {
  if (connection instanceof RetryingConnection) return connection;
  throw new TypeError('a connection of another driver');
}

function retryingDriver(driver: Driver, options: RetryOptions): Driver {
  const isRead = createReadCheck();
  return {
    init: (options) => driver.init(options),
    destroy: (options) => driver.destroy(options),
    acquireConnection: () => Promise.resolve(new RetryingConnection(driver, options, isRead)),
    releaseConnection: (connection) => retrying(connection).release(),
    beginTransaction: (connection, settings: TransactionSettings) =>
      retrying(connection).begin((on) => driver.beginTransaction(on, settings)),
    commitTransaction: (connection) => retrying(connection).end((inner) => driver.commitTransaction(inner)),
    rollbackTransaction: (connection) =>
      retrying(connection).end((inner) => driver.rollbackTransaction(inner)),
  };
}

/** Places remembered at a time. daybook's statements have some thousands of them. */
const PLACES_MAX = 20_000;

/** Stands for a value where a template has a parameter. */
const VALUE = Symbol('value');

/** The texts of a template, a place for a value, or a literal. */
type Step = object | typeof VALUE | string | number | boolean | null;

/** A template and what follows it: what has been walked through of a statement so far. */
interface Place {
  readonly next: Map<Step, Place>;
  /** The complete text of the statement that ends here; null if it is not known yet. */
  sql: string | null;
}

const isRaw = (node: OperationNode): node is RawNode => node.kind === 'RawNode';
const isValue = (node: OperationNode): node is ValueNode => node.kind === 'ValueNode';
const isLiteral = (value: unknown): value is string | number | boolean | null =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value);
const newPlace = (): Place => ({ next: new Map(), sql: null });

/**
 * Compiles as `compiler` does, and asks it once for each statement that is made of `sql` templates, values and literals
 * alone: putting a text together costs more than all its values do. With the same text object each time, all maps by text
 * are quick as well.
 */
export function withKnownTexts(compiler: QueryCompiler): QueryCompiler {
  let start = newPlace();
  let places = 0;

  const after = (place: Place, step: Step): Place => {
    let next = place.next.get(step);
    if (next === undefined) {
      place.next.set(step, (next = newPlace()));
      places += 1;
    }
    return next;
  };

  /** Walks through a statement and collects its values. Null: it holds something else, so its text may differ. */
  const walk = (from: Place, node: OperationNode, values: unknown[]): Place | null => {
    if (isValue(node)) {
      if (node.immediate === true) return isLiteral(node.value) ? after(from, node.value) : null;
      values.push(node.value);
      return after(from, VALUE);
    }
    // What only wraps one part, as `sql.lit` does, adds no text.
    if (isRaw(node) && node.parameters.length === 1 && node.sqlFragments.every((text) => text === ''))
      return walk(from, node.parameters[0]!, values);
    // A template's texts are one object for good. What `sql.raw` and the like make has new ones each time.
    if (!isRaw(node) || !('raw' in node.sqlFragments)) return null;
    let place: Place | null = after(from, node.sqlFragments);
    for (const parameter of node.parameters) {
      place = walk(place, parameter, values);
      if (place === null) return null;
    }
    return place;
  };

  return {
    compileQuery: (node, queryId): CompiledQuery => {
      const parameters: unknown[] = [];
      const end = walk(start, node, parameters);
      if (end !== null && end.sql !== null) return { query: node, queryId, sql: end.sql, parameters };
      const compiled = compiler.compileQuery(node, queryId);
      if (end !== null) end.sql = compiled.sql;
      if (places > PLACES_MAX) {
        start = newPlace();
        places = 0;
      }
      return compiled;
    },
  };
}
