/**
 * A connection pool in which every wait has a limit: for a connection, for the answer to a statement, and for
 * closing.
 */
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import { codeOf, isCrowded, toBeMadeAgain } from './errors.ts';
import { retry, OWN_SESSION_SETTINGS, SESSION_SETTINGS, lastError, type DatabaseWaits } from './retry.ts';
import { createHash } from 'node:crypto';

import pg from 'pg';

/** The error for a wait that took too long. Its code makes it count as a lost connection. */
export const givenUp = (what: string, ms: number): Error =>
  Object.assign(new Error(`${what} within ${ms / 1_000} s`), { code: 'ETIMEDOUT' });

/**
 * Runs `answer` and cuts the connection if it takes too long; `answer` then fails. A connection that still owes an
 * answer must not be used for anything else.
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
    /** The connection is with the server itself. Behind PgBouncer, each transaction may be in another process of it. */
    isDirect = false;

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

/** A migration changed the columns that a named statement answers with. */
const PLAN_OUTDATED = '0A000';
/** The server does not know a name, or knows it already: there is a pooler in between after all. */
const NAMES_UNSURE = ['26000', '42P05'];

interface PoolOptions extends DatabaseWaits {
  /** Plans a statement that comes again once for its connection (`PLANS_ONCE`). */
  readonly plansOnce?: boolean;
}

/** Creates the pool. It connects on first use, and sets `SESSION_SETTINGS` on each connection. */
export function createPool(config: pg.PoolConfig, waits: PoolOptions): pg.Pool {
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

/** Pauses until a server that has no connection left is asked again: half a minute in all, as runs of other processes end. */
const CROWDED_DELAYS_MS = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000, 5_000];

/** Waits out a server that has no connection left. Meanwhile one of the pool's own may become free. */
const uncrowded = (connect: () => Promise<pg.PoolClient>): Promise<pg.PoolClient> =>
  retry(connect, { delaysMs: CROWDED_DELAYS_MS, isPassing: isCrowded, atEnd: lastError });

const ASK_PROCESS = 'SELECT pg_backend_pid() AS pid';

/**
 * For a process whose statements are about one merchant each: planning one anew costs several times what carrying it out does. Over
 * indexes, as a plan that was made while a table had no statistics would read the table completely.
 */
const PLANS_ONCE = 'SET plan_cache_mode TO force_generic_plan; SET enable_seqscan TO off';

// The pool waits for this promise, though its type says void.
const setSession = ({ connectMs, plansOnce = false }: PoolOptions) =>
  (async (client: InstanceType<ReturnType<typeof clientClass>> & { readonly processID: number | null }) => {
    const answer: unknown = await inTime(client, { ms: connectMs }, () =>
      client.query(`${SESSION_SETTINGS}; ${ASK_PROCESS}`),
    );
    // A pooler in between reports a process number of its own at login.
    const [row] = (answer as readonly pg.QueryResult<{ pid: number }>[]).at(-1)!.rows;
    client.isDirect = row?.pid === client.processID;
    // Elsewhere no statement is kept, and the settings would stay with another one's connection.
    if (!client.isDirect) return;
    const own = plansOnce ? `${OWN_SESSION_SETTINGS}; ${PLANS_ONCE}` : OWN_SESSION_SETTINGS;
    await inTime(client, { ms: connectMs }, () => client.query(own));
  }) as unknown as (client: pg.ClientBase) => void;

/**
 * The pool, for Kysely. Each statement has `statementMs` to be answered. Once an answer failed to come, every
 * connection made before that moment is closed instead of being used: otherwise each would wait just as long in vain.
 * After a connection that was not made in time, no other one is tried for `againMs`; callers get the same error at
 * once.
 */
export function boundedPool(pool: pg.Pool, { statementMs, connectMs, againMs }: DatabaseWaits): PostgresPool {
  const names = createStatementNames();
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
  return {
    connect: async () =>
      boundedClient(await connect(), {
        statementMs,
        names,
        onSpent: () => {
          spentMs = performance.now();
        },
      }),
    end: () => pool.end(),
    options: pool.options,
  };
}

interface ClientOptions {
  readonly statementMs: number;
  readonly names: StatementNames;
  /** Called when no connection made so far is to be used again. */
  readonly onSpent: () => void;
}

function boundedClient(
  client: pg.PoolClient,
  { statementMs, names, onSpent }: ClientOptions,
): PostgresPoolClient {
  const isDirect = 'isDirect' in client && client.isDirect === true;
  const send = async (text: string, values: readonly unknown[]): Promise<unknown> => {
    const name = values.length > 0 && isDirect ? names.of(text) : undefined;
    if (name === undefined) return client.query(text, values as unknown[]);
    try {
      return await client.query({ name, text, values: values as unknown[] });
    } catch (error) {
      const isUnsure = NAMES_UNSURE.includes(codeOf(error));
      if (isUnsure) names.stop();
      else if (codeOf(error) !== PLAN_OUTDATED) throw error;
      onSpent();
      const message = isUnsure ? 'the server mistook a statement' : 'the tables were changed meanwhile';
      throw toBeMadeAgain(message, error);
    }
  };
  function query<Row>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<Row>>;
  function query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>;
  function query<Row>(asked: string | PostgresCursor<Row>, values: readonly unknown[] = []): unknown {
    if (typeof asked !== 'string') throw new TypeError('rows are read in batches here, by no cursor');
    return inTime(client, { ms: statementMs, onSilence: onSpent }, async () => {
      const result = await send(asked, values);
      // Several statements sent as one have several results; the last one is the answer.
      return Array.isArray(result) ? (result.at(-1) as unknown) : result;
    });
  }
  return { query, release: (error) => client.release(error) };
}

/** A statement gets its name when its text comes so often. What a command asks once is not kept by the server. */
const NAMED_FROM = 3;
/** For each name, a connection's server process needs memory. */
const NAMES_MAX = 200;
/** Texts that vary with what they are about never come again; no more than these are counted. */
const TEXTS_MAX = 1_000;

/**
 * Names statements that come again and again. The server keeps a named one for its connection, and parses and plans it
 * once instead of each time; for the many short statements of a run that is half of its work.
 */
interface StatementNames {
  /** The name of a statement, by its text; undefined if it is sent without. */
  readonly of: (text: string) => string | undefined;
  /** Gives no names from now on. */
  readonly stop: () => void;
}

export function createStatementNames(): StatementNames {
  const counts = new Map<string, number>();
  const names = new Map<string, string>();
  let isStopped = false;
  const of = (text: string): string | undefined => {
    if (isStopped) return undefined;
    const name = names.get(text);
    if (name !== undefined || names.size >= NAMES_MAX) return name;
    const count = (counts.get(text) ?? 0) + 1;
    if (count < NAMED_FROM) {
      if (count > 1 || counts.size < TEXTS_MAX) counts.set(text, count);
      return undefined;
    }
    counts.delete(text);
    const given = `daybook_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
    names.set(text, given);
    return given;
  };
  return { of, stop: () => void (isStopped = true) };
}
