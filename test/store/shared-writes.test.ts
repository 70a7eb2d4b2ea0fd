/** Writes of several merchants in one statement: each under its own lease, and none suffers from another one. */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import { saveChainedUnderLease, type Chained } from '../../src/store/chaining.ts';
import type { WindowToStore } from '../../src/store/compare-with-stored.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { rowsOf, type Database, type Db } from '../../src/store/engine/database.ts';
import { StoreUnreachable } from '../../src/store/engine/errors.ts';
import { acquireLease, LeaseLost, merchantLease, type Lease } from '../../src/store/engine/lease.ts';
import { sharedWrite } from '../../src/store/engine/write-transaction.ts';
import { startRun } from '../../src/store/runs.ts';
import { storePlain } from '../../src/store/windows.ts';
import { startCuttingProxy, type CuttingProxy } from '../support/cutting-proxy.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';
import { startFaultyWire, type FaultyWire } from '../support/faulty-wire.ts';
import { certified, entry, NOW } from './support.ts';

const DAY = '2026-03-09';

let direct: Database;
let wire: FaultyWire;
let wired: Database;
let proxy: CuttingProxy;
let cut: Database;
let a: Lease;
let b: Lease;
let runId: number;
beforeAll(async () => {
  const fresh = await freshDatabase();
  direct = fresh;
  wire = await startFaultyWire(fresh.url);
  wired = await openDatabase({ databaseUrl: wire.url, dataDir: '' });
  proxy = await startCuttingProxy(fresh.url);
  cut = await openDatabase({ databaseUrl: proxy.url, dataDir: '' });
});
beforeEach(async () => {
  proxy.cuts.length = 0;
  await emptyTables(direct.db);
  const take = (merchantNo: string) =>
    acquireLease(direct.db, { name: merchantLease(merchantNo), holder: 'test:1:-', ttlMs: 60_000 });
  [a, b] = [await take('A'), await take('B')];
  runId = await startRun(direct.db, {
    ...{ command: 'sync', holder: 'test:1:-', fromDay: null, toDay: null, now: NOW },
  });
  wire.takeStatements();
});
afterAll(async () => {
  await cut.close();
  await proxy.close();
  await wired.close();
  await wire.close();
  await direct.close();
});

const chained = (
  closing: string,
  verdict: Chained['figures'][number]['verdict'] = 'continuous',
): Chained => ({
  figures: [
    {
      ...{ currency: 'USD', day: DAY, opening: '0.00', creditTotal: closing, creditCount: 1 },
      ...{ debitTotal: '0.00', debitCount: 0, closing, verdict, breakCount: 0, breaksAfter: 0 },
      ...{ lastBatchNo: 'B1', lastBookedMs: 1, restarted: false, isOrderFinal: true, startsWithBreak: false },
    },
  ],
  done: [{ currency: 'USD', day: DAY }],
  left: [],
  gapless: [{ currency: 'USD', from: DAY, through: DAY }],
});
const save = (db: Db, lease: Lease, merchantNo: string, made: Chained) =>
  saveChainedUnderLease(db, lease, merchantNo, made);
/** What each merchant's day closes on, and since which day it has figures. */
const saved = (db: Db = direct.db) => rowsOf(db)<{ of: string; closing: string; since: string | null }>`
  SELECT merchant_no AS of, closing, figured_from AS since
  FROM account_day LEFT JOIN ledger_cursor USING (merchant_no, currency) ORDER BY merchant_no`;
const OF_A = { of: 'A', closing: '1.00', since: DAY };
const OF_B = { of: 'B', closing: '2.00', since: DAY };
const statements = () =>
  wire.takeStatements().filter((one) => one.includes('INSERT INTO account_day')).length;

it('writes of two merchants in one moment are one statement, and each is stored', async () => {
  await Promise.all([save(wired.db, a, 'A', chained('1.00')), save(wired.db, b, 'B', chained('2.00'))]);
  expect(statements()).toBe(1);
  expect(await saved()).toEqual([OF_A, OF_B]);
});

it('one whose lease was taken over has lost it, and the other one is stored', async () => {
  const lost = { ...a, epoch: a.epoch - 1 };
  const [first, second] = await Promise.allSettled([
    save(wired.db, lost, 'A', chained('1.00')),
    save(wired.db, b, 'B', chained('2.00')),
  ]);
  expect(first).toMatchObject({ status: 'rejected', reason: expect.any(LeaseLost) as unknown });
  expect(second).toMatchObject({ status: 'fulfilled' });
  expect(await saved()).toEqual([OF_B]);
});

it('one whose lease somebody has locked waits for that alone; the other one is stored meanwhile', async () => {
  let writes: Promise<unknown>;
  await direct.db.transaction().execute(async (trx) => {
    await sql`SELECT FROM lease WHERE name = ${a.name} FOR UPDATE`.execute(trx);
    writes = Promise.all([save(wired.db, a, 'A', chained('1.00')), save(wired.db, b, 'B', chained('2.00'))]);
    const isWaiting = async () => (await rowsOf(trx)`SELECT FROM pg_locks WHERE NOT granted`).length > 0;
    await expect.poll(isWaiting).toBe(true);
    await expect.poll(() => saved(trx)).toEqual([OF_B]);
    // No later one waits for it either.
    await save(wired.db, b, 'B', chained('3.00'));
    expect(await saved(trx)).toEqual([{ ...OF_B, closing: '3.00' }]);
  });
  await writes!;
  expect(await saved()).toEqual([OF_A, { ...OF_B, closing: '3.00' }]);
});

