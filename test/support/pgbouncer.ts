/** PgBouncer, Debian's or the one that DAYBOOK_TEST_PGBOUNCER_PATH names. `.ci/run` installs it, and then no test may go without. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './postgres-server.ts';

const PLACES = [process.env['DAYBOOK_TEST_PGBOUNCER_PATH'], '/usr/sbin/pgbouncer'];
const found = PLACES.find((path) => path !== undefined && existsSync(path));

if (found === undefined && process.env['DAYBOOK_TEST_PGBOUNCER'] === 'required')
  throw new Error(
    'PgBouncer is not installed, and DAYBOOK_TEST_PGBOUNCER requires it: apt-get install pgbouncer',
  );

/** Where it is; null where it is not installed, and its tests are skipped. */
export const pgbouncer: string | null = found ?? null;

export interface Bouncer {
  /** The database's URL through the pooler. */
  readonly url: (databaseUrl: string) => string;
  /** The URL of its own console. */
  readonly consoleUrl: string;
  readonly stop: () => Promise<void>;
}

/** Starts it in front of the server of this URL. `poolSize`: connections with the server, of each database. */
export async function startBouncer(
  serverUrl: string,
  { mode, poolSize }: { readonly mode: 'session' | 'transaction'; readonly poolSize: number },
): Promise<Bouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-bouncer-'));
  const { hostname, port: serverPort, username, password } = new URL(serverUrl);
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${serverPort} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
admin_users = ${username}
pool_mode = ${mode}
default_pool_size = ${poolSize}
max_client_conn = 200
`,
  );
  await chmod(folder, 0o755);
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn(pgbouncer!, [...user, file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', () => reject(new Error(`PgBouncer ended:\n${log}`)));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      if (log.includes('process up')) resolve();
    });
  });
  const at = `127.0.0.1:${port}`;
  return {
    url: (databaseUrl) => `postgresql://${username}:${password}@${at}${new URL(databaseUrl).pathname}`,
    consoleUrl: `postgresql://${username}:${password}@${at}/pgbouncer`,
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
