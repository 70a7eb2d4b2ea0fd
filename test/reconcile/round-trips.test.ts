/** How many statements it takes to chain a merchant's night. */
import type { Kysely } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { listAccountDays } from '../../src/store/account-days.ts';
import { ENTRIES_A_DAY_MAX } from '../../src/store/chaining.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { writeTransaction } from '../../src/store/engine/write-transaction.ts';
import { keepNotices } from '../../src/store/notices.ts';
import { freshDatabase, type ServerDatabase } from '../support/database.ts';
import { startFaultyWire, type FaultyWire } from '../support/faulty-wire.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { MERCHANT, openReadLedger, type ReadLedger } from '../support/read-ledger.ts';

const FIRST = '2026-03-01';
const dayAt = (nth: number): string => addDays(FIRST, nth);
/** Seven days read again, and the one after them. */
const SWEPT = { from: dayAt(-5), to: dayAt(3) };
const KNOWN = { hasBreaks: false };
/** The read; BEGIN, the lease, the write and COMMIT. */
const PLAIN = 5;

let database: ServerDatabase;
let ledger: ReadLedger;
let wire: FaultyWire;
let wired: Kysely<DB>;
let close: (() => Promise<unknown>)[];

beforeEach(async () => {
  database = await freshDatabase();
  wire = await startFaultyWire(database.url);
  const opened = await openDatabase({ databaseUrl: wire.url, dataDir: '' });
  wired = opened.db;
  close = [opened.close, wire.close, database.close];
  ledger = await openReadLedger(database.db);
  await wired.selectFrom('lease').selectAll().execute();
  wire.takeStatements();
});
afterEach(async () => {
  for (const one of close) await one();
});

/** So many entries on each of these days, in one currency. */
const entriesOf = (currency: string, aDay: readonly number[]): LedgerEntry[] =>
  accountEntries(
    100_00,
    aDay.flatMap((count, nth) =>
      Array.from({ length: count }, (_, at): [string, number] => [
        `${dayAt(nth)} ${new Date(at * 60_000).toISOString().slice(11, 19)}`,
        1_00,
      ]),
    ),
    currency[0],
  ).map((entry) => ({ ...entry, currency }));

/** Reconciles through the wire. Returns the number of statements. */
async function statementsOf(change: Parameters<ReadLedger['reconciled']>[0] = {}): Promise<number> {
  await ledger.reconciled({ db: wired, known: KNOWN, days: SWEPT, ...change });
  return wire.takeStatements().filter((statement) => !statement.startsWith('SET datestyle')).length;
}

const figures = async () =>
  (await listAccountDays(database.db)).map((d) => `${d.currency} ${d.day} ${d.credit_count} ${d.closing}`);

/** Two days are chained and published before; the third is read now. */
async function thirdDay(aDay: Readonly<Record<string, readonly number[]>>): Promise<void> {
  const all = Object.entries(aDay).flatMap(([currency, counts]) => entriesOf(currency, counts));
  await ledger.synced(all, [dayAt(0), dayAt(1)]);
  await ledger.reconciled();
  await ledger.synced(all, [dayAt(2)]);
}

test.each<[string, Record<string, readonly number[]>]>([
  ['a day of one account', { USD: [20, 20, 20] }],
  ['a day of three accounts', { EUR: [20, 20, 20], HKD: [1, 1, 1], USD: [20, 20, 20] }],
  ['a day on which one of two accounts is quiet', { EUR: [20, 20, 20], USD: [20, 20, 0] }],
  ['the first day of an account', { EUR: [20, 20, 20], USD: [0, 0, 20] }],
])('%s takes one read and one write', async (_, aDay) => {
  await thirdDay(aDay);
  expect(await statementsOf()).toBe(PLAIN);
  expect((await figures()).filter((one) => one.includes(dayAt(2)))).toEqual(
    Object.entries(aDay).map(
      ([currency, counts]) =>
        `${currency} ${dayAt(2)} ${counts[2]!} ${100 + counts.reduce((sum, count) => sum + count, 0)}.00`,
    ),
  );
});

test('so do yesterday and the first hours of today', async () => {
  await thirdDay({ USD: [20, 20, 20, 3] });
  await ledger.synced(entriesOf('USD', [20, 20, 20, 3]), [dayAt(3)]);
  expect(await statementsOf()).toBe(PLAIN);
  expect((await figures()).slice(-2)).toEqual([`USD ${dayAt(2)} 20 160.00`, `USD ${dayAt(3)} 3 163.00`]);
});

test('where nothing changed, there is one read alone', async () => {
  await thirdDay({ EUR: [20, 20, 20], USD: [20, 20, 0] });
  await ledger.reconciled();
  expect(await statementsOf()).toBe(1);
});

