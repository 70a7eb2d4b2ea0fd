/** A pool whose every wait ends: for a connection, for the answer to a statement, for the server's goodbye. */
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import pg from 'pg';
import { SESSION_SETTINGS, type DatabaseWaits } from './waits.ts';

/** What the pool says of a wait that was given up: a lost connection like any other, by its code. */
const givenUp = (what: string, ms: number): Error =>
  Object.assign(new Error(`${what} within ${ms / 1_000} s`), { code: 'ETIMEDOUT' });

/**
 * Cuts the connection where `answer` does not come in time, which ends `answer` with an error. Nothing else may be asked
 * on a connection whose last answer may still come.
 */
async function inTime<Answer>(
  client: pg.Client,
  { ms, onSilence }: { readonly ms: number; readonly onSilence?: () => void },
  ask: () => Promise<Answer>,
): Promise<Answer> {
  let isAnswered = false;
  const timer = setTimeout(() => {
    // A process that stood still finds its timers run out before it has read what came meanwhile.
    setImmediate(() => {
      if (isAnswered) return;
      onSilence?.();
      client.connection.stream.destroy(givenUp('the server did not answer a statement', ms));
    });
  }, ms);
  try {
    return await ask();
  } finally {
    isAnswered = true;
    clearTimeout(timer);
  }
}

/** A client that gives up connecting, and does not wait for long until the server closes the connection. */
const clientClass = ({ connectMs, goodbyeMs }: DatabaseWaits) =>
  class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionTimeoutMillis: connectMs });
    }

    override end(): Promise<void>;
    override end(callback: (error: Error) => void): void;
    override end(callback?: (error: Error) => void): Promise<void> | undefined {
      const timer = setTimeout(() => this.connection.stream.destroy(), goodbyeMs);
      this.connection.once('end', () => clearTimeout(timer));
      if (callback === undefined) return super.end();
      super.end(callback);
      return undefined;
    }
  };

/** Creates the pool; connects when first asked. Every connection has the settings of a session. */
export function createPool(config: pg.PoolConfig, waits: DatabaseWaits): pg.Pool {
  const pool = new pg.Pool({
    ...config,
    Client: clientClass(waits),
    // The pool's own limit counts for both: connecting, which the client ends sooner, and the queue for a free one.
    connectionTimeoutMillis: waits.freeConnectionMs,
    onConnect: setSession(waits),
  });
  // A connection that is cut says so here, idle or in the middle of work; without listeners it would end the process.
  // The pool drops the connection, and the work on it fails by itself.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => void client.on('error', () => undefined));
  return pool;
}

// Awaited by the pool, though its type does not say so.
const setSession = ({ connectMs }: DatabaseWaits) =>
  ((client: pg.Client) =>
    inTime(client, { ms: connectMs }, () => client.query(SESSION_SETTINGS))) as unknown as (
    client: pg.ClientBase,
  ) => void;

/**
 * The pool as Kysely uses it, with each statement's answer awaited for `statementMs`. Once one did not come, the
 * connections of before are not waited for as well, one after the other: each is given up as its turn comes. Nor is a
 * server that did not take a connection in time asked again at once by whoever comes next.
 */
export function boundedPool(pool: pg.Pool, { statementMs, connectMs, againMs }: DatabaseWaits): PostgresPool {
  const madeMs = new WeakMap<pg.PoolClient, number>();
  pool.on('connect', (client) => void madeMs.set(client, performance.now()));
  let silentMs = -Infinity;
  /** The last connection that was waited for in vain. */
  let failed: { readonly atMs: number; readonly error: unknown } | null = null;
  const made = async (): Promise<pg.PoolClient> => {
    const beganMs = performance.now();
    if (failed !== null && beganMs - failed.atMs < againMs) throw failed.error;
    try {
      return await pool.connect();
    } catch (error) {
      const atMs = performance.now();
      if (atMs - beganMs >= connectMs) failed = { atMs, error };
      throw error;
    }
  };
  const connect = async (): Promise<pg.PoolClient> => {
    for (;;) {
      const client = await made();
      if ((madeMs.get(client) ?? Infinity) > silentMs) return client;
      client.release(true);
    }
  };
  return {
    connect: async () =>
      boundedClient(await connect(), statementMs, () => {
        silentMs = performance.now();
      }),
    end: () => pool.end(),
    options: pool.options,
  };
}

function boundedClient(
  client: pg.PoolClient,
  statementMs: number,
  onSilence: () => void,
): PostgresPoolClient {
  function query<Row>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<Row>>;
  function query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>;
  function query<Row>(asked: string | PostgresCursor<Row>, values: readonly unknown[] = []): unknown {
    if (typeof asked !== 'string') throw new TypeError('rows are read in batches here, by no cursor');
    return inTime(client, { ms: statementMs, onSilence }, async () => {
      const result: unknown = await client.query(asked, values as unknown[]);
      // Of several statements sent as one, the last is what was asked.
      return Array.isArray(result) ? (result.at(-1) as unknown) : result;
    });
  }
  return { query, release: (error) => client.release(error) };
}
