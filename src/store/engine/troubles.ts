/**
 * Says which errors of PostgreSQL come from its surroundings, and converts them to errors with advice. All others are
 * faults of daybook.
 */
import {
  codeOf,
  DatabaseFailing,
  DatabaseFull,
  DatabaseLocked,
  DatabaseReadOnly,
  DatabaseRefused,
  DatabaseUnusable,
  isConnectionError,
  reasonOf,
  StatementCancelled,
  StoreUnreachable,
} from './errors.ts';

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

/** Converts a known error of the server to one with an exit code. Returns any other error unchanged. */
export function troubleOf(error: unknown): unknown {
  if (isConnectionError(error)) {
    if (error instanceof StoreUnreachable) return error;
    return new StoreUnreachable(
      `the connection to the database was lost: ${reasonOf(error)}. What was committed is kept; once the server is ` +
        'up, the same command takes up from there.',
      { cause: error },
    );
  }
  const code = codeOf(error);
  const Trouble = TROUBLES.find(([codes]) => codes.test(code))?.[1];
  if (Trouble !== undefined) return new Trouble(error);
  const isRefused =
    error instanceof Error && (REFUSED_CODES.test(code) || REFUSED_MESSAGES.test(error.message));
  return isRefused ? new DatabaseRefused(error) : error;
}
