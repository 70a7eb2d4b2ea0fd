/** Whether what goes to PostgreSQL and back can be read or changed on the way, told from the URL as the driver reads it. */
import pg from 'pg';
import { isLoopback } from '../../host/loopback.ts';
import { DatabaseUnprotected } from './errors.ts';

/**
 * `local`: it does not leave this machine. `verified`: TLS, and the certificate is checked. `unverified`: TLS with
 * whoever answers. `plain`: in the open.
 */
export type Protection = 'local' | 'verified' | 'unverified' | 'plain';

/** Throws what the driver throws where it cannot read the URL. */
export function protectionOf(databaseUrl: string): Protection {
  // Never connected: the driver alone knows what it makes of the URL and of PGHOST, PGSSLMODE and their like.
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

/** Throws `DatabaseUnprotected` for a connection in the open that nobody answers for; `place` names it without password. */
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