test.each([ENTRIES_A_DAY_MAX - 1, ENTRIES_A_DAY_MAX, 3 * ENTRIES_A_DAY_MAX])(
  'of a day of %i entries the rest is read as it is chained',
  async (count) => {
    await thirdDay({ USD: [20, 20, count] });
    expect(await statementsOf()).toBe(count < ENTRIES_A_DAY_MAX ? PLAIN : PLAIN + 1);
    expect((await figures()).at(-1)).toBe(`USD ${dayAt(2)} ${count} ${140 + count}.00`);
  },
);

test('an old day that changed is chained alone, however long the row of days with figures after it is', async () => {
  const days = Array.from({ length: 12 }, (_, nth) => dayAt(nth));
  const all = entriesOf('USD', [20, 20, 20, 0, 20, 0, 20, 20, 20, 20, 20, 20]);
  for (const [from, to] of [
    [0, 8],
    [8, 10],
    [10, 12],
  ]) {
    await ledger.synced(all, days.slice(from, to));
    await ledger.reconciled();
  }
  const amended = all.map((entry, nth) => (nth === 25 ? { ...entry, transactionType: 'X' } : entry));
  await ledger.synced(amended, [dayAt(1)]);
  expect(await ledger.reconciled()).toMatchObject({ daysChained: 1 });
  // So is a day before the first one, and the first one with it.
  const earlier = accountEntries(90_00, [[`${dayAt(-1)} 10:00:00`, 10_00]], 'P').map((entry) => ({
    ...entry,
    currency: 'USD',
  }));
  await ledger.synced(earlier, [dayAt(-1)]);
  expect(await ledger.reconciled()).toMatchObject({ daysChained: 2 });
});

test('days elsewhere get the same figures with more statements', async () => {
  await thirdDay({ EUR: [20, 20, 20], USD: [20, 20, 20] });
  expect(await statementsOf({ days: { from: '2025-01-01', to: '2025-01-02' } })).toBeGreaterThan(PLAIN);
  expect((await figures()).slice(-2)).toEqual([`EUR ${dayAt(2)} 20 160.00`, `USD ${dayAt(2)} 20 160.00`]);
});

test('an account that cannot be chained keeps no other one from being saved', async () => {
  await thirdDay({ EUR: [20, 20, 20], USD: [20, 20, 1] });
  const [own] = entriesOf('USD', [0, 0, 1]);
  const misplaced = { ...own!, batchNo: 'A-OTHER', bookedAt: `${dayAt(3)} 00:00:00` };
  await ledger.certified({ beginMs: own!.bookedMs, endMs: own!.bookedMs }, [misplaced, own!]);
  await database.db.deleteFrom('changed_day').where('day', '=', dayAt(3)).execute();
  await expect(ledger.reconciled({ days: SWEPT })).rejects.toThrow('another time zone');
  expect((await figures()).at(-1)).toBe(`EUR ${dayAt(2)} 20 160.00`);
});

test('which days hold entries is told as the chain leaves them', async () => {
  await thirdDay({ EUR: [20, 20, 20], USD: [20, 20, 0] });
  const seen = async () => (await ledger.reconciled({ days: SWEPT })).seen;
  const daysAt = (...nths: readonly number[]) => new Set(nths.map(dayAt));
  expect(await seen()).toMatchObject({ busy: [daysAt(0, 1, 2), daysAt(0, 1)] });
  await ledger.synced(entriesOf('EUR', [20, 20, 20]), [dayAt(1)]);
  expect(await seen()).toMatchObject({ busy: [daysAt(0, 1, 2), daysAt(0)] });
  expect(
    (await ledger.reconciled({ accounts: { merchantNo: MERCHANT, currencies: ['EUR'] } })).seen,
  ).toBeNull();
});

test('an account may open on a balance until there is a notice of it, and again with another first day', async () => {
  const all = entriesOf('USD', [20, 20, 20]);
  const mayOpen = async () => (await ledger.reconciled()).seen?.mayOpenOnBalance;
  await ledger.synced(all, [dayAt(1)]);
  expect(await mayOpen()).toBe(true);
  expect(await mayOpen()).toBe(true);
  const figures = { opening: '120.00' };
  await writeTransaction(database.db, ledger.lease, (trx) =>
    keepNotices(trx, [{ kind: 'first', merchantNo: MERCHANT, currency: 'USD', day: dayAt(1), figures }], {
      runId: ledger.runId,
      now: ledger.now,
    }),
  );
  expect(await mayOpen()).toBe(false);
  await ledger.synced(all, [dayAt(2)]);
  expect(await mayOpen()).toBe(false);
  await ledger.synced(all, [dayAt(0)]);
  expect(await mayOpen()).toBe(true);
});
