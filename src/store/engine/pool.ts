/**
 * Connections to a server: every wait has a limit, a read whose connection was cut is made again, and an error is a sentence
 * for a person.
 */
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import { isCrowded, troubleOf } from './errors.ts';
import {
  idleLimitSql,
  isLostOrRolledBack,
  lastError,
  OWN_SESSION_SETTINGS,
  retry,
  SESSION_SETTINGS,
  type DatabaseWaits,
} from './retry.ts';

import pg from 'pg';

/** The error for a wait that took too long. Its code makes it count as a lost connection. */
const givenUp = (what: string, ms: number, advice = ''): Error =>
  Object.assign(new Error(`${what} within ${ms / 1_000} s${advice}`), { code: 'ETIMEDOUT' });

/**
 * Runs `ask` and cuts the connection if it takes too long; `ask` then fails. A connection that still owes an answer must not be
 * used for anything else.
 */
async function inTime<Answer>(
  client: pg.Client,
  { ms, onSilence }: { readonly ms: number; readonly onSilence?: () => void },
  ask: () => Promise<Answer>,
): Promise<Answer> {
  let isAnswered = false;
  const timer = setTimeout(() => {
    // If the process was suspended, this timer may fire before an answer that has already arrived is read. So read
    // first.
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

/** A client that limits how long it waits to connect, and for the server to close the connection. */
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

/** Creates the pool. It connects on first use, and sets `SESSION_SETTINGS` on each connection. */
export function createPool(config: pg.PoolConfig, waits: DatabaseWaits): pg.Pool {
  const pool = new pg.Pool({
    ...config,
    Client: clientClass(waits),
    // The pool uses this limit both for connecting and for waiting for a free connection. The client's own limit ends
    // connecting sooner.
    connectionTimeoutMillis: waits.freeConnectionMs,
    onConnect: setSession(waits),
  });
  // A lost connection, idle or in use, raises these events. Without a listener they would end the process. The pool
  // drops the connection, and the work on it fails by itself.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => void client.on('error', () => undefined));
  return pool;
}

// The pool waits for this promise, though its type says void.
const setSession = ({ connectMs: ms }: DatabaseWaits) =>
  (async (client: pg.Client & { readonly processID: number | null }) => {
    const answer: unknown = await inTime(client, { ms }, () =>
      client.query(`${SESSION_SETTINGS}; SELECT pg_backend_pid() AS pid`),
    );
    const [row] = (answer as readonly pg.QueryResult<{ pid: number }>[]).at(-1)!.rows;
    // A pooler in between reports a process number of its own at login. Behind it, the settings would stay with another
    // program's connection.
    if (row?.pid === client.processID) await inTime(client, { ms }, () => client.query(OWN_SESSION_SETTINGS));
  }) as unknown as (client: pg.ClientBase) => void;

/** Pauses until a server that has no connection left is asked again: half a minute in all, as runs of other processes end. */
const CROWDED_DELAYS_MS = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000, 5_000];

/** Waits out a server that has no connection left. Meanwhile one of the pool's own may become free. */
const uncrowded = (connect: () => Promise<pg.PoolClient>): Promise<pg.PoolClient> =>
  retry(connect, { delaysMs: CROWDED_DELAYS_MS, isPassing: isCrowded, atEnd: lastError });

/** What the pool says when all of its connections stayed in use. */
const NONE_FREE = /^timeout exceeded/;

/**
 * The pool, for Kysely. Once an answer failed to come, every connection made before that moment is closed instead of being
 * used: otherwise each would wait just as long in vain. After a connection that was not made in time, no other one is tried
 * for `againMs`; callers get the same error at once.
 */
export function boundedPool(pool: pg.Pool, waits: DatabaseWaits): PostgresPool {
  const { connectMs, againMs, freeConnectionMs } = waits;
  const madeMs = new WeakMap<pg.PoolClient, number>();
  pool.on('connect', (client) => void madeMs.set(client, performance.now()));
  /** Connections made before this moment are not used any more. */
  let spentMs = -Infinity;
  /** The last attempt to connect that took too long. */
  let failed: { readonly atMs: number; readonly error: unknown } | null = null;
  const made = async (): Promise<pg.PoolClient> => {
    const beganMs = performance.now();
    if (failed !== null && beganMs - failed.atMs < againMs) throw failed.error;
    try {
      return await uncrowded(() => pool.connect());
    } catch (error) {
      if (isCrowded(error)) throw error;
      if (error instanceof Error && NONE_FREE.test(error.message))
        throw givenUp(
          'no connection of this process became free',
          freeConnectionMs,
          ': raise DATABASE_POOL_SIZE, or let it do less at once',
        );
      const atMs = performance.now();
      if (atMs - beganMs >= connectMs) failed = { atMs, error };
      throw error;
    }
  };
  const connect = async (): Promise<pg.PoolClient> => {
    for (;;) {
      const client = await made();
      if ((madeMs.get(client) ?? Infinity) > spentMs) return client;
      client.release(true);
    }
  };
  const onSilence = (): void => {
    spentMs = performance.now();
  };
  return {
    connect: () => Promise.resolve(boundedClient(connect, waits, onSilence)),
    end: () => pool.end(),
    options: pool.options,
  };
}

/** Only a statement that changes nothing may be sent twice. */
const isRead = (sql: string): boolean =>
  /^\s*(select|with)\b/i.test(sql) && !/\b(insert|update|delete|merge|nextval|pg_\w*xact\w*)\b/i.test(sql);

/** What Kysely begins a transaction with. */
const BEGINS = /^(begin|start transaction[^;]*)$/;

/**
 * Takes a connection when the first statement comes. A statement may depend on earlier ones (BEGIN, SET), so only a read that
 * comes first is made again, each time on another connection.
 */
function boundedClient(
  connect: () => Promise<pg.PoolClient>,
  { statementMs, idleInTransactionMs, retryDelaysMs }: DatabaseWaits,
  onSilence: () => void,
): PostgresPoolClient {
  let inner: pg.PoolClient | null = null;
  let isUsed = false;
  const release = (error?: boolean | Error): void => {
    inner?.release(error);
    inner = null;
  };
  const send = async (text: string, values: readonly unknown[]): Promise<unknown> => {
    try {
      const client = (inner ??= await connect());
      const result: unknown = await inTime(client, { ms: statementMs, onSilence }, () =>
        client.query(text, values as unknown[]),
      );
      // Several statements sent as one have several results; the last one is the answer.
      return Array.isArray(result) ? (result.at(-1) as unknown) : result;
    } catch (error) {
      throw troubleOf(error);
    }
  };
  function query<Row>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<Row>>;
  function query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>;
  function query<Row>(asked: string | PostgresCursor<Row>, values: readonly unknown[] = []): unknown {
    if (typeof asked !== 'string') throw new TypeError('rows are read in batches here, by no cursor');
    const mayMove = !isUsed && retryDelaysMs.length > 0 && isRead(asked);
    isUsed = true;
    if (!mayMove)
      return send(BEGINS.test(asked) ? `${asked}; ${idleLimitSql(idleInTransactionMs)}` : asked, values);
    return retry(() => send(asked, values), {
      delaysMs: retryDelaysMs,
      isPassing: isLostOrRolledBack,
      afterFailure: release,
    });
  }
  return { query, release };
}
