/** The sum of older days is taken up from the last check. Whatever changed since, it has to be what is stored. */
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import { noteChained } from '../../src/store/certificates.ts';
import { saveChained } from '../../src/store/chaining.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { acquireLease } from '../../src/store/engine/lease.ts';
import { writeTransaction } from '../../src/store/engine/write-transaction.ts';
import { countByFigures, countStored, keepHistoricalComparisons } from '../../src/store/historical-days.ts';
import { storeWindow } from '../support/store-window.ts';
import { startRun } from '../../src/store/runs.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';
import { entry, MERCHANT, NOW, uncertified } from './support.ts';
import '../support/each-file.ts';

const FROM = '2026-01-01';
const DAYS = 6;
const dayOf = (nth: number) => addDays(FROM, nth);
const nth = fc.integer({ min: 0, max: DAYS - 1 });
const step = fc.oneof(
  fc.record({
    what: fc.constant('store' as const),
    nth,
    currency: fc.constantFrom('USD', 'EUR'),
    n: fc.integer({ min: 0, max: 3 }),
  }),
  fc.record({ what: fc.constant('chain' as const), nth }),
  fc.record({ what: fc.constant('look' as const), nth, from: fc.constantFrom(0, 0, 0, 1) }),
);

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

async function openHistory() {
  const { db } = database;
  await emptyTables(db);
  const lease = await acquireLease(db, { name: 'ledger', holder: 'test:1:-', ttlMs: 60_000 });
  const run = { command: 'run', holder: 'test:1:-', fromDay: null, toDay: null, now: NOW };
  const runId = await startRun(db, run);
  const store = (at: number, currency: string, n: number) => {
    const window = dayWindow(dayOf(at), 'UTC');
    const bookedMs = window.beginMs + n * 1_000;
    const bookedAt = new Date(bookedMs).toISOString().slice(0, 19).replace('T', ' ');
    const one = entry(n, { batchNo: `${currency}${at}-${n}`, currency, bookedMs, bookedAt });
    const reading = uncertified([one]);
    return storeWindow(db, lease, {
      ...{ merchantNo: MERCHANT, window, currency: null, reading, runId, now: NOW },
    });
  };
  /** Gives a day its figures, in every currency. */
  const chain = (day: string) =>
    writeTransaction(db, lease, async (trx) => {
      await sql`
        INSERT INTO account_day (merchant_no, currency, day, opening, credit_total, credit_count, debit_total,
          debit_count, closing, verdict)
        SELECT merchant_no, currency, ${day}::date, 0, 0, count(*), 0, 0, 0, 'continuous' FROM ledger_entry
        WHERE booked_at::date = ${day} GROUP BY merchant_no, currency
        ON CONFLICT (merchant_no, currency, day) DO UPDATE SET credit_count = excluded.credit_count`.execute(
        trx,
      );
      for (const currency of ['USD', 'EUR'])
        await saveChained(trx, { merchantNo: MERCHANT, currency }, { figures: [], done: [day] });
      await noteChained(trx, MERCHANT, [day]);
    });
  const look = (from: string, to: string) =>
    writeTransaction(db, lease, (trx) => {
      const round = {
        read: 0,
        of: 0,
        beganAt: NOW,
        throughMs: 0,
        widestMs: null,
        order: 'oldest first',
        refused: null,
      } as const;
      const comparison = { from, to, total: 0, isHeld: true, checkedAt: NOW, round };
      return keepHistoricalComparisons(trx, [{ merchantNo: MERCHANT, comparison }]);
    });
  return { store, chain, look };
}

async function expectCounted(from: string, to: string): Promise<void> {
  const window = { beginMs: dayWindow(from, 'UTC').beginMs, endMs: dayWindow(to, 'UTC').endMs };
  expect(await countByFigures(database.db, MERCHANT, { from, to }, window)).toBe(
    await countStored(database.db, MERCHANT, window),
  );
}

test(
  'as many entries are counted by figures as are stored, whatever was counted before',
  { tags: ['long'], timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
        const { store, chain, look } = await openHistory();
        for (const one of steps) {
          if (one.what === 'store') await store(one.nth, one.currency, one.n);
          else if (one.what === 'chain') await chain(dayOf(one.nth));
          else if (one.from <= one.nth) await look(dayOf(one.from), dayOf(one.nth));
          for (const to of [0, one.nth, DAYS - 1]) await expectCounted(FROM, dayOf(to));
          await expectCounted(dayOf(1), dayOf(DAYS - 1));
        }
      }),
      { numRuns: Number(process.env['RUNS'] ?? 15) },
    );
  },
);

test('only days since the last look are added up', async () => {
  const { store, chain, look } = await openHistory();
  for (let at = 0; at < DAYS; at += 1) {
    await store(at, 'USD', 1);
    await chain(dayOf(at));
  }
  await look(FROM, dayOf(DAYS - 2));
  // Figures that no entry has show whether they are read.
  await sql`UPDATE account_day SET credit_count = 1000 WHERE day < ${dayOf(DAYS - 1)}`.execute(database.db);
  await expectCounted(FROM, dayOf(DAYS - 1));
});
