/** The errors of the database, as classes that callers can distinguish. None contains a password. */
import { EXIT, ExpectedError } from '../../ledger/ending.ts';

const expected = (name: string, exitCode: ExpectedError['exitCode']) =>
  class extends ExpectedError {
    override readonly name = name;
    readonly exitCode = exitCode;
  };

/** The database cannot be opened at all. The message says where it was expected and what to check. */
export class DatabaseUnreachable extends expected('DatabaseUnreachable', EXIT.incomplete) {}
/** No server is named, and there is no database without one. */
export class DatabaseNotSet extends expected('DatabaseNotSet', EXIT.usage) {}
/** The server is too old for daybook's SQL. */
export class DatabaseUnsupported extends expected('DatabaseUnsupported', EXIT.usage) {}
/** Another process has the embedded database open; it takes one process at a time. */
export class EmbeddedDatabaseBusy extends expected('EmbeddedDatabaseBusy', EXIT.leaseHeld) {}
/** The connection would send passwords and the ledger unencrypted. */
export class DatabaseUnprotected extends expected('DatabaseUnprotected', EXIT.usage) {}
/** The tables are not those of this version of daybook. */
export class MigrationsPending extends expected('MigrationsPending', EXIT.usage) {}
/** A later version of daybook has changed the tables. */
export class DatabaseNewer extends expected('DatabaseNewer', EXIT.usage) {}

/** The connection was lost during the work. What was committed is kept. `isFinal`: the work is not tried again. */
export class StoreUnreachable extends ExpectedError {
  override readonly name = 'StoreUnreachable';
  readonly exitCode = EXIT.incomplete;
  readonly isFinal: boolean;

  constructor(
    message: string,
    { cause, isFinal = false }: { readonly cause?: unknown; readonly isFinal?: boolean } = {},
  ) {
    super(message, { cause });
    this.isFinal = isFinal;
  }
}

/** Something that the server reported, with what to do about it. `code` is the SQLSTATE of the cause. */
abstract class ServerTrouble extends ExpectedError {
  readonly code: string | undefined;

  constructor(what: string, advice: string, cause: unknown) {
    super(`${what}: ${reasonOf(cause)}. ${advice}`, { cause });
    this.code = codeOf(cause) || undefined;
  }
}

const serverTrouble = (name: string, exitCode: ExpectedError['exitCode'], what: string, ownAdvice: string) =>
  class extends ServerTrouble {
    override readonly name = name;
    readonly exitCode = exitCode;

    /** `place` names the database, where a message is to say which one. */
    constructor(cause: unknown, place = 'the database', advice = ownAdvice) {
      super(what.replace('the database', place), advice, cause);
    }
  };

/** The server refused the user, the password, a permission, the encryption, or the name of the database. */
export class DatabaseRefused extends serverTrouble(
  'DatabaseRefused',
  EXIT.usage,
  'the database refuses daybook',
  'Check user, password, database and sslmode in DATABASE_URL, and what the user is permitted to do there.',
) {}

/** A resource is used up, such as disk or memory, on the server or for the embedded database's folder. */
export class DatabaseFull extends serverTrouble(
  'DatabaseFull',
  EXIT.incomplete,
  'the database is full',
  'Free some space, then run the same command again; what was committed is kept.',
) {}

/** The database's files are damaged, or are not where or what they should be. */
export class DatabaseUnusable extends serverTrouble(
  'DatabaseUnusable',
  EXIT.usage,
  'the database cannot be used',
  'Restore it from a backup.',
) {}

/** Somebody else held a lock for longer than lock_timeout. */
export class DatabaseLocked extends serverTrouble(
  'DatabaseLocked',
  EXIT.incomplete,
  'a lock in the database was not released in time',
  'Find who holds it in pg_locks and pg_stat_activity, let it end, and run the same command again.',
) {}

/** The server takes no writes: it is a standby, or is being switched over. */
const DatabaseReadOnly = serverTrouble(
  'DatabaseReadOnly',
  EXIT.incomplete,
  'the database is read-only',
  'Point DATABASE_URL at the server that takes writes and check default_transaction_read_only; then run the same ' +
    'command again.',
);

/** A statement was ended by statement_timeout or by a person. */
const StatementCancelled = serverTrouble(
  'StatementCancelled',
  EXIT.incomplete,
  'the database ended a statement',
  'Raise statement_timeout for the user in DATABASE_URL where that is the cause, and run the same command again.',
);

/** The server reports a problem of its own: a file that it cannot read, or a person who stops sessions. */
const DatabaseFailing = serverTrouble(
  'DatabaseFailing',
  EXIT.incomplete,
  'the database has an internal error',
  'Check its log; once it works, run the same command again.',
);

