import { afterEach, expect, test, vi } from 'vitest';
import { openDatabase, protectionOf } from '../../src/store/engine/connection.ts';
import { DatabaseUnprotected, DatabaseUnreachable } from '../../src/store/engine/errors.ts';

afterEach(() => vi.unstubAllEnvs());

test.each([
  ['postgres://u:p@127.0.0.1/db', 'local'],
  ['postgres://u:p@localhost:5433/db?sslmode=disable', 'local'],
  ['postgres://u:p@[::1]/db', 'local'],
  ['postgres://u@/db?host=/var/run/postgresql', 'local'],
  ['postgres:///db', 'local'],
  ['postgres://u:p@db.example/db', 'plain'],
  ['postgres://u:p@db.localhost/db', 'plain'],
  ['postgres://u:p@127.0.0.1/db?host=db.example', 'plain'],
  ['postgres://u:p@db.example/db?sslmode=disable', 'plain'],
  ['postgres://u:p@db.example/db?ssl=0', 'plain'],
  ['postgres://u:p@db.example/db?sslmode=require', 'verified'],
  ['postgres://u:p@db.example/db?sslmode=verify-full', 'verified'],
  ['postgres://u:p@db.example/db?ssl=true', 'verified'],
  ['postgres://u:p@db.example/db?sslmode=no-verify', 'unverified'],
  ['postgres://u:p@db.example/db?uselibpqcompat=true&sslmode=require', 'unverified'],
])('%s is %s', (url, protection) => {
  expect(protectionOf(url)).toBe(protection);
});

test('environment variables that the driver reads count too', () => {
  vi.stubEnv('PGHOST', 'db.example');
  expect(protectionOf('postgres:///db')).toBe('plain');
  vi.stubEnv('PGSSLMODE', 'verify-full');
  expect(protectionOf('postgres:///db')).toBe('verified');
});

test('a server on another machine is not used without TLS, unless a person has explicitly allowed it', async () => {
  // Names below .invalid never resolve.
  const databaseUrl = 'postgres://daybook:top-secret@db.invalid/books';
  const refused = openDatabase({ databaseUrl, dataDir: '' });
  await expect(refused).rejects.toThrow(DatabaseUnprotected);
  await expect(refused).rejects.toThrow(
    /^the database db\.invalid\/books would be .*DAYBOOK_ALLOW_INSECURE=database\.$/,
  );
  await expect(refused).rejects.not.toThrow(/top-secret/);
  await expect(openDatabase({ databaseUrl, dataDir: '', allowInsecure: ['statements'] })).rejects.toThrow(
    DatabaseUnprotected,
  );
  await expect(openDatabase({ databaseUrl, dataDir: '', allowInsecure: ['database'] })).rejects.toThrow(
    DatabaseUnreachable,
  );
});