it('one whose lease is taken over while it waits has lost it', async () => {
  let writes: Promise<PromiseSettledResult<void>[]>;
  await direct.db.transaction().execute(async (trx) => {
    await sql`UPDATE lease SET epoch = epoch + 1 WHERE name = ${a.name}`.execute(trx);
    writes = Promise.allSettled([
      save(wired.db, a, 'A', chained('1.00')),
      save(wired.db, b, 'B', chained('2.00')),
    ]);
    const isWaiting = async () => (await rowsOf(trx)`SELECT FROM pg_locks WHERE NOT granted`).length > 0;
    await expect.poll(isWaiting).toBe(true);
  });
  expect((await writes!).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  expect(await saved()).toEqual([OF_B]);
});

it('one that the database refuses fails alone, and the other one is stored', async () => {
  const [first, second] = await Promise.allSettled([
    save(wired.db, a, 'A', chained('1.00', 'none' as 'broken')),
    save(wired.db, b, 'B', chained('2.00')),
  ]);
  expect(first).toMatchObject({ status: 'rejected', reason: { code: '23514' } });
  expect(second).toMatchObject({ status: 'fulfilled' });
  expect(await saved()).toEqual([OF_B]);
});

it.each(['before', 'after'] as const)(
  'a connection cut %s the server got the shared statement: each is saved, and both go on',
  async (when) => {
    proxy.cuts.push({ message: 'INSERT INTO account_day', when });
    await Promise.all([save(cut.db, a, 'A', chained('1.00')), save(cut.db, b, 'B', chained('2.00'))]);
    expect(proxy.cuts).toEqual([]);
    expect(await saved()).toEqual([OF_A, OF_B]);
  },
);

/** Stores one new entry of the merchant, with its certificate. */
function storeNew(db: Db, lease: Lease, merchantNo: string, day = DAY) {
  const part: WindowToStore = {
    ...{ merchantNo, window: dayWindow(day, 'UTC'), currency: null, runId, now: NOW },
    reading: certified([entry(1, { batchNo: `of ${day}` })]),
  };
  const closed = { lacking: [], isAbsenceOpen: false, isQuarantineOpen: false, isFailureOpen: false };
  const unstored = { ...closed, entries: part.reading.entries, isCertificateOpen: true };
  return storePlain(db, lease, [{ part, unstored }], part.reading.entries);
}
const entries = () => rowsOf(direct.db)<{ of: string; version: number; certificates: number }>`
  SELECT merchant_no AS of, version, (SELECT count(*) FROM sync_window w WHERE w.merchant_no = e.merchant_no) AS certificates
  FROM ledger_entry e ORDER BY merchant_no`;

it.each([
  ['before', { inserted: 1, isAll: true }],
  ['after', { inserted: 1, isAll: false }],
] as const)(
  'new entries of two merchants, the connection cut %s the server got them: each is stored once, and both know it',
  async (when, answer) => {
    proxy.cuts.push({ message: 'INSERT INTO ledger_entry', when });
    expect(await Promise.all([storeNew(cut.db, a, 'A'), storeNew(cut.db, b, 'B')])).toEqual([answer, answer]);
    expect(proxy.cuts).toEqual([]);
    const stored = { version: 1, certificates: 1 };
    expect(await entries()).toEqual([
      { of: 'A', ...stored },
      { of: 'B', ...stored },
    ]);
  },
);

it('two readings of one merchant in one moment: each counts the entries of its own alone', async () => {
  const stored = await Promise.all([
    storeNew(wired.db, a, 'A'),
    storeNew(wired.db, a, 'A', addDays(DAY, 1)),
    storeNew(wired.db, b, 'B'),
  ]);
  expect(stored).toEqual(stored.map(() => ({ inserted: 1, isAll: true })));
  expect((await entries()).map(({ of }) => of)).toEqual(['A', 'A', 'B']);
});

it('after a lost answer each is sent alone, as one that was sent before, and the lost attempt writes nothing later', async () => {
  const sent: { readonly of: string; readonly isAgain: boolean }[] = [];
  const late: (() => Promise<unknown>)[] = [];
  const write = sharedWrite<{ readonly merchantNo: string }, true>(async (db, asks, held, isAgain) => {
    const of = asks.map(({ merchantNo }) => merchantNo).join('');
    sent.push({ of, isAgain });
    const insert = async () => {
      const { rows } = await sql<{ nth: number }>`
        INSERT INTO day_entries (merchant_no, currency, day) SELECT ${of} || nth, 'USD', ${DAY}::date FROM ${held} AS held
        RETURNING right(merchant_no, 1)::int AS nth`.execute(db);
      return asks.map((_, at) => rows.some(({ nth }) => nth === at + 1) || null);
    };
    if (isAgain) return insert();
    late.push(insert);
    throw new StoreUnreachable('lost', { cause: Object.assign(new Error('cut'), { code: '08006' }) });
  });
  const both = [write(direct.db, a, { merchantNo: 'A' }), write(direct.db, b, { merchantNo: 'B' })];
  expect(await Promise.all(both)).toEqual([true, true]);
  expect(sent).toHaveLength(3);
  expect(sent).toEqual(
    expect.arrayContaining([
      { of: 'AB', isAgain: false },
      { of: 'A', isAgain: true },
      { of: 'B', isAgain: true },
    ]),
  );
  await late[0]!();
  const rows = await rowsOf(direct.db)<{ of: string }>`SELECT merchant_no AS of FROM day_entries ORDER BY of`;
  expect(rows.map(({ of }) => of)).toEqual(['A1', 'B1']);
});
