import { afterEach, expect, test, vi } from 'vitest';
import { openDatabase, protectionOf } from '../../src/store/engine/connection.ts';
import { DatabaseUnprotected, DatabaseUnreachable } from '../../src/store/engine/errors.ts';

afterEach(() => vi.unstubAllEnvs());

/** The driver reads it and looks into it only when it connects. */
const AUTHORITY = 'package.json';

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
  ['postgres://u:p@db.example/db?ssl=no-verify', 'unverified'],
  ['postgres://u:p@db.example/db?sslmode=prefer', 'verified'],
  ['postgres://u:p@db.example/db?sslmode=allow', 'verified'],
  ['postgres://u:p@db.example/db?sslmode=verify-ca', 'verified'],
  // The driver takes any text but 0 as a wish for TLS.
  ['postgres://u:p@db.example/db?ssl=false', 'verified'],
  ['postgres://u:p@db.example/db?uselibpqcompat=true&sslmode=prefer', 'unverified'],
  ['postgres://u:p@db.example/db?uselibpqcompat=true&sslmode=require', 'unverified'],
  // Any certificate of that authority would do, whatever its name.
  [
    `postgres://u:p@db.example/db?uselibpqcompat=true&sslmode=verify-ca&sslrootcert=${AUTHORITY}`,
    'unverified',
  ],
  [
    `postgres://u:p@db.example/db?uselibpqcompat=true&sslmode=verify-full&sslrootcert=${AUTHORITY}`,
    'verified',
  ],
])('%s is %s', (url, protection) => {
  expect(protectionOf(url)).toBe(protection);
});

test('environment variables that the driver reads count too', () => {
  vi.stubEnv('PGHOST', 'db.example');
  expect(protectionOf('postgres:///db')).toBe('plain');
  for (const [mode, protection] of [
    ['verify-full', 'verified'],
    ['no-verify', 'unverified'],
    ['disable', 'plain'],
    ['allow', 'plain'],
  ] as const) {
    vi.stubEnv('PGSSLMODE', mode);
    expect([mode, protectionOf('postgres:///db')]).toEqual([mode, protection]);
  }
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

test.each(['sslmode=no-verify', 'ssl=no-verify', 'uselibpqcompat=true&sslmode=prefer'])(
  'a certificate that nobody checks (%s) is as good as none, unless a person has explicitly allowed it',
  async (query) => {
    const databaseUrl = `postgres://daybook:top-secret@db.invalid/books?${query}`;
    const opening = (allowInsecure: readonly string[]) =>
      openDatabase({ databaseUrl, dataDir: '', allowInsecure });
    for (const allowed of [[], ['statements']]) {
      await expect(opening(allowed)).rejects.toThrow(DatabaseUnprotected);
      await expect(opening(allowed)).rejects.toThrow(/without checking its certificate and name/);
      await expect(opening(allowed)).rejects.not.toThrow(/top-secret/);
    }
    for (const allowed of ['database', 'certificates'])
      await expect(opening([allowed])).rejects.toThrow(DatabaseUnreachable);
  },
);

test('what the environment says of the certificate counts as the address does', async () => {
  vi.stubEnv('PGSSLMODE', 'no-verify');
  const databaseUrl = 'postgres://daybook:top-secret@db.invalid/books';
  await expect(openDatabase({ databaseUrl, dataDir: '' })).rejects.toThrow(DatabaseUnprotected);
});
