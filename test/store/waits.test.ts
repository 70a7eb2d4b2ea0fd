/**
 * Every wait for a database server ends, even if the other side is gone without notice.
 *
 * @module-tag long
 */
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import { rehearse } from '../../src/store/engine/rehearsal.ts';
import { retry, DATABASE_WAITS, MIGRATION_WAITS, RETRY_WITHIN_MS } from '../../src/store/engine/retry.ts';
import { finishRun, latestRuns, startRun } from '../../src/store/runs.ts';
import { writeTransaction } from '../../src/store/engine/write-transaction.ts';
import { freshDatabase, type ServerDatabase } from '../support/database.ts';
import { startFaultyWire, type FaultyWire } from '../support/faulty-wire.ts';
import { NOW } from './support.ts';

const SHORT = { ...DATABASE_WAITS, connectMs: 2_000, statementMs: 1_000, goodbyeMs: 100 };
const RUN = { command: 'sync', holder: 'test:1:-', fromDay: null, toDay: null, now: NOW };

let direct: ServerDatabase;
let wire: FaultyWire;
let lease: Lease;
beforeAll(async () => {
  direct = await freshDatabase();
  lease = await acquireLease(direct.db, { name: 'merchant/M1', holder: 'test:1:-', ttlMs: 600_000 });
});
afterAll(() => direct.close());
afterEach(() => wire.close());

async function openWire(waits = SHORT) {
  wire = await startFaultyWire(direct.url);
  const database = await openDatabase({ databaseUrl: wire.url, dataDir: '', waits });
  onTestFinished(database.close);
  return database;
}
const failureOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => expect.unreachable('it went well'),
    (error: unknown) => error as Error,
  );
const notes = async (): Promise<string[]> =>
  (await latestRuns(direct.db, { limit: 100 })).map(({ command }) => command);

