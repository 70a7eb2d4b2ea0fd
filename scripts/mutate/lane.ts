/** A lane: a copy of the tree in which one mutant after another is tried, with a PostgreSQL of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { openDatabase } from '../../src/store/engine/connection.ts';
import {
  createTemplate,
  startPostgres,
  TEMPLATE,
  type GivenServer,
} from '../../test/support/postgres-server.ts';
import { filesOf } from './git.ts';
import { applied, type Mutant } from './mutants.ts';

export interface Asked {
  /** Files that are no longer as they were. */
  readonly changed: readonly string[];
  readonly tests: readonly string[];
}

export interface Failure {
  readonly file: string;
  /** Empty if the file failed before a test of it ran. */
  readonly test: string;
  readonly message: string;
}

export type Reply =
  | { readonly kind: 'ready' | 'alive' }
  | ({ readonly kind: 'failed' } & Failure)
  | { readonly kind: 'passed'; readonly file: string; readonly ms: number }
  | { readonly kind: 'done'; readonly unhandled: readonly string[] };

export interface Outcome {
  /** The first test that failed; null if none did. */
  readonly failure: Failure | null;
  /** Nothing came from it for a long time, so it was ended. */
  readonly isHung: boolean;
  /** All tests were run, or one has failed and the others were stopped. */
  readonly isOver: boolean;
  /** How long each test file took that passed. */
  readonly ms: ReadonlyMap<string, number>;
}

export interface Lane {
  /** Runs tests until one fails, with a mutant in the tree or without. */
  readonly run: (mutant: Mutant | null, tests: readonly string[], limitMs: number) => Promise<Outcome>;
  readonly close: () => Promise<void>;
}

/** In the scratch folder: the files of an embedded database, made before any mutant could have a part in them. */
export const EMBEDDED_TEMPLATE = 'embedded.tar';

/** A test that nothing is heard of for so long hangs. */
const SILENCE_MS = 45_000;

/** After a failure the tests that run next to it have this long to end; then their process is ended. */
const LEFT_TO_END_MS = 4_000;

async function copyTree(root: string, copy: string): Promise<void> {
  for (const path of filesOf(root)) {
    await mkdir(dirname(join(copy, path)), { recursive: true });
    await cp(join(root, path), join(copy, path));
  }
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
}

/** A server for all tests of a lane. What they leave on it goes after each mutant. */
async function openServer(embeddedTemplate: string) {
  const server = await startPostgres({ durable: false });
  await createTemplate(server.url);
  const { db, close } = await openDatabase({ databaseUrl: `${server.url}/postgres`, dataDir: '' });
  const given: GivenServer = { postgresUrl: server.url, embeddedTemplate };
  const clean = async (): Promise<void> => {
    const databases = await sql<{ datname: string }>`
      SELECT datname FROM pg_database WHERE NOT datistemplate AND datname NOT IN ('postgres', ${TEMPLATE})`.execute(
      db,
    );
    for (const { datname } of databases.rows)
      await sql`DROP DATABASE ${sql.id(datname)} WITH (FORCE)`.execute(db);
    const roles = await sql<{ rolname: string }>`
      SELECT rolname FROM pg_roles WHERE NOT rolsuper AND rolname NOT LIKE 'pg\\_%'`.execute(db);
    for (const { rolname } of roles.rows) await sql`DROP ROLE ${sql.id(rolname)}`.execute(db);
  };
  const stop = async (): Promise<void> => {
    await close();
    await server.stop();
  };
  return { given, clean, stop };
}

/** Kills a process and all it has started. */
function killGroup(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Starts the process that holds Vitest, and waits until it can be asked. */
async function startProcess(copy: string, env: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['scripts/mutate/lane-process.ts'], {
    ...{ cwd: copy, env, detached: true, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] as const },
  });
  let stderr = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-4_000)));
  const [reply] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [Reply | number];
  if (typeof reply !== 'object') throw new Error(`a lane did not start:\n${stderr}`);
  return child;
}

/** What a lane's process has answered so far. */
interface Heard {
  failure: Failure | null;
  isOver: boolean;
  isHung: boolean;
  readonly ms: Map<string, number>;
}

/** Asks for tests, and waits for the end, the limit of time, silence, or a little longer than the first failure. */
async function ask(child: ChildProcess, asked: Asked, limitMs: number): Promise<Heard> {
  const heard: Heard = { failure: null, isOver: false, isHung: false, ms: new Map() };
  const { promise, resolve } = Promise.withResolvers<unknown>();
  // A longer one would be over at once.
  const limit = setTimeout(resolve, Math.min(limitMs, 2 ** 31 - 1));
  const silence = setTimeout(() => {
    heard.isHung = heard.failure === null;
    resolve(null);
  }, SILENCE_MS);
  const onReply = (reply: Reply): void => {
    silence.refresh();
    if (reply.kind === 'passed' && heard.failure === null) heard.ms.set(reply.file, reply.ms);
    if (reply.kind === 'failed') {
      heard.failure ??= reply;
      setTimeout(resolve, LEFT_TO_END_MS);
    }
    if (reply.kind !== 'done') return;
    heard.isOver = true;
    const [message] = reply.unhandled;
    if (message !== undefined) heard.failure ??= { file: '', test: '', message };
    resolve(null);
  };
  child.on('message', onReply).once('exit', resolve).send(asked);
  await promise;
  for (const timer of [limit, silence]) clearTimeout(timer);
  child.off('message', onReply).off('exit', resolve);
  return heard;
}

/** Opens the n-th lane of a tree, in `scratch`, a folder that every user may enter. */
export async function openLane(root: string, scratch: string, nth: number, workers: number): Promise<Lane> {
  const [copy, tmp] = [join(scratch, `${nth}`, 'daybook'), join(scratch, `${nth}`, 'tmp')];
  for (const folder of [copy, tmp]) await mkdir(folder, { recursive: true });
  await copyTree(root, copy);
  const server = await openServer(join(scratch, EMBEDDED_TEMPLATE));
  const env = {
    ...process.env,
    ...{ TMPDIR: scratch, DAYBOOK_MUTATE_TMPDIR: tmp, NODE_COMPILE_CACHE: join(scratch, 'compiled') },
    ...{ DAYBOOK_TEST_SERVER: JSON.stringify(server.given), DAYBOOK_MUTATE_WORKERS: `${workers}` },
  };
  let child = await startProcess(copy, env);
  let changed: string[] = [];
  let isClosed = false;
  return {
    run: async (mutant, tests, limitMs) => {
      const text = mutant === null ? '' : await readFile(join(root, mutant.file), 'utf8');
      if (mutant !== null) await writeFile(join(copy, mutant.file), applied(text, mutant));
      const now = mutant === null ? [] : [mutant.file];
      const outcome = await ask(child, { changed: [...changed, ...now], tests }, limitMs);
      changed = now;
      if (mutant !== null) await writeFile(join(copy, mutant.file), text);
      if (!outcome.isOver) killGroup(child);
      if (!outcome.isOver && !isClosed) child = await startProcess(copy, env);
      await server.clean();
      await rm(tmp, { recursive: true, force: true });
      await mkdir(tmp);
      return outcome;
    },
    close: async () => {
      isClosed = true;
      killGroup(child);
      await server.stop();
    },
  };
}
