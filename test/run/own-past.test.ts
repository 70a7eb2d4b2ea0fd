/** What a night reads of its own past does not grow with it: a merchant with two years stored costs what one with nine days does. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import { createCurrencies } from '../../src/ledger/money.ts';
import { reconcileAccounts } from '../../src/reconcile/reconcile.ts';
import { entriesADay } from '../../src/store/account-days.ts';
import { countByFigures, keepHistoricalComparisons } from '../../src/store/historical-days.ts';
import { runRanges } from '../../src/run/merchant-ranges.ts';
import { openItemsOf } from '../../src/run/merchant-ends.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import { firstDaysWithBalance } from '../../src/store/ledger-past.ts';
import { writeTransaction } from '../../src/store/engine/write-transaction.ts';
import { startRun } from '../../src/store/runs.ts';
import { counting } from '../store/many-accounts.ts';
import { rowsLookedAt } from '../store/rows-looked-at.ts';
import { NOW } from '../store/support.ts';
import { freshDatabase } from '../support/database.ts';

const YESTERDAY = '2026-03-09';
const A_DAY = 20;
const PASTS = { M1: 9, M2: 730 };
type MerchantNo = keyof typeof PASTS;
const clock = { zone: 'UTC', now: NOW };

/** Days up to the one before yesterday, read, chained and checked; of yesterday only the entries. */
async function fill({ db }: Database, lease: Lease): Promise<void> {
  for (const [merchantNo, days] of Object.entries(PASTS)) {
    const day = sql`(${YESTERDAY}::date - nth)`;
    const beginMs = sql`extract(epoch FROM ${day}::timestamp AT TIME ZONE 'UTC')::bigint * 1000`;
    const balance = sql`(${days}::int - nth) * ${A_DAY}::int`;
    await sql`
      INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, balance, booked_at,
        booked_ms, first_seen_at)
      SELECT ${merchantNo}, 'B' || (${balance} + n), 'USD', '1', 1, 100 + ${balance} + n + 1,
        ${day}::timestamp + n * interval '1 hour', ${beginMs} + n * 3600000, ${NOW}::timestamptz
      FROM generate_series(0, ${days}::int) nth, generate_series(0, ${A_DAY - 1}::int) n`.execute(db);
    await sql`
      INSERT INTO certificate (merchant_no, day, begin_ms, through_ms, total, entries, unreadable, requests, read_at, chained)
      SELECT ${merchantNo}, ${day}, ${beginMs}, ${beginMs} + 86399999, ${A_DAY}::int, ${A_DAY}::int, 0, 1, ${NOW}::timestamptz, nth > 0
      FROM generate_series(0, ${days}::int) nth`.execute(db);
    await sql`
      INSERT INTO account_day (merchant_no, currency, day, opening, credit_total, credit_count, debit_total,
        debit_count, closing, verdict, last_batch_no, last_booked_ms, restarted, revision, published_version)
      SELECT ${merchantNo}, 'USD', ${day}, 100 + ${balance}, ${A_DAY}::int, ${A_DAY}::int, 0, 0,
        100 + ${balance} + ${A_DAY}::int, 'continuous', 'B' || (${balance} + ${A_DAY - 1}::int),
        ${beginMs} + ${A_DAY - 1}::int * 3600000, nth = ${days}::int, 1, 1
      FROM generate_series(1, ${days}::int) nth`.execute(db);
    const comparison = {
      ...{
        from: addDays(YESTERDAY, -days),
        to: addDays(YESTERDAY, -3),
        total: 0,
        isHeld: true,
        checkedAt: NOW,
      },
      round: {
        read: 0,
        of: 0,
        beganAt: NOW,
        throughMs: 0,
        widestMs: null,
        order: 'oldest first',
        refused: null,
      },
    } as const;
    await writeTransaction(db, lease, (trx) => keepHistoricalComparisons(trx, [{ merchantNo, comparison }]));
  }
  await sql`VACUUM (ANALYZE)`.execute(db);
}