describe('a connection that swallows everything', () => {
  it('while it is made: given up, with what to check', async () => {
    wire = await startFaultyWire(direct.url);
    wire.swallow = {};
    const waits = { ...SHORT, connectMs: 200 };
    const failure = await failureOf(openDatabase({ databaseUrl: wire.url, dataDir: '', waits }));
    expect(failure).toMatchObject({ name: 'DatabaseUnreachable', exitCode: 4 });
    expect(failure.message).toMatch(/cannot be reached: .*Check DATABASE_URL and that the server is up/);
    await expect.poll(() => wire.connections().open).toBe(0);
  });

  it.each([
    ['once it is logged in, at the settings of the session', 'SET datestyle'],
    ['at the first statement of all', 'server_version_num'],
  ])('%s', async (_, message) => {
    wire = await startFaultyWire(direct.url);
    wire.swallow = { message };
    const waits = { ...SHORT, connectMs: 200, statementMs: 200 };
    const failure = await failureOf(openDatabase({ databaseUrl: wire.url, dataDir: '', waits }));
    expect(failure).toMatchObject({ name: 'DatabaseUnreachable', exitCode: 4 });
    await expect.poll(() => wire.connections().open).toBe(0);
  });

  it.each([
    ['before', 'before'],
    ['after', 'after'],
  ] as const)('%s the server got a read: it is repeated on another connection', async (_, when) => {
    const { db } = await openWire();
    wire.swallow = { message: 'SELECT 41', when, times: 1 };
    expect((await sql<{ n: number }>`SELECT 41 + 1 AS n`.execute(db)).rows).toEqual([{ n: 42 }]);
  });

  it('at a single write: is reported, as nobody knows whether it arrived', async () => {
    const { db } = await openWire();
    const id = await startRun(db, RUN);
    wire.swallow = { message: 'update "run"' };
    const failure = await failureOf(finishRun(db, id, { exitCode: 0, figures: {}, now: NOW }));
    expect(failure).toMatchObject({ name: 'StoreUnreachable', exitCode: 4 });
    expect(failure.message).toMatch(/did not answer a statement within 1 s.*once the server is up/);
  });

  it.each([
    ['begin', 'before'],
    ['FOR SHARE', 'after'],
    ['insert into "run"', 'before'],
    ['insert into "run"', 'after'],
    ['commit', 'before'],
    ['commit', 'after'],
  ] as const)('in a write transaction, at %s, %s the server got it: written once', async (message, when) => {
    const { db } = await openWire();
    const command = `${message} ${when}`;
    wire.swallow = { message, when, times: 1 };
    const id = await writeTransaction(db, lease, (trx) => startRun(trx, { ...RUN, command }));
    expect(id).toBeGreaterThan(0);
    wire.swallow = null;
    expect((await notes()).filter((one) => one === command)).toHaveLength(1);
  });

  it('like all others: the work ends, and so does closing the database', async () => {
    const database = await openWire();
    const { db } = database;
    await latestRuns(db, { limit: 1 });
    wire.swallow = {};
    const failure = await failureOf(writeTransaction(db, lease, (trx) => startRun(trx, RUN), [1, 1]));
    expect(failure).toMatchObject({ name: 'StoreUnreachable', isFinal: true, exitCode: 4 });
  });

  it('among others in the pool: all are given up untried, and only new ones are used', async () => {
    const { db } = await openWire({ ...SHORT, connectMs: 200 });
    await Promise.all([1, 2, 3, 4].map(() => sql`SELECT pg_sleep(0.1)`.execute(db)));
    wire.swallow = {};
    wire.takeStatements();
    await failureOf(writeTransaction(db, lease, (trx) => startRun(trx, RUN), [1, 1]));
    expect(wire.takeStatements()).toHaveLength(1);
    // When the connection is back, all is as before.
    wire.swallow = null;
    expect(await latestRuns(db, { limit: 1 })).toHaveLength(1);
  });

  it('that was not opened in time is not tried again at once', async () => {
    const { db } = await openWire({ ...SHORT, connectMs: 200, againMs: 60_000 });
    wire.swallow = {};
    const failure = await failureOf(writeTransaction(db, lease, (trx) => startRun(trx, RUN), [1, 1]));
    expect(failure).toMatchObject({ name: 'StoreUnreachable', isFinal: true });
    const { taken } = wire.connections();
    expect(await failureOf(startRun(db, RUN))).toMatchObject({ name: 'StoreUnreachable' });
    expect(wire.connections().taken).toBe(taken);
  });

  it('when it is closed: no goodbye is waited for', async () => {
    wire = await startFaultyWire(direct.url);
    const database = await openDatabase({ databaseUrl: wire.url, dataDir: '', waits: SHORT });
    await latestRuns(database.db, { limit: 1 });
    const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    const open = sockets();
    wire.swallow = {};
    await database.close();
    // Only daybook's end is closed. The proxy keeps both of its ends.
    await expect.poll(sockets).toBeLessThan(open);
  });
});

it('a process that was stopped for longer than its time-out still reads what came meanwhile', async () => {
  const { db } = await openWire();
  const answer = sql<{ n: number }>`SELECT 45 AS n`.execute(db);
  // The query is sent, and answered while this process does nothing else.
  await expect.poll(() => wire.takeStatements()).toContainEqual('SELECT 45 AS n');
  const until = performance.now() + SHORT.statementMs + 100;
  while (performance.now() < until) Math.sqrt(until);
  expect((await answer).rows).toEqual([{ n: 45 }]);
});

