/**
 * How long daybook waits for a database server, and the one place where work is tried again after the connection was cut.
 * Every wait has a limit, as a dead host, or a proxy that drops data, never reports it. The embedded database runs in this
 * process and needs no limits.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectionError, isContention, reasonOf, StoreUnreachable } from './errors.ts';

/** Pauses between attempts: together about as long as a server takes to restart. */
export const RETRY_DELAYS_MS: readonly number[] = [100, 400, 1_600, 6_400];

export interface RetryOptions {
  /** The pauses between attempts, so there is one attempt more than pauses. Default: `RETRY_DELAYS_MS`. */
  readonly delaysMs?: readonly number[] | undefined;
  /** No further attempt after this time, as each may itself take long. Default: `RETRY_WITHIN_MS`. */
  readonly withinMs?: number;
  /** Whether another attempt may succeed after this error. Default: `isConnectionError`. */
  readonly isPassing?: (error: unknown) => boolean;
  /** Called after each failed attempt, before the pause. */
  readonly afterFailure?: () => void;
  /** Makes the error that is thrown after the last attempt. Default: a final `StoreUnreachable`. */
  readonly atEnd?: (cause: unknown, attempts: number) => unknown;
  /** Ms since any moment, never going back. */
  readonly clock?: () => number;
}

/** Also true for conflicts between transactions, which the server rolls back and asks to try again. */
export const isLostOrRolledBack = (error: unknown): boolean =>
  isConnectionError(error) || isContention(error);

/** An `atEnd` that throws the last error unchanged, for callers with a message of their own. */
export const lastError = (cause: unknown): unknown => cause;

/**
 * Runs `attempt` until it succeeds; it must be safe to run twice. Any other error than those of `isPassing` is thrown
 * at once. When the pauses or the time are used up, throws what `atEnd` makes of the last error.
 */
export async function retry<Result>(
  attempt: () => Promise<Result>,
  {
    delaysMs = RETRY_DELAYS_MS,
    withinMs = RETRY_WITHIN_MS,
    isPassing = isConnectionError,
    afterFailure,
    atEnd = lostForGood,
    clock = () => performance.now(),
  }: RetryOptions = {},
): Promise<Result> {
  const sinceMs = clock();
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isPassing(error)) throw error;
      afterFailure?.();
      const delayMs = delaysMs[attempts - 1];
      if (delayMs === undefined || clock() - sinceMs >= withinMs) throw atEnd(error, attempts);
      if (delayMs > 0) await sleep(delayMs);
    }
  }
}

const lostForGood = (cause: unknown, attempts: number): StoreUnreachable =>
  new StoreUnreachable(
    `the database was lost in mid-work and ${attempts === 1 ? 'the attempt' : `${attempts} attempts`} failed: ` +
      `${reasonOf(cause)}. What was committed is kept; once the server is up and reached, the same command takes up ` +
      'from there.',
    { cause, isFinal: true },
  );

export interface DatabaseWaits {
  /** To make a connection: TCP, TLS, login and the session's settings. */
  readonly connectMs: number;
  /** After a connection took too long: how long no other one is tried. Callers get the same error meanwhile. */
  readonly againMs: number;
  /** For a connection of the pool, while all are in use. */
  readonly freeConnectionMs: number;
  /**
   * For the answer to one statement, COMMIT included. A run never handles more than a batch of rows in one statement.
   */
  readonly statementMs: number;
  /** For the server to close a connection that is no longer needed. */
  readonly goodbyeMs: number;
  /** How long the server lets a transaction do nothing, before it ends the connection and so frees its locks. */
  readonly idleInTransactionMs: number;
  /** Pauses before a read whose connection was cut is made again. Empty: it is never made again. */
  readonly retryDelaysMs: readonly number[];
}

export const DATABASE_WAITS: DatabaseWaits = {
  // PgBouncer makes a login wait while it tries to reach its server again, every 15 s (server_login_retry).
  connectMs: 20_000,
  againMs: 5_000,
  freeConnectionMs: 300_000,
  statementMs: 60_000,
  goodbyeMs: 2_000,
  // Shorter than a lease lasts: if a holder hangs inside a transaction, its locks are released when its lease runs out.
  idleInTransactionMs: 30_000,
  retryDelaysMs: RETRY_DELAYS_MS,
};

/**
 * For migrations: an index on a big table takes time, and Kysely waits up to an hour for the migration of another
 * process. Also for `prune`, which reads complete tables.
 */
export const MIGRATION_WAITS: DatabaseWaits = { ...DATABASE_WAITS, statementMs: 2 * 3_600_000 };

/** A rehearsal calls the platform inside its transaction. As long as its lease lasts. */
export const REHEARSAL_IDLE_MS = 15 * 60_000;

/** How long to wait for the row of a lease while somebody has it locked. */
export const LEASE_LOCK_MS = 5_000;

/** Work that a lost connection interrupted is not tried again after this time. */
export const RETRY_WITHIN_MS = 90_000;

/** How the server notices that a client's host is dead. After this long without traffic it begins to ask. */
const SILENCE_S = 15;
/** It asks this often, at this interval, and then gives up. */
const PROBES = 3;
const PROBE_EVERY_S = 5;
/** It also gives up if sent data is not acknowledged for as long as all of that takes. */
const UNACKNOWLEDGED_MS = (SILENCE_S + PROBES * PROBE_EVERY_S) * 1_000;
/** The same for our side. Node then asks ten times, every second. */
export const CLIENT_SILENCE_MS = SILENCE_S * 1_000;

/**
 * Settings of a new connection. Behind PgBouncer other programs may share it, so none of these settings would disturb
 * them. Only the first three would, and PgBouncer sets those for each of its clients.
 */
export const SESSION_SETTINGS = [
  // daybook reads the text of days and times, so it has to be ISO, whatever the role's or the database's own setting is.
  'SET datestyle TO ISO',
  'SET timezone TO UTC',
  // With off, a backslash in a text of SQL would begin an escape.
  'SET standard_conforming_strings TO on',
  `SET tcp_keepalives_idle TO ${SILENCE_S}`,
  `SET tcp_keepalives_interval TO ${PROBE_EVERY_S}`,
  `SET tcp_keepalives_count TO ${PROBES}`,
  `SET tcp_user_timeout TO ${UNACKNOWLEDGED_MS}`,
].join('; ');

/**
 * Settings of a connection that no other program shares, whatever the role's or the database's own are: with array_nulls off, NULL in an
 * array is a text, and a transaction that keeps the snapshot of before it waited for a lock overlooks what the holder wrote. The last two
 * are unknown to older servers: one would end a migration halfway, the other would hide views.
 */
export const OWN_SESSION_SETTINGS = [
  'SET array_nulls TO on',
  "SET default_transaction_isolation TO 'read committed'",
  // The view pg_settings would put all settings into a temporary file where work_mem is small.
  `SELECT set_config(name, value, false) FROM (VALUES ('transaction_timeout', '0'), ('restrict_nonsystem_relation_kind', '')) AS own (name, value)
    WHERE current_setting(name, true) IS NOT NULL`,
].join('; ');

/**
 * Sent with the statement that begins a transaction. It ends with the transaction, so it also works behind PgBouncer.
 */
export const idleLimitSql = (idleInTransactionMs: number): string =>
  `SET LOCAL idle_in_transaction_session_timeout TO ${idleInTransactionMs}`;