/** The error's own SQLSTATE, or the operating system's code; empty where it has neither. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** The message of the innermost cause, for the end of a sentence. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (error instanceof StoreUnreachable && error.cause !== undefined) return reasonOf(error.cause);
  return error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
}

/**
 * PostgreSQL's classes 08 (connection) and 57P (shutdown), and the operating system's codes for a broken connection.
 */
const CONNECTION_CODES =
  /^(08...|57P0[1-5]|25P0[34]|53300|ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENOENT)$/;
const CONNECTION_MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|timeout exc|timeout expired|Client was closed)/;

/** PostgreSQL's classes 22 (a value it cannot hold) and 23 (a row that breaks a rule of the tables). */
const ROW_CODES = /^2[23][0-9A-Z]{3}$/;
/** Every SQLSTATE has five such characters. */
const SERVER_CODES = /^[0-9A-Z]{5}$/;

/**
 * Whether the database itself is in trouble, so that every caller would fail: not reachable, full, shut down. A row
 * that was refused is not such a trouble.
 */
export function isDatabaseTrouble(error: unknown): boolean {
  if (error instanceof StoreUnreachable || error instanceof DatabaseUnreachable) return true;
  if (isConnectionError(error)) return true;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return SERVER_CODES.test(code) && !ROW_CODES.test(code);
}

/** Whether the database could not be reached, as opposed to an error it answered with. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isConnectionError);
  if (error instanceof StoreUnreachable && error.isFinal) return false;
  return (
    CONNECTION_CODES.test(codeOf(error)) ||
    CONNECTION_MESSAGES.test(error.message) ||
    isConnectionError(error.cause)
  );
}

/** Whether the server, or a PgBouncer before it, has no connection left for us. */
export const isCrowded = (error: unknown): boolean =>
  codeOf(error) === '53300' ||
  (codeOf(error) === '08P01' && error instanceof Error && error.message.startsWith('no more connections'));

/** What to do about it. */
export const CROWDED =
  'Lower DATABASE_POOL_SIZE, run fewer processes, or raise max_connections of the server (max_client_conn of PgBouncer).';

/** Whether it is a deadlock or a serialization failure: the server rolled back, and the work can be tried again. */
export const isContention = (error: unknown): boolean => /^40(P01|001)$/.test(codeOf(error));

/** By SQLSTATE (PostgreSQL's appendix A); the first match counts. Lost connections are handled elsewhere. */
const TROUBLES: readonly (readonly [RegExp, new (cause: unknown) => Error])[] = [
  [/^(28...|3D000|42501|0P000)$/, DatabaseRefused],
  [/^25006$/, DatabaseReadOnly],
  [/^53...$/, DatabaseFull],
  [/^55P03$/, DatabaseLocked],
  [/^57014$/, StatementCancelled],
  [/^(57...|58...|F0...)$/, DatabaseFailing],
  [/^XX00[12]$/, DatabaseUnusable],
];

/**
 * Codes and messages without a SQLSTATE that mean a refused connection: a missing password, or a certificate problem.
 */
const REFUSED_CODES = /^(CERT_|ERR_TLS|ERR_SSL|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_MISMATCH)/;
const REFUSED_MESSAGES = /^(SASL|The server does not support SSL)/;

/** The SQLSTATE that daybook's own triggers give to a program that is too old for the database. */
const PROGRAM_TOO_OLD = 'DB001';

/** Converts a known error of the server to one with an exit code. Returns any other error unchanged. */
export function troubleOf(error: unknown): unknown {
  if (isConnectionError(error)) {
    if (error instanceof StoreUnreachable) return error;
    if (isCrowded(error))
      return new StoreUnreachable(
        `the database has no free connection: ${reasonOf(error)}. What was committed is kept. ${CROWDED}`,
        { cause: error },
      );
    return new StoreUnreachable(
      `the connection to the database was lost: ${reasonOf(error)}. What was committed is kept; once the server is ` +
        'up, the same command takes up from there.',
      { cause: error },
    );
  }
  const code = codeOf(error);
  if (code === PROGRAM_TOO_OLD)
    return new DatabaseNewer(
      `${reasonOf(error)}. Run the version of daybook that changed it, or a later one.`,
      { cause: error },
    );
  const Trouble = TROUBLES.find(([codes]) => codes.test(code))?.[1];
  if (Trouble !== undefined) return new Trouble(error);
  const isRefused =
    error instanceof Error && (REFUSED_CODES.test(code) || REFUSED_MESSAGES.test(error.message));
  return isRefused ? new DatabaseRefused(error) : error;
}

const UNIQUE_VIOLATION = '23505';

export const isUniqueViolation = (error: unknown): boolean => codeOf(error) === UNIQUE_VIOLATION;