describe('the server is told how long to wait for us', () => {
  const shown = async (db: Parameters<typeof latestRuns>[0], name: string): Promise<unknown> =>
    (await sql<Record<string, unknown>>`SELECT current_setting(${name}) AS value`.execute(db)).rows[0]![
      'value'
    ];

  it('only inside a transaction, so that other programs behind a pooler do not notice it', async () => {
    const { db } = await openWire({ ...SHORT, idleInTransactionMs: 30_000 });
    const name = 'idle_in_transaction_session_timeout';
    expect(await db.transaction().execute((trx) => shown(trx, name))).toBe('30s');
    expect(await shown(db, name)).toBe('0');
    expect(await rehearse(db, (rehearsal) => shown(rehearsal, name))).toBe('15min');
    expect(await shown(db, name)).toBe('0');
    expect(await shown(db, 'tcp_keepalives_idle')).toBe('15');
    expect(await shown(db, 'tcp_user_timeout')).toBe('30000');
  });

  it('a holder that vanishes during a transaction only delays the next one for a moment', async () => {
    const { db } = await openWire({ ...SHORT, statementMs: 30_000, idleInTransactionMs: 4_000 });
    const name = 'night';
    const lost = await acquireLease(db, { name, holder: 'lost:1:-', ttlMs: 60_000 });
    await direct.db
      .updateTable('lease')
      .set({ expires_at: new Date(0) })
      .where('name', '=', name)
      .execute();
    const { promise: begun, resolve: begin } = Promise.withResolvers<undefined>();
    const vanished = writeTransaction(
      db,
      lost,
      async (trx) => {
        wire.swallow = {};
        begin(undefined);
        await sql`SELECT 46`.execute(trx);
      },
      [],
    ).catch((error: unknown) => error);
    await begun;
    const take = () => acquireLease(direct.db, { name, holder: 'next:1:-', ttlMs: 60_000, lockMs: 50 });
    const refusal = await failureOf(take());
    expect(refusal).toMatchObject({ name: 'LeaseHeld', exitCode: 5, holder: 'lost:1:-' });
    expect(refusal.message).toMatch(
      /is still open in the database \(server process \d+, from 127.0.0.1, open since \d.*Z\); lost:1:- held the lease last/,
    );
    await expect.poll(() => take().catch(() => null), { timeout: 30_000 }).toMatchObject({ epoch: 2 });
    await wire.close();
    expect(await vanished).toMatchObject({ name: 'StoreUnreachable' });
  });
});

describe('attempts end', () => {
  const cut = () => Promise.reject(Object.assign(new Error('cut'), { code: 'ECONNRESET' }));

  it('when the pauses are used up', async () => {
    const lost = await failureOf(retry(cut, { delaysMs: [1, 1] }));
    expect(lost).toMatchObject({ name: 'StoreUnreachable', isFinal: true });
    expect(lost.message).toMatch(/3 attempts failed: cut\. What was committed is kept/);
  });

  it('when each try waited long', async () => {
    let nowMs = 0;
    const endsMs = [RETRY_WITHIN_MS - 1, RETRY_WITHIN_MS];
    const slowly = () => {
      nowMs = endsMs.shift()!;
      return cut();
    };
    await expect(retry(slowly, { delaysMs: [1, 1, 1, 1], clock: () => nowMs })).rejects.toThrow(
      /2 attempts failed/,
    );
  });

  it('at once with an error that is none of the connection', async () => {
    let attempts = 0;
    const wrong = () => {
      attempts += 1;
      return Promise.reject(new TypeError('wrong'));
    };
    await expect(retry(wrong, { delaysMs: [1] })).rejects.toThrow('wrong');
    expect(attempts).toBe(1);
  });

  it('with the words of who asked, each failure cleaned up after', async () => {
    const seen: string[] = [];
    const ended = retry(cut, {
      delaysMs: [0],
      afterFailure: () => void seen.push('cleaned up'),
      atEnd: (_, attempts) => new Error(`ended after ${attempts}`),
    });
    await expect(ended).rejects.toThrow('ended after 2');
    expect(seen).toEqual(['cleaned up', 'cleaned up']);
  });
});

it('time limits fit the waits of PgBouncer, of the migration lock and of the lease', () => {
  const PGBOUNCER_LOGIN_RETRY_MS = 15_000;
  const KYSELY_MIGRATION_LOCK_MS = 3_600_000;
  const LEASE_MS = 60_000;
  expect(DATABASE_WAITS.connectMs).toBeGreaterThan(PGBOUNCER_LOGIN_RETRY_MS);
  expect(MIGRATION_WAITS.statementMs).toBeGreaterThan(KYSELY_MIGRATION_LOCK_MS);
  expect(DATABASE_WAITS.idleInTransactionMs).toBeLessThan(LEASE_MS);
});
