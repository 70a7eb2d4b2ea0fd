/** docs/operations.md can be followed line by line: its commands, files, settings and tables are there. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { unknownArguments, unknownSettings } from '../project/deployed.ts';

const page = readFileSync('docs/operations.md', 'utf8');
const blocks = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, kind, text]) => ({
  kind,
  text: text!,
}));
const indented = [...page.matchAll(/^ {7}(\S.*)$/gm)].map(([, line]) => line!);

/** The words of a line of shell, without what is redirected. */
const wordsOf = (line: string): string[] =>
  (line.replace(/\s[<>].*$/, '').match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''));

const typed = [
  ...blocks.filter(({ kind }) => kind === '').flatMap(({ text }) => text.split('\n')),
  ...indented,
  ...[...page.matchAll(/`(daybook [^`]+)`/g)].map(([, line]) => line!.replaceAll('\n', ' ')),
  ...[...page.matchAll(/-- (daybook \w+)/g)].map(([, line]) => line!),
].filter((line) => line.startsWith('daybook '));

test.each([...new Set(typed)])('%s is a command', (line) => {
  expect(unknownArguments(wordsOf(line).slice(1))).toEqual([]);
});

test('a command that does not exist would be found', () => {
  expect(typed.length).toBeGreaterThan(25);
  expect(unknownArguments(['statements', 'adapt'])).toEqual(['adapt']);
  expect(unknownArguments(['prune', '--after', '2026-01-01', '--yes'])).toContain('--after');
});

test('its settings, files and tables exist', () => {
  const settings = page.match(/\b(?:DAYBOOK|PLATFORM|DATABASE|STATEMENTS)_[A-Z_]+\b/g) ?? [];
  expect(unknownSettings(new Set(settings))).toEqual([]);
  const paths = [...page.matchAll(/\b((?:deploy|sql|test)\/[\w./-]*\w)/g)].map(([, path]) => path!);
  // A file that the reader makes, the first characters of several units, and a Deployment as kubectl names it.
  const others = ['deploy/kubernetes/settings.env', 'deploy/systemd/daybook', 'deploy/daybook-schedule'];
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !existsSync(path) && !others.includes(path))).toEqual([]);
  const tables = readFileSync('docs/reference/tables.md', 'utf8');
  const named = [...page.matchAll(/`([a-z]+_[a-z_]+)`/g)].map(([, name]) => name!);
  const noTables = [
    'secret_keys',
    'signing_key',
    'alert_url',
    'dedup_key',
    'event_action',
    'email_verified',
    'daybook_job',
    'daybook_inbox',
    'daybook_prune',
    'daybook_read_only',
    'daybook_pages',
    'daybook_sessions',
    'daybook_serve_login',
    'daybook_pages_login',
    'daybook_prune_login',
    'cookie_keys',
    'job_database_url',
    'daybook_owner_login',
    'daybook_job_login',
    'daybook_outside',
    'database_url',
    'database_password',
    'read_only',
    'daybook_migrate',
    'daybook_restored',
    'migrate_database_url',
    'max_connections',
    'default_pool_size',
    'application_name',
    ...[
      'standard_conforming_strings',
      'array_nulls',
      'default_transaction_isolation',
      'search_path',
      'statement_timeout',
    ],
    ...['lock_timeout', 'default_transaction_read_only'],
  ];
  expect(named.filter((name) => !noTables.includes(name) && !tables.includes(`### ${name}\n`))).toEqual([]);
});

test('JSON inside of commands is JSON', () => {
  const inside = [...page.matchAll(/'(\{.*\})'/g)].map(([, text]) => text!);
  expect(inside).toHaveLength(4);
  for (const text of inside) expect(() => JSON.parse(text) as unknown).not.toThrow();
});
