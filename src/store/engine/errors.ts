/** How the database can fail, as values a caller decides on. None ever carries a password. */
import { EXIT, ExpectedError } from '../../ledger/ending.ts';

/** The database cannot be opened at all. The message says where it was looked for and what to check. */
export class DatabaseUnreachable extends ExpectedError {
  override readonly name = 'DatabaseUnreachable';
  readonly exitCode = EXIT.incomplete;
}

/** The server is older than daybook's SQL. */
export class DatabaseUnsupported extends ExpectedError {
  override readonly name = 'DatabaseUnsupported';
  readonly exitCode = EXIT.usage;
}

/** Another process has the embedded database open: it takes one at a time. */
export class EmbeddedDatabaseBusy extends ExpectedError {
  override readonly name = 'EmbeddedDatabaseBusy';
  readonly exitCode = EXIT.leaseHeld;
}

/** The connection would carry passwords and ledger in the open. */
export class DatabaseUnprotected extends ExpectedError {
  override readonly name = 'DatabaseUnprotected';
  readonly exitCode = EXIT.usage;
}

/** The database's tables are not those of this version. */
export class MigrationsPending extends ExpectedError {
  override readonly name = 'MigrationsPending';
  readonly exitCode = EXIT.usage;
}

/**
 * The connection was lost in mid-work. Where `isFinal`, the work was tried again as often as it is going to be. What was
 * committed is kept.
 */
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

/** What the server said, with what to do about it; `code` is its SQLSTATE, as on the error it came from. */
abstract class ServerTrouble extends ExpectedError {
  readonly code: string | undefined;

  constructor(what: string, advice: string, cause: unknown) {
    super(`${what}: ${reasonOf(cause)}. ${advice}`, { cause });
    this.code = codeOf(cause) || undefined;
  }
}

/** User, password, permissions, encryption or the database's name are not what the server wants. */
export class DatabaseRefused extends ServerTrouble {
  override readonly name = 'DatabaseRefused';
  readonly exitCode = EXIT.usage;

  constructor(cause: unknown, place = 'the database') {
    const advice =
      'Check user, password, database and sslmode in DATABASE_URL, and what the user is permitted to do there.';
    super(`${place} refuses daybook`, advice, cause);
  }
}

/** The server takes no writes: a standby, or one being switched over. */
export class DatabaseReadOnly extends ServerTrouble {
  override readonly name = 'DatabaseReadOnly';
  readonly exitCode = EXIT.incomplete;

  constructor(cause: unknown) {
    const advice =
      'Point DATABASE_URL at the server that takes writes and check default_transaction_read_only; then run the same ' +
      'command again.';
    super('the database is read-only', advice, cause);
  }
}

/** Disk, memory or another resource of the server, or of the embedded database's folder, is used up. */
export class DatabaseFull extends ServerTrouble {
  override readonly name = 'DatabaseFull';
  readonly exitCode = EXIT.incomplete;

  constructor(cause: unknown, place = 'the database') {
    const advice = 'Make room, then run the same command again; what was committed is kept.';
    super(`${place} is full`, advice, cause);
  }
}

/** Something else holds a lock for longer than lock_timeout. */
export class DatabaseLocked extends ServerTrouble {
  override readonly name = 'DatabaseLocked';
  readonly exitCode = EXIT.incomplete;

  constructor(cause: unknown) {
    const advice =
      'Find who holds it in pg_locks and pg_stat_activity, let it end, and run the same command again.';
    super('a lock in the database was not to be had', advice, cause);
  }
}

/** statement_timeout, or a person, ended a statement. */
export class StatementCancelled extends ServerTrouble {
  override readonly name = 'StatementCancelled';
  readonly exitCode = EXIT.incomplete;

  constructor(cause: unknown) {
    const advice =
      'Raise statement_timeout for the user in DATABASE_URL where that is the cause, and run the same command again.';
    super('the database ended a statement', advice, cause);
  }
}

/** The server reports an error of its own: a file it cannot read, an operator at work. */
export class DatabaseFailing extends ServerTrouble {
  override readonly name = 'DatabaseFailing';
  readonly exitCode = EXIT.incomplete;

  constructor(cause: unknown) {
    super('the database has a fault', 'Look at its log; once it is well, run the same command again.', cause);
  }
}

/** The database's files are damaged, or are not where or what they have to be. */
export class DatabaseUnusable extends ServerTrouble {
  override readonly name = 'DatabaseUnusable';
  readonly exitCode = EXIT.usage;

  constructor(cause: unknown, place = 'the database', advice = 'Restore it from a backup.') {
    super(`${place} cannot be used`, advice, cause);
  }
}

/** Where an error says it itself, its SQLSTATE or the operating system's code; empty where it does not. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** The innermost reason, for the end of a sentence. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (error instanceof StoreUnreachable && error.cause !== undefined) return reasonOf(error.cause);
  return error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
}

/** PostgreSQL's classes 08 (connection) and 57P (shutdown), and what the operating system says of a cut socket. */
const CONNECTION_CODES =
  /^(08...|57P0[1-5]|25P0[34]|53300|ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENOENT)$/;
const CONNECTION_MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|timeout exc|timeout expired|Client was closed)/;

/** PostgreSQL's classes 22 (a value it cannot hold) and 23 (a row that breaks a rule of the tables). */
const ROW_CODES = /^2[23][0-9A-Z]{3}$/;
/** What PostgreSQL says of anything at all, by its five characters. */
const SERVER_CODES = /^[0-9A-Z]{5}$/;

/** Whether the database is in trouble as such, whoever asks: away, full, shut down. A refused row is not. */
export function isDatabaseTrouble(error: unknown): boolean {
  if (error instanceof StoreUnreachable || error instanceof DatabaseUnreachable) return true;
  if (isConnectionError(error)) return true;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return SERVER_CODES.test(code) && !ROW_CODES.test(code);
}

/** Whether the database could not be talked to, as opposed to having refused what it was told. */
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

/** Deadlock or serialization failure: the server rolled back and asks for another try. */
export const isContention = (error: unknown): boolean => /^40(P01|001)$/.test(codeOf(error));