/** Each day has one certificate, which a question of what is proven reads; none of them reads a row for each entry of a day. */
const A_ROW_A_DAY = 735;
/** Each complete day is looked up along the key of its figures as well: the index entry, the row, and the row's table once more. */
const A_KEY_A_DAY = 4 * A_ROW_A_DAY;

describe('of a merchant with two years stored and of one with nine days, a night reads as much for', () => {
  let database: Database;
  let lease: Lease;
  let runId: number;
  beforeAll(async () => {
    database = await freshDatabase();
    const { db } = database;
    lease = await acquireLease(db, { name: 'ledger', holder: 'test:1:-', ttlMs: 600_000 });
    await fill(database, lease);
    runId = await startRun(db, {
      ...{ command: 'run', holder: 'test:1:-', fromDay: null, toDay: null, now: NOW },
    });
  });
  afterAll(() => database.close());

  const days = (merchantNo: MerchantNo) => {
    const [from, to] = [addDays(YESTERDAY, -PASTS[merchantNo]), addDays(YESTERDAY, -2)];
    return {
      days: { from, to },
      window: { ...dayWindow(to, 'UTC'), beginMs: dayWindow(from, 'UTC').beginMs },
    };
  };
  const db = () => database.db;
  const range = { from: addDays(YESTERDAY, -63), to: YESTERDAY };

  test.each<[string, (merchantNo: MerchantNo) => Promise<unknown>, number]>([
    [
      'the days of the run',
      (merchantNo) =>
        runRanges(
          { range: null, merchants: [{ merchantNo, token: 'made-up' }] },
          { ...clock, now: () => NOW, db: db(), resweepDays: 7 },
        ),
      A_ROW_A_DAY,
    ],
    [
      'what is open after it',
      (merchantNo) =>
        // In a transaction, as only what one connection reads is counted.
        db()
          .transaction()
          .execute((trx) =>
            openItemsOf(trx, {
              merchants: [merchantNo],
              currencies: null,
              runId: 1,
              reads: true,
              chains: true,
              ...clock,
            }),
          ),
      // What is proven of the merchant and of its account, the keys of figures, and the certificate and figures of each.
      A_KEY_A_DAY + 2 * A_ROW_A_DAY,
    ],
    [
      'the number of entries of older days',
      (merchantNo) => countByFigures(db(), merchantNo, days(merchantNo).days, days(merchantNo).window),
      3,
    ],
    ['first openings', (merchantNo) => firstDaysWithBalance(db(), merchantNo), 3],
    // It reads back nine weeks, and one of the two has nine days.
    ['the usual entries of a day', (merchantNo) => entriesADay(db(), merchantNo, range), 120],
    [
      'the figures of a new day',
      (merchantNo) =>
        reconcileAccounts({
          ...{ db: db(), lease, zone: 'UTC', clockToleranceS: 0, currencies: createCurrencies({}) },
          ...{
            accounts: { merchantNo, currencies: null },
            runId,
            now: () => NOW,
            signal: new AbortController().signal,
          },
        }).then((report) => expect(report).toMatchObject({ daysChained: 1, opened: [] })),
      A_KEY_A_DAY,
    ],
  ])('%s', async (_, work, moreMax) => {
    const short = await rowsLookedAt(db(), () => work('M1'));
    const long = await rowsLookedAt(db(), () => work('M2'));
    expect(short).toBeGreaterThan(0);
    expect(long - short).toBeLessThanOrEqual(moreMax);
  });

  test('nothing again, in a few statements', async () => {
    const asked = counting(database.db);
    await reconcileAccounts({
      ...{ db: asked.db, lease, zone: 'UTC', clockToleranceS: 0, currencies: createCurrencies({}) },
      ...{
        accounts: { merchantNo: 'M2', currencies: null },
        runId,
        now: () => NOW,
        signal: new AbortController().signal,
      },
    });
    expect(asked.statements()).toBeLessThanOrEqual(9);
  });
});
