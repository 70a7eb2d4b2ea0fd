/** How the database can fail, as values a caller decides on. None ever carries a password. */

/** The database cannot be opened at all. The message says where it was looked for and what to check. */
export class DatabaseUnreachable extends Error {
  override readonly name = 'DatabaseUnreachable';
}

/** The server is older than daybook's SQL. */
export class DatabaseUnsupported extends Error {
  override readonly name = 'DatabaseUnsupported';
}

/** Another process has the embedded database open: it takes one at a time. */
export class EmbeddedDatabaseBusy extends Error {
  override readonly name = 'EmbeddedDatabaseBusy';
}

/** The database's tables are not those of this version. */
export class MigrationsPending extends Error {
  override readonly name = 'MigrationsPending';
}

/** The connection was lost in mid-work and did not come back within the retries. What was committed is kept. */
export class StoreUnreachable extends Error {
  override readonly name = 'StoreUnreachable';
}

/** PostgreSQL's classes 08 (connection) and 57P (shutdown), and what the operating system says of a cut socket. */
const CONNECTION_CODES =
  /^(08...|57P0[1-5]|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT)$/;
const CONNECTION_MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|timeout exc|timeout expired)/;

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
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return (
    CONNECTION_CODES.test(code) || CONNECTION_MESSAGES.test(error.message) || isConnectionError(error.cause)
  );
}
