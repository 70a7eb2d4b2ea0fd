import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { exitCodeOf } from '../../src/run/verdict/exit-codes.ts';
import { boundedPool } from '../../src/store/engine/pool.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { Database } from '../../src/store/engine/database.ts';
import {
  DatabaseUnreachable,
  isConnectionError,
  isDatabaseTrouble,
  StoreUnreachable,
} from '../../src/store/engine/errors.ts';
import { finishRun, latestRuns, startRun } from '../../src/store/runs.ts';
import { DATABASE_WAITS } from '../../src/store/engine/retry.ts';
import { freshDatabase, type ServerDatabase } from '../support/database.ts';
import { startCuttingProxy, type Cut, type CuttingProxy } from '../support/cutting-proxy.ts';
import { NOW } from './support.ts';
import pg from 'pg';

const ROLE = `weak_${process.pid}`;
let admin: ServerDatabase;
let proxy: CuttingProxy;
let database: Database;

beforeAll(async () => {
  admin = await freshDatabase();
  proxy = await startCuttingProxy(admin.url);
  database = await openDatabase({ databaseUrl: proxy.url, dataDir: '' });
  await sql`CREATE ROLE ${sql.id(ROLE)} LOGIN PASSWORD 'weak'`.execute(admin.db);
});
afterAll(async () => {
  await database.close();
  await proxy.close();
  await sql`DROP ROLE ${sql.id(ROLE)}`.execute(admin.db);
  await admin.close();
});
beforeEach(() => {
  proxy.cuts.length = 0;
});

const failureOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => expect.unreachable('it went well'),
    (error: unknown) => error as Error,
  );
const run = { command: 'sync', holder: 'test:1:-', fromDay: null, toDay: null, now: NOW };

