/** Faults of the database: its connection, its server, and what an operator does to it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { rm, writeFile } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { sql } from 'kysely';
import { pickOf } from '../case.ts';
import type { Fate } from '../../support/proxy.ts';
import { atByte, atNth, commits, type Kind, type Planted, type Scene } from '../kind.ts';
import { AWAY_MS_MAX, wireAway, wireGone, wireHalfOpen, wireSlow } from './wires.ts';

const PLACES = ['directory', 's3'] as const;
const common = { places: PLACES, names: /database/i };
const end = ({ drawn }: Scene): 'cut' | 'reset' => (drawn.pick < 0.5 ? 'cut' : 'reset');

const SLOW_MS_MAX = 15;
const STATEMENT_MS_MAX = 25;
const TABLES = ['ledger_entry', 'certificate', 'account_day', 'statement', 'lease', 'run'] as const;

/** Sends a statement to the server without the proxy, as its operator would. */
async function operator(scene: Scene, statement: ReturnType<typeof sql>): Promise<void> {
  const { db, close } = await scene.world.admin();
  try {
    await statement.execute(db);
  } finally {
    await close();
  }
}

const setting = (scene: Scene, what: string) =>
  operator(scene, sql`ALTER DATABASE ${sql.id(scene.site.databaseName)} SET ${sql.raw(what)}`);
const backends = (scene: Scene, call: string) =>
  operator(
    scene,
    sql`SELECT ${sql.raw(call)}(pid) FROM pg_stat_activity WHERE datname = ${scene.site.databaseName}`,
  );
const whole = (scene: Scene, planted: Planted = {}): Planted => {
  scene.struck();
  return planted;
};

/** The server is stopped with that signal, and starts again after a while. */
function halted(scene: Scene, signal: 'SIGQUIT' | 'SIGINT'): Planted {
  let restart = Promise.resolve();
  atByte(scene, 'database', 'up', async (): Promise<Fate> => {
    await scene.world.server.halt(signal);
    restart = sleep(scene.drawn.pick * AWAY_MS_MAX).then(() => scene.world.server.start());
    return 'pass';
  });
  return { fix: () => restart };
}

/** Another transaction locks a table, for that long or until the run has ended. */
function locked(scene: Scene, forMs: number | null): Planted {
  let holder: Promise<void> = Promise.resolve();
  let letGo = (): void => undefined;
  atByte(scene, 'database', 'up', async (): Promise<Fate> => {
    const { openDatabase } = await import('../../../src/store/engine/connection.ts');
    const url = `${scene.world.server.url}/${scene.site.databaseName}`;
    const { db, close } = await openDatabase({ databaseUrl: url, dataDir: '' });
    const released = new Promise<void>((resolve) => (letGo = resolve));
    if (forMs !== null) setTimeout(letGo, forMs);
    await new Promise<void>((resolve) => {
      holder = db
        .transaction()
        .execute(async (trx) => {
          await sql`SET LOCAL lock_timeout = 0`.execute(trx);
          const table = pickOf(TABLES, scene.drawn.pick);
          await sql`LOCK TABLE ${sql.id(table)} IN EXCLUSIVE MODE`.execute(trx);
          resolve();
          await released;
        })
        .then(close);
    });
    return 'pass';
  });
  return {
    fix: async () => {
      letGo();
      await holder;
    },
  };
}

