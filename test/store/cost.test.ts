/**
 * Cost depends on new work only: every query finds its rows by an index, whatever the planner assumes about the
 * table.
 *
 * @module-tag long
 */
import { sql, type Kysely } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dayOf } from '../../src/ledger/business-day.ts';
import { certifiedWindows } from '../../src/store/certificates.ts';
import { accountsOf } from '../../src/ledger/account-filter.ts';
import { chainFacts } from '../../src/store/chain-facts.ts';
import { listAccounts, readAccount } from '../../src/store/entries.ts';
import { findEntries } from '../../src/store/entry-history.ts';
import { storeWindow } from '../support/store-window.ts';
import type { WindowReading } from '../../src/store/compare-with-stored.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import { startRun } from '../../src/store/runs.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { dayFacts } from '../../src/store/day-facts.ts';
import { entriesOfDays, pastOfDays } from '../../src/store/statements/past-of-days.ts';
import { monthRows } from '../../src/months/month.ts';
import { publishedDays } from '../../src/store/statements/stored-files.ts';
import { unusedDatabase } from '../support/database.ts';
import { rowsLookedAt } from './rows-looked-at.ts';
import { certified, DAY, entry, MERCHANT, NOW } from './support.ts';

const OLD_ENTRIES = 40_000;
const NEW_ENTRIES = 100;
const WEEK_MS = 7 * 86_400_000;

/** Two merchants with years of entries, days and statements in three currencies, and one certificate per day. One day is due. */
async function fill(db: Kysely<DB>): Promise<void> {
  await sql`
    INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, balance, booked_at, booked_ms, first_seen_at)
    SELECT 'M100' || (1 + n % 2), 'OLD' || n, (ARRAY['EUR', 'HKD', 'USD'])[1 + n % 3], '1', 1, n,
      to_timestamp(at / 1000) AT TIME ZONE 'UTC', at, ${NOW}
    FROM generate_series(1, ${OLD_ENTRIES}) n, LATERAL (SELECT ${DAY.beginMs} - n * 3600000::bigint AS at) t`.execute(
    db,
  );
  await sql`
    INSERT INTO certificate (merchant_no, day, begin_ms, through_ms, total, entries, unreadable, requests, read_at, chained)
    SELECT 'M100' || (1 + n % 2), (to_timestamp(at / 1000) AT TIME ZONE 'UTC')::date, at, at + 86399999, 1, 1, 0, 1, ${NOW}, true
    FROM generate_series(1, ${OLD_ENTRIES} / 12) n, LATERAL (SELECT ${DAY.beginMs} - ((n + 1) / 2) * 86400000::bigint AS at) t`.execute(
    db,
  );
  await sql`
    INSERT INTO statement (merchant_no, currency, day, revision, sha256, byte_count, row_count, object_key, opening,
      credit_total, credit_count, debit_total, debit_count, closing, verdict, break_count, published_at)
    SELECT 'M100' || (1 + n % 2), (ARRAY['EUR', 'HKD', 'USD'])[1 + n % 3],
      ${dayOf(DAY.beginMs, 'UTC')}::date - (1 + n / 6), 1, '', 1, 1, 'key' || n, 0, 0, 0, 0, 0, 0,
      'continuous', 0, ${NOW}
    FROM generate_series(1, ${OLD_ENTRIES}) n`.execute(db);
  await sql`
    INSERT INTO account_day (merchant_no, currency, day, opening, credit_total, credit_count, debit_total, debit_count,
      closing, verdict, published_version)
    SELECT merchant_no, currency, day, 0, 0, 0, 0, 0, 0, 'continuous', 1 FROM statement
    UNION ALL SELECT ${MERCHANT}, 'USD', ${dayOf(DAY.beginMs, 'UTC')}::date, 0, 0, 100, 0, 0, 0, 'continuous', 0`.execute(
    db,
  );
  // As if all but that day had been chained and published.
}

async function drain(batches: AsyncIterable<unknown>): Promise<void> {
  for await (const batch of batches) expect(batch).not.toEqual([]);
}