describe('a read during which the connection is lost', () => {
  it.each<Cut>([
    { message: 'from "run"', when: 'before' },
    { message: 'from "run"', when: 'after' },
    { message: 'SELECT 41', when: 'after' },
  ])('is repeated: connection cut $when $message, twice', async (cut) => {
    const id = await startRun(database.db, run);
    proxy.cuts.push(cut, cut);
    const reads = async () => [
      (await latestRuns(database.db, { limit: 1 }))[0]!.id,
      (await sql<{ n: number }>`SELECT 41 + 1 AS n`.execute(database.db)).rows[0]!.n,
    ];
    expect(await reads()).toEqual([id, 42]);
    expect(proxy.cuts).toEqual([]);
  });

  it('is repeated, however often its server processes are killed', { tags: ['long'] }, async () => {
    const { db, close } = await openDatabase({ databaseUrl: admin.url, dataDir: '' });
    const waiting = sql<{ pid: number }>`
      SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    const LOCK = 4_711;
    const reading: Promise<number>[] = [];
    await admin.db.connection().execute(async (holder) => {
      await sql`SELECT pg_advisory_lock(${LOCK})`.execute(holder);
      const read = (n: number) => sql<{ n: number }>`SELECT ${n}::int AS n, pg_advisory_lock_shared(${LOCK})`;
      reading.push(...[1, 2, 3].map(async (n) => (await read(n).execute(db)).rows[0]!.n));
      for (let killed = 0; killed < 2; killed += 1) {
        await expect.poll(async () => (await waiting.execute(admin.db)).rows.length).toBe(3);
        for (const { pid } of (await waiting.execute(admin.db)).rows)
          await sql`SELECT pg_terminate_backend(${pid}, 10000)`.execute(admin.db);
      }
      await sql`SELECT pg_advisory_unlock(${LOCK})`.execute(holder);
    });
    expect(await Promise.all(reading)).toEqual([1, 2, 3]);
    await close();
  });

  it('is given up after the last pause, with what to do', async () => {
    const waits = { ...DATABASE_WAITS, retryDelaysMs: [1, 1] };
    const { db, close } = await openDatabase({ databaseUrl: proxy.url, dataDir: '', waits });
    proxy.cuts.push(...Array.from({ length: 3 }, (): Cut => ({ message: 'from "run"', when: 'before' })));
    const failure = await failureOf(latestRuns(db, { limit: 1 }));
    expect(failure).toMatchObject({ name: 'StoreUnreachable', isFinal: true, exitCode: 4 });
    expect(failure.message).toMatch(
      /3 attempts failed: Connection terminated.*the same command takes up from there/,
    );
    // The caller must not retry it, as it was retried enough.
    expect(isConnectionError(failure)).toBe(false);
    expect(await latestRuns(db, { limit: 1 })).toHaveLength(1);
    await close();
  });
});

describe('statements that are not repeated', () => {
  it('a single write: nobody knows whether it arrived', async () => {
    const id = await startRun(database.db, run);
    proxy.cuts.push({ message: 'update "run"', when: 'after' });
    const failure = await failureOf(finishRun(database.db, id, { exitCode: 0, figures: {}, now: NOW }));
    expect(failure).toMatchObject({
      ...{ name: 'StoreUnreachable', isFinal: false },
      message:
        'the connection to the database was lost: Connection terminated unexpectedly. What was committed is kept; ' +
        'once the server is up, the same command takes up from there.',
    });
    expect(isConnectionError(failure)).toBe(true);
  });

  it('a read after another statement on its connection, which a new connection would not know of', async () => {
    proxy.cuts.push({ message: 'SELECT 43', when: 'before' });
    const failure = await failureOf(
      database.db.transaction().execute(async (trx) => {
        await sql`SET LOCAL work_mem = '1MB'`.execute(trx);
        return sql`SELECT 43`.execute(trx);
      }),
    );
    expect(exitCodeOf(failure)).toBe(4);
    proxy.cuts.push({ message: 'SELECT 44', when: 'before' });
    const alike = database.db.connection().execute(async (one) => {
      await sql`SET work_mem = '1MB'`.execute(one);
      return sql`SELECT 44`.execute(one);
    });
    expect(exitCodeOf(await failureOf(alike))).toBe(4);
  });
});

it('a connection that was refused at once is tried again at once', async () => {
  const pool = new pg.Pool();
  let attempts = 0;
  pool.connect = () => {
    attempts += 1;
    return Promise.reject(new Error(`refused ${attempts}`));
  };
  const { connect } = boundedPool(pool, { ...DATABASE_WAITS, againMs: 60_000 });
  const ask = async () => (await connect()).query('SET x TO y', []);
  // Only a process that runs for longer than connecting may take can mistake the one time for the other.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(10 * DATABASE_WAITS.connectMs);
  onTestFinished(() => {
    clock.mockRestore();
  });
  await expect(ask()).rejects.toThrow('refused 1');
  await expect(ask()).rejects.toThrow('refused 2');
});

it.each<[string, unknown, boolean]>([
  ['no server', new DatabaseUnreachable('no answer'), true],
  [
    'a server that was lost, after all attempts',
    new StoreUnreachable('3 attempts failed', { isFinal: true }),
    true,
  ],
  ['a connection that was cut', Object.assign(new Error('cut'), { code: 'ECONNRESET' }), true],
  ['a full disk', Object.assign(new Error('full'), { code: '53100' }), true],
  ['a row that breaks a rule of the tables', Object.assign(new Error('not so'), { code: '23505' }), false],
  ['a value that no column holds', Object.assign(new Error('too large'), { code: '22003' }), false],
  ['an error of daybook itself', new TypeError('wrong'), false],
])('whether every other caller would fail as well: %s', (_, error, isOfAll) => {
  expect(isDatabaseTrouble(error)).toBe(isOfAll);
});

describe('a fault of the server is reported as such, with its code and what to do', () => {
  const asRole = (change: (url: URL) => void = () => undefined): string => {
    const url = new URL(admin.url);
    url.username = ROLE;
    url.password = 'weak';
    change(url);
    return url.href;
  };
  /** The error of a statement on a connection of its own, with these settings of the session. */
  async function endOf(options: string, statement: string, url = admin.url): Promise<unknown> {
    const opened = new URL(url);
    opened.searchParams.set('options', options);
    const one = await openDatabase({ databaseUrl: opened.href, dataDir: '' });
    const failure = await failureOf(sql.raw(statement).execute(one.db));
    await one.close();
    return failure;
  }

  it.each<[string, string, string, number, string, RegExp]>([
    [
      'statement_timeout',
      '-c statement_timeout=50',
      'SELECT pg_sleep(9)',
      4,
      '57014',
      /Raise statement_timeout/,
    ],
    [
      'read-only',
      '-c default_transaction_read_only=on',
      "INSERT INTO lease (name, epoch) VALUES ('x', 1)",
      4,
      '25006',
      /the server that takes writes/,
    ],
    [
      'temporary space used up',
      '-c temp_file_limit=64 -c work_mem=64',
      'SELECT count(*) FROM (SELECT g FROM generate_series(1, 200000) g ORDER BY md5(g::text)) t',
      4,
      '53400',
      /is full.*Free some space/,
    ],
  ])('%s', async (_, options, statement, exitCode, code, said) => {
    const failure = await endOf(options, statement);
    expect(failure).toMatchObject({ exitCode, code, message: expect.stringMatching(said) });
  });

  it('a lock that is not released', async () => {
    const failure = await admin.db.transaction().execute(async (trx) => {
      await sql`LOCK TABLE lease`.execute(trx);
      return endOf('-c lock_timeout=50', 'SELECT * FROM lease');
    });
    expect(failure).toMatchObject({ name: 'DatabaseLocked', exitCode: 4, code: '55P03' });
  });

  it('a table without permission to read', async () => {
    const failure = await endOf('', 'SELECT * FROM lease', asRole());
    expect(failure).toMatchObject({ name: 'DatabaseRefused', exitCode: 2, code: '42501' });
  });

  it('a password that changes, and a database that is removed, while daybook runs', async () => {
    const one = await openDatabase({ databaseUrl: asRole(), dataDir: '' });
    await sql`ALTER ROLE ${sql.id(ROLE)} PASSWORD 'another'`.execute(admin.db);
    await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ${ROLE}`.execute(
      admin.db,
    );
    const failure = await failureOf(sql`SELECT 1`.execute(one.db));
    await sql`ALTER ROLE ${sql.id(ROLE)} PASSWORD 'weak'`.execute(admin.db);
    await one.close();
    expect(failure).toMatchObject({ name: 'DatabaseRefused', exitCode: 2, code: '28P01' });
    expect(failure.message).toMatch(/Check user, password/);
  });

  it.each<[string, (url: URL) => void, number, RegExp]>([
    [
      'a wrong password',
      (url) => (url.password = 'hunter2'),
      2,
      /refuses daybook: password authentication failed/,
    ],
    ['no password', (url) => (url.password = ''), 2, /refuses daybook: .*password/],
    [
      'no such database',
      (url) => (url.pathname = '/nowhere'),
      2,
      /refuses daybook: database "nowhere" does not exist/,
    ],
    [
      'no such user',
      (url) => (url.username = 'nobody'),
      2,
      /refuses daybook: password authentication failed/,
    ],
    ['encryption it has not', (url) => url.searchParams.set('sslmode', 'require'), 2, /refuses daybook.*SSL/],
    ['nobody listening', (url) => (url.port = '1'), 4, /cannot be reached.*ECONNREFUSED/],
  ])('on opening: %s', async (_, spoil, exitCode, said) => {
    const failure = await failureOf(openDatabase({ databaseUrl: asRole(spoil), dataDir: '' }));
    expect(failure).toMatchObject({ exitCode, message: expect.stringMatching(said) });
    expect(failure.message).toContain('127.0.0.1');
    expect(failure.message).not.toMatch(/hunter2|:weak/);
  });

  it('no free connection when opening', async () => {
    await sql`ALTER ROLE ${sql.id(ROLE)} CONNECTION LIMIT 0`.execute(admin.db);
    const failure = await failureOf(openDatabase({ databaseUrl: asRole(), dataDir: '' }));
    await sql`ALTER ROLE ${sql.id(ROLE)} CONNECTION LIMIT -1`.execute(admin.db);
    expect(failure).toMatchObject({ name: 'DatabaseUnreachable', exitCode: 4 });
  });

  it('a bug in daybook stays a fault', async () => {
    expect(exitCodeOf(await endOf('', 'SELECT no_such_column FROM run'))).toBe(70);
    expect(exitCodeOf(await endOf('', 'SELEKT 1'))).toBe(70);
  });
});
