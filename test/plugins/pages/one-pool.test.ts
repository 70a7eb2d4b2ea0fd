/** The connections of a process: DATABASE_POOL_SIZE at most, of which slow work takes none from what must not wait. */
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { withHealthPort } from '../../../src/cli/observed.ts';
import { processMetrics } from '../../../src/plugins/observe/metrics.ts';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import type { Db } from '../../../src/store/engine/database.ts';
import { accepted } from '../submissions/notifications/subjects.ts';
import { KEYS } from '../submissions/notifications/support.ts';
import { envOf, startDaybook } from '../../cli/daybook.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await stage.run();
});
afterAll(() => stage.close());

const db = (): Db => stage.app.database.db;

/** Connections with the database, less those that the test itself has. */
async function connections(): Promise<number> {
  const { rows } = await sql<{ count: number; own: number }>`
    SELECT count(*) AS count, count(*) FILTER (WHERE pid = ANY (${ownPids}::int[])) AS own
    FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'`.execute(
    db(),
  );
  return rows[0]!.count - rows[0]!.own;
}
let ownPids: number[] = [];
const learnOwnPids = async (): Promise<void> => {
  const { rows } = await sql<{ pid: number }>`SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'`.execute(db());
  ownPids = rows.map(({ pid }) => pid);
};

/** Waits until so many statements of others wait for a lock. */
const waitingForLocks = (atLeast: number) =>
  vi.waitFor(
    async () => {
      const { rows } = await sql<{ count: number }>`SELECT count(*) AS count FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(db());
      expect(rows[0]!.count).toBeGreaterThanOrEqual(atLeast);
    },
    { timeout: 30_000 },
  );

/** Runs `work` while nobody can read the table. */
async function whileLocked(table: 'account_day', work: () => Promise<void>): Promise<void> {
  await db()
    .transaction()
    .execute(async (trx) => {
      await sql`LOCK TABLE ${sql.table(table)} IN ACCESS EXCLUSIVE MODE`.execute(trx);
      await work();
    });
}

test('serve keeps to its pool: pages and a scrape that hang hold up no post and no health check', async () => {
  const { path } = await accepted(db(), 'POSTED');
  await Promise.all([sql`SELECT 1`.execute(db()), sql`SELECT pg_sleep(0.05)`.execute(db())]);
  await learnOwnPids();
  const serving = startDaybook(['serve', '--json'], {
    ...envOf(stage),
    DATABASE_POOL_SIZE: '7',
    DAYBOOK_SECRET_KEYS: `k1:${KEYS[0]!.key.toString('base64')}`,
    DAYBOOK_LISTEN: '127.0.0.1:0',
    DAYBOOK_HEALTH_LISTEN: '127.0.0.1:0',
    DAYBOOK_PAGES_LISTEN: '127.0.0.1:0',
    DAYBOOK_PAGES_URL: 'http://127.0.0.1:8082',
    DAYBOOK_ACCESS_PROXY_HEADER: 'x-person',
    DAYBOOK_ACCESS_PROXIES: '127.0.0.1',
    DAYBOOK_ACCESS_ROLES: '{"*":"viewer"}',
  });
  onTestFinished(() => void serving.child.kill('SIGKILL'));
  let printed = '';
  serving.child.stdout!.on('data', (text: string) => (printed += text));
  await vi.waitFor(() => expect(printed, serving.reported()).toContain('"pagesUrl"'), { timeout: 30_000 });
  const { url, healthUrl, pagesUrl } = JSON.parse(printed) as Record<string, string>;
  const page = async (nth: number): Promise<number> => {
    const response = await fetch(`${pagesUrl!}/`, { headers: { 'x-person': `p${nth}` } });
    await response.arrayBuffer();
    return response.status;
  };
  const post = () =>
    fetch(`${url!}${path}`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
  let pages: Promise<number>[] = [];
  let scrape: Promise<Response>;
  await whileLocked('account_day', async () => {
    pages = Array.from({ length: 20 }, (_, nth) => page(nth));
    scrape = fetch(`${healthUrl!}/metrics`);
    // Four pages, and the scrape.
    await waitingForLocks(5);
    const answers = await Promise.all(Array.from({ length: 10 }, post));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect((await fetch(`${healthUrl!}/readyz`)).status).toBe(200);
    expect(await connections()).toBeLessThanOrEqual(7);
  });
  expect(new Set(await Promise.all(pages))).toEqual(new Set([200]));
  expect((await scrape!).status).toBe(200);
  expect(await connections()).toBeLessThanOrEqual(7);
  serving.child.kill('SIGTERM');
  expect((await serving.ended).code).toBe(0);
}, 90_000);

test.each([3, 4, 7])(
  'a worker with a pool of %i that is busy in all it has answers health checks',
  async (size) => {
    const { app } = stage;
    const settings = { ...app.settings, healthListen: { host: '127.0.0.1', port: 0 } };
    const database = await openDatabase({ ...settings, connectionsMax: size });
    const reported: { readonly url?: string }[] = [];
    const log = {
      info: (event: object) => reported.push(event),
      debug: () => undefined,
    } as unknown as Logger;
    const { signal } = new AbortController();
    const busy = (over: Db) => sql`SELECT count(*) FROM account_day`.execute(over);
    await withHealthPort(
      { app: { ...app, settings, database }, log, metrics: processMetrics(), signal },
      async () => {
        let work: Promise<unknown>[] = [];
        await whileLocked('account_day', async () => {
          work = Array.from({ length: 20 }, () => busy(database.db));
          await waitingForLocks(Math.max(1, size - 2));
          const response = await fetch(`${reported[0]!.url!}/readyz`);
          expect(response.status).toBe(200);
        });
        await Promise.all(work);
      },
    );
    await database.close();
  },
);