describe.each([
  ['never looked at the tables', []],
  ['looked at them while they were empty', ['before']],
  ['knows them as they are', ['after']],
] as const)('a planner that %s', (_, analyze) => {
  let database: Database;
  let db: Kysely<DB>;
  let lease: Lease;
  let runId: number;
  beforeAll(async () => {
    database = await unusedDatabase();
    db = database.db;
    if (analyze[0] === 'before') await sql`ANALYZE`.execute(db);
    await fill(db);
    if (analyze[0] === 'after') await sql`ANALYZE`.execute(db);
    lease = await acquireLease(db, { name: 'ledger', holder: 'test:1:-', ttlMs: 60_000 });
    runId = await startRun(db, { command: 'sync', holder: 'test:1:-', fromDay: null, toDay: null, now: NOW });
  });
  afterAll(() => database.close());

  const keep = (reading: WindowReading) => () =>
    storeWindow(db, lease, { merchantNo: MERCHANT, window: DAY, reading, runId, now: NOW });
  const fresh = Array.from({ length: NEW_ENTRIES }, (__, n) => entry(n));
  const other = fresh.slice(1).map((one, n) => (n % 2 === 0 ? one : { ...one, balance: '1.00' }));

  it.each([
    ['stores new entries', () => keep(certified(fresh))],
    ['finds them unchanged', () => keep(certified(fresh))],
    ['amends half and finds one vanished', () => keep(certified(other))],
    ['takes them all back', () => keep(certified(fresh))],
    [
      "reads an account's day",
      () => () => drain(readAccount(db, { merchantNo: MERCHANT, currency: 'USD' }, DAY)),
    ],
    [
      'reads the day of an account without entries',
      () => () => drain(readAccount(db, { merchantNo: MERCHANT, currency: 'GBP' }, DAY)),
    ],
    ["lists a merchant's currencies", () => () => listAccounts(db, MERCHANT)],
    ['finds an entry by its number', () => () => findEntries(db, 'OLD777', null)],
    ["finds a merchant's entry by its number", () => () => findEntries(db, 'OLD777', ['M1001'])],
    ['tells what is proven of the day', () => () => certifiedWindows(db, MERCHANT, DAY)],
    [
      'tells what is published and proven of the day',
      () => () => pastOfDays(db, MERCHANT, [dayOf(DAY.beginMs, 'UTC')], 'UTC'),
    ],
    [
      'tells what was published of some days, and what was read back',
      () => () =>
        publishedDays(db, {
          ...{
            merchantNo: MERCHANT,
            fromDay: dayOf(DAY.beginMs - WEEK_MS, 'UTC'),
            toDay: dayOf(DAY.beginMs, 'UTC'),
          },
        }),
    ],
    [
      'reads the entries of small days of several accounts',
      () => () =>
        entriesOfDays(
          db,
          MERCHANT,
          ['EUR', 'GBP', 'USD'].map((currency) => ({
            currency,
            day: dayOf(DAY.beginMs, 'UTC'),
            window: DAY,
          })),
        ),
    ],
    [
      "reads a merchant's month",
      () => () =>
        monthRows(db, { merchantNo: MERCHANT, currencies: null }, { from: '2026-03-01', to: '2026-03-31' }),
    ],
    [
      'tells the states of days, and which were revised since their download',
      () => () =>
        dayFacts(
          db,
          ['EUR', 'HKD', 'USD'].map((currency) => ({ merchantNo: 'M1002', currency })),
          { from: '2026-03-01', to: '2026-03-31', window: DAY, by: { name: 'Ada', zone: 'UTC' } },
        ),
    ],
  ])('%s by reading at most that many rows', async (__, work) => {
    expect(await rowsLookedAt(db, work())).toBeLessThan(15 * NEW_ENTRIES);
  });

  // Each complete day once in each account, along the keys of certificates and of figures.
  it('tells what is to be chained by reading each day once', async () => {
    const work = () => chainFacts(db, accountsOf(MERCHANT), 'UTC');
    expect(await rowsLookedAt(db, work)).toBeLessThan(14_000);
  });

  // Each by its key, and the day once more: that is what a hold is decided by.
  it('holds a day of which nothing is left by reading at most that many rows', async () => {
    expect(await rowsLookedAt(db, keep(certified([])))).toBeLessThan(30 * NEW_ENTRIES);
    await keep(certified(fresh))();
  });
});
