/** Nights through PgBouncer, as processes that share a few connections with the server. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, describe, expect, inject, test, vi } from 'vitest';
import { installQueue } from '../../src/plugins/queue/queue.ts';
import { accepted } from '../plugins/submissions/notifications/subjects.ts';
import { KEYS } from '../plugins/submissions/notifications/support.ts';
import { pgbouncer, startBouncer, type Bouncer } from '../support/pgbouncer.ts';
import { FROM, openStage, scenario, TO, type Stage } from '../support/stage.ts';
import { daybook, envOf, startDaybook, type Env, type Started } from './daybook.ts';

let stage: Stage;
let bouncer: Bouncer;
let env: Env;
const started: Started[] = [];

/** Fewer connections with the server than one process may have, so that transactions move between them. */
const MODES = { transaction: 3, session: 40 } as const;

async function open(mode: keyof typeof MODES): Promise<void> {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 60 }) });
  bouncer = await startBouncer(inject('postgresUrl'), { mode, poolSize: MODES[mode] });
  const { databaseUrl, statementsUrl } = stage.app.settings;
  env = {
    ...envOf(stage),
    STATEMENTS_URL: statementsUrl,
    DATABASE_URL: bouncer.url(databaseUrl!),
    DATABASE_POOL_SIZE: '7',
    DAYBOOK_SCHEDULE_RESWEEP: '30 1 * * *',
  };
}
afterEach(async () => {
  for (const { child, ended } of started.splice(0)) {
    child.kill('SIGTERM');
    await ended;
  }
  await bouncer.stop();
  await stage.close();
});

const begin = (args: readonly string[], more: Env = {}): Started => {
  const one = startDaybook(args, { ...env, ...more });
  started.push(one);
  return one;
};

/** Published statements by their place, as text. */
async function published(): Promise<ReadonlyMap<string, string>> {
  const folder = fileURLToPath(stage.app.settings.statementsUrl);
  const names = (await readdir(folder, { recursive: true })).filter((name) =>
    /_\d{4}-\d\d-\d\d\.r\d+\.csv$/.test(name),
  );
  return new Map(
    await Promise.all(
      names.sort().map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const),
    ),
  );
}

/** Entries in the published files. */
const rowsIn = (files: ReadonlyMap<string, string>): number =>
  [...files.values()].reduce((sum, text) => sum + text.trimEnd().split('\r\n').length - 1, 0);

describe.skipIf(pgbouncer === null)('with PgBouncer (Debian’s package pgbouncer)', () => {
  test.each(['transaction', 'session'] as const)(
    'in mode %s a night is read, proven and published, and the next one finds nothing to do',
    async (mode) => {
      await open(mode);
      const first = await daybook(['run', '--from', FROM, '--to', TO], env);
      expect(first.code, first.stderr).toBe(0);
      const files = await published();
      expect(rowsIn(files)).toBe(
        (await stage.app.database.db.selectFrom('ledger_entry').select('batch_no').execute()).length,
      );
      expect(rowsIn(files)).toBeGreaterThan(400);
      const again = await daybook(['run', '--from', FROM, '--to', TO], env);
      expect(again.code, again.stderr).toBe(0);
      expect(await published()).toEqual(files);
      const status = await daybook(['status'], env);
      expect(status.code, status.stdout).toBe(0);
    },
    120_000,
  );

  test('in mode transaction schedule, two workers and serve share its connections, and posts are kept meanwhile', async () => {
    await open('transaction');
    await installQueue(stage.app.database.db);
    const queued = { DAYBOOK_WORKERS: 'queue', DAYBOOK_HEALTH_LISTEN: '127.0.0.1:0' };
    const serving = begin(['serve', '--json'], {
      DAYBOOK_SECRET_KEYS: `k1:${KEYS[0]!.key.toString('base64')}`,
      DAYBOOK_LISTEN: '127.0.0.1:0',
      DAYBOOK_HEALTH_LISTEN: '127.0.0.1:0',
    });
    let printed = '';
    serving.child.stdout!.on('data', (text: string) => (printed += text));
    await vi.waitFor(() => expect(printed, serving.reported()).toContain('"healthUrl"'), {
      timeout: 30_000,
    });
    const { url, healthUrl } = JSON.parse(printed) as { url: string; healthUrl: string };
    const schedule = begin(['schedule'], queued);
    const workers = [begin(['worker'], queued), begin(['worker'], queued)];
    const { path } = await accepted(stage.app.database.db, 'POSTED');
    const post = () =>
      fetch(`${url}${path}`, {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json' },
      });
    const answers = await Promise.all(Array.from({ length: 20 }, post));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const isReady = async () => (await fetch(`${healthUrl}/readyz`)).status === 200;
    await vi.waitFor(async () => expect(await isReady()).toBe(true));
    await vi.waitFor(
      () => expect(workers.map(({ reported }) => reported()).join('')).toContain('run ended'),
      { timeout: 60_000 },
    );
    const { db } = stage.app.database;
    const run = await db.selectFrom('run').select(['command', 'exit_code']).orderBy('id').executeTakeFirst();
    expect(run, schedule.reported()).toEqual({ command: 'nightly', exit_code: 0 });
    expect(rowsIn(await published())).toBeGreaterThan(50);
    const { count } = await db
      .selectFrom('notification')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    expect(count).toBe(20);
    // All of that went through it on three connections.
    expect(await serverConnections()).toBeLessThanOrEqual(MODES.transaction);
  }, 120_000);
});

/** Connections that PgBouncer has with the server. */
async function serverConnections(): Promise<number> {
  const console = new pg.Client({ connectionString: bouncer.consoleUrl });
  await console.connect();
  try {
    const { rows } = await console.query<{ database: string }>('SHOW SERVERS');
    return rows.length;
  } finally {
    await console.end();
  }
}
