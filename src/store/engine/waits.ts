/**
 * How long daybook waits for a database server: every kind of wait, in one place. None is endless, as a host that
 * vanishes or a proxy that swallows what it is sent never says so. The embedded database is in this process and needs none.
 */

export interface DatabaseWaits {
  /** For a connection: TCP, TLS, login and the session's settings. */
  readonly connectMs: number;
  /** After a connection that was not made in time: until the next one is tried. Who asks before is told the same. */
  readonly againMs: number;
  /** For one of the pool's connections, while others have all of them. */
  readonly freeConnectionMs: number;
  /** For the answer to one statement, COMMIT included. Nothing in a run looks at more than a batch of rows at a time. */
  readonly statementMs: number;
  /** For the server to close a connection that is no longer needed. */
  readonly goodbyeMs: number;
  /** How long the server keeps a transaction in which nothing happens, and its locks, before it ends the connection. */
  readonly idleInTransactionMs: number;
}

export const DATABASE_WAITS: DatabaseWaits = {
  // PgBouncer keeps a login waiting while it tries a server again, every 15 s (server_login_retry).
  connectMs: 20_000,
  againMs: 5_000,
  freeConnectionMs: 300_000,
  statementMs: 60_000,
  goodbyeMs: 2_000,
  // Shorter than a lease lasts: a holder that stands still in mid-transaction is then out of the way when its lease is.
  idleInTransactionMs: 30_000,
};

/** For migrations: an index on a big table takes its time, and Kysely waits an hour for another process's migration. */
export const MIGRATION_WAITS: DatabaseWaits = { ...DATABASE_WAITS, statementMs: 2 * 3_600_000 };

/** A rehearsal calls the platform within its transaction; as long as its lease lasts. */
export const REHEARSAL_IDLE_MS = 15 * 60_000;

/** How long a taker waits for the row of a lease that somebody has locked. */
export const LEASE_LOCK_MS = 5_000;

/** Once this has passed, what a lost connection cut short is not tried again. */
export const RETRY_WITHIN_MS = 90_000;

/** When the server notices by itself that a client's host is gone: after this much silence, */
const SILENCE_S = 15;
/** asked this often at this interval, */
const PROBES = 3;
const PROBE_EVERY_S = 5;
/** or when what it sends is not acknowledged for as long. */
const UNACKNOWLEDGED_MS = (SILENCE_S + PROBES * PROBE_EVERY_S) * 1_000;
/** The same on our side. Node asks ten times, every second. */
export const CLIENT_SILENCE_MS = SILENCE_S * 1_000;

/**
 * What a new connection sets. Behind PgBouncer it may serve others as well, so nothing is among it that another program
 * would notice, but for the form of dates, which PgBouncer sets for each of its clients.
 */
export const SESSION_SETTINGS = [
  // Text forms of days and times are read as they come, so they must come as ISO whatever the role is set to.
  'SET datestyle TO ISO',
  `SET tcp_keepalives_idle TO ${SILENCE_S}`,
  `SET tcp_keepalives_interval TO ${PROBE_EVERY_S}`,
  `SET tcp_keepalives_count TO ${PROBES}`,
  `SET tcp_user_timeout TO ${UNACKNOWLEDGED_MS}`,
].join('; ');

/** Goes with the statement that begins a transaction, and ends with it: so it holds behind PgBouncer as well. */
export const idleLimitSql = (idleInTransactionMs: number): string =>
  `SET LOCAL idle_in_transaction_session_timeout TO ${idleInTransactionMs}`;
