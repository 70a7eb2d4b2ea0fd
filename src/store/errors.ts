/** How the database can fail, as values a caller decides on. None ever carries a password. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';

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

/** The database's tables are not those of this version. */
export class MigrationsPending extends ExpectedError {
  override readonly name = 'MigrationsPending';
  readonly exitCode = EXIT.usage;
}

/** The connection was lost in mid-work and did not come back within the retries. What was committed is kept. */
export class StoreUnreachable extends ExpectedError {
  override readonly name = 'StoreUnreachable';
  readonly exitCode = EXIT.incomplete;
}

/** PostgreSQL's classes 08 (connection) and 57P (shutdown), and what the operating system says of a cut socket. */
const CONNECTION_CODES =
  /^(08...|57P0[1-5]|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT)$/;
const CONNECTION_MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|timeout exc|timeout expired)/;

/** Whether the database could not be talked to, as opposed to having refused what it was told. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isConnectionError);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return (
    CONNECTION_CODES.test(code) || CONNECTION_MESSAGES.test(error.message) || isConnectionError(error.cause)
  );
}