export const DATABASE_KINDS: readonly Kind[] = [
  {
    ...common,
    name: 'database-cut-going',
    fault: 'the connection is cut within what daybook sends',
    exits: [0, 4],
    plant: (scene) => {
      atByte(scene, 'database', 'up', (through) => ({ through, then: end(scene) }));
      return {};
    },
  },
  {
    ...common,
    name: 'database-cut-coming',
    fault: 'the connection is cut within what the server answers',
    exits: [0, 4],
    plant: (scene) => {
      atByte(scene, 'database', 'down', (through) => ({ through, then: end(scene) }));
      return {};
    },
  },
  {
    ...common,
    name: 'database-commit-cut',
    fault: 'a COMMIT never arrives',
    exits: [0, 4],
    plant: (scene) => {
      atNth(scene, 'database', commits(scene), () => end(scene));
      return {};
    },
  },
  {
    ...common,
    name: 'database-commit-lost',
    fault: 'a COMMIT arrives, its answer does not',
    exits: [0, 4],
    plant: (scene) => {
      atNth(scene, 'database', commits(scene), () => 'lose-answer');
      return {};
    },
  },
  {
    ...common,
    name: 'database-away',
    fault: 'no connection to it for up to 3 s',
    exits: [0, 4],
    plant: wireAway('database'),
  },
  {
    ...common,
    name: 'database-gone',
    fault: 'no connection to it any more',
    exits: [0, 4],
    plant: wireGone('database'),
  },
  {
    ...common,
    name: 'database-slow',
    fault: 'each message takes up to 15 ms longer',
    exits: [0],
    plant: wireSlow('database', SLOW_MS_MAX),
  },
  {
    ...common,
    name: 'database-half-open',
    fault: 'its wire swallows everything and stays open',
    exits: [0, 4],
    isSlow: true,
    plant: wireHalfOpen('database'),
  },
  {
    ...common,
    name: 'database-half-open-once',
    fault: 'one of its connections swallows everything and stays open',
    exits: [0, 4],
    isSlow: true,
    plant: (scene) => {
      atByte(scene, 'database', 'up', () => 'swallow');
      return {};
    },
  },
  {
    ...common,
    name: 'database-crashed',
    fault: 'the server is stopped at once and started again within 3 s',
    exits: [0, 4],
    plant: (scene) => halted(scene, 'SIGQUIT'),
  },
  {
    ...common,
    name: 'database-restarted',
    fault: 'the server is shut down and started again within 3 s',
    exits: [0, 4],
    plant: (scene) => halted(scene, 'SIGINT'),
  },
  {
    ...common,
    name: 'database-process-killed',
    fault: 'one of the server’s processes is killed, which makes it recover',
    exits: [0, 4],
    plant: (scene) => {
      atByte(scene, 'database', 'up', async (): Promise<Fate> => {
        const { db, close } = await scene.world.admin();
        const { rows } = await sql<{ pid: number }>`
          SELECT pid FROM pg_stat_activity WHERE datname = ${scene.site.databaseName}`.execute(db);
        const pid = rows[0]?.pid;
        if (pid !== undefined) process.kill(pid, 'SIGKILL');
        await close();
        return 'pass';
      });
      return {};
    },
  },
  {
    ...common,
    name: 'database-terminated',
    fault: 'an operator ends its connections (pg_terminate_backend)',
    exits: [0, 4],
    plant: (scene) => {
      atByte(scene, 'database', 'up', async (): Promise<Fate> => {
        await backends(scene, 'pg_terminate_backend');
        return 'pass';
      });
      return {};
    },
  },
  {
    ...common,
    name: 'database-cancelled',
    fault: 'an operator ends its statements (pg_cancel_backend)',
    exits: [0, 4],
    plant: (scene) => {
      atByte(scene, 'database', 'down', async (): Promise<Fate> => {
        for (let times = 0; times < 10; times += 1) await backends(scene, 'pg_cancel_backend');
        return 'pass';
      });
      return {};
    },
  },
  {
    ...common,
    name: 'database-read-only',
    fault: 'it becomes read-only (default_transaction_read_only), as in a switch-over',
    exits: [0, 4],
    plant: (scene) => {
      atByte(scene, 'database', 'up', async (): Promise<Fate> => {
        await setting(scene, 'default_transaction_read_only = on');
        await backends(scene, 'pg_terminate_backend');
        return 'pass';
      });
      return { fix: () => setting(scene, 'default_transaction_read_only = off') };
    },
  },
  {
    ...common,
    name: 'database-statement-timeout',
    fault: 'statement_timeout of 1 to 25 ms',
    exits: [0, 4],
    plant: async (scene) => {
      await setting(scene, `statement_timeout = ${1 + Math.floor(scene.drawn.at * STATEMENT_MS_MAX)}`);
      return whole(scene, { fix: () => setting(scene, 'statement_timeout = 0') });
    },
  },
  {
    ...common,
    name: 'database-lock-timeout',
    fault: 'somebody keeps a table locked, with a lock_timeout of 100 ms',
    exits: [0, 4],
    plant: async (scene) => {
      await setting(scene, 'lock_timeout = 100');
      const { fix } = locked(scene, null);
      return {
        fix: async () => {
          await fix!();
          await setting(scene, 'lock_timeout = 0');
        },
      };
    },
  },
  {
    ...common,
    name: 'database-locked',
    fault: 'somebody keeps a table locked for up to 3 s',
    exits: [0, 4],
    plant: (scene) => locked(scene, scene.drawn.more * AWAY_MS_MAX),
  },
  {
    ...common,
    name: 'database-idle-timeout',
    fault: 'it ends idle sessions after 1 to 25 ms (idle_session_timeout)',
    exits: [0, 4],
    plant: async (scene) => {
      const timeout = 1 + Math.floor(scene.drawn.at * STATEMENT_MS_MAX);
      await setting(scene, `idle_session_timeout = ${timeout}`);
      return whole(scene, { fix: () => setting(scene, 'idle_session_timeout = 0') });
    },
  },
  {
    ...common,
    name: 'database-full',
    fault: 'its tablespace is full (a small tmpfs)',
    exits: [0, 4],
    small: 'database',
    plant: (scene) => {
      const folder = execFileSync('findmnt', ['-n', '-o', 'TARGET', '-t', 'tmpfs', '-l'], {
        encoding: 'utf8',
      })
        .split('\n')
        .filter((line) => line.includes('tablespace-'))
        .at(-1)!;
      const filler = join(folder, 'filler');
      atByte(scene, 'database', 'up', async (): Promise<Fate> => {
        await writeFile(filler, endless()).catch(() => undefined);
        return 'pass';
      });
      return { fix: () => rm(filler, { force: true }) };
    },
  },
];

/** Writes more than any disk here can hold. */
export function* endless(): Generator<Buffer> {
  const chunk = Buffer.alloc(256 * 1_024);
  for (let chunks = 0; chunks < 4_096; chunks += 1) yield chunk;
  for (;;) yield Buffer.alloc(1);
}
