/**
 * Says whether the traffic with PostgreSQL could be read or changed on its way, by the URL as the driver understands
 * it.
 */
import pg from 'pg';
import { isLoopback } from '../../host/addresses.ts';
import { DatabaseUnprotected } from './errors.ts';

/**
 * `local`: the traffic stays on this machine. `verified`: TLS with a checked certificate. `unverified`: TLS with an
 * unchecked certificate. `plain`: not encrypted.
 */
export type Protection = 'local' | 'verified' | 'unverified' | 'plain';

/** Throws the driver's own error if the driver cannot read the URL. */
export function protectionOf(databaseUrl: string): Protection {
  // This client never connects. It is made because only the driver knows what follows from the URL, PGHOST, PGSSLMODE
  // and the like.
  const client: { readonly host: string; readonly ssl: unknown } = new pg.Client({
    connectionString: databaseUrl,
  });
  const { host, ssl } = client;
  if (host.startsWith('/') || isLoopback(host)) return 'local';
  if (ssl === false || ssl === undefined || ssl === null) return 'plain';
  const checked =
    typeof ssl !== 'object' || !('rejectUnauthorized' in ssl) || ssl.rejectUnauthorized !== false;
  return checked ? 'verified' : 'unverified';
}

/**
 * Throws `DatabaseUnprotected` for an unencrypted connection that the settings do not allow. `place` names the server
 * without the password.
 */
export function assertProtected(
  databaseUrl: string,
  place: string,
  { allowInsecure = [] }: { readonly allowInsecure?: readonly string[] },
): void {
  if (allowInsecure.includes('database') || protectionOf(databaseUrl) !== 'plain') return;
  throw new DatabaseUnprotected(
    `${place} would be spoken to without TLS, password and ledger in the open: add ?sslmode=verify-full to DATABASE_URL ` +
      '(and sslrootcert=FILE for an authority of your own), or answer for it with DAYBOOK_ALLOW_INSECURE=database.',
  );
}
