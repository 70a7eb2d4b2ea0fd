/** An old day that changed costs that day alone, and an account's trouble is its own. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { listAccountDays } from '../../src/store/account-days.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { openReadLedger, type ReadLedger } from '../support/read-ledger.ts';

const FIRST = '2026-03-01';
const dayAt = (nth: number): string => addDays(FIRST, nth);

let database: Database;
let ledger: ReadLedger;

beforeEach(async () => {
  database = await freshDatabase();
  ledger = await openReadLedger(database.db);
});
afterEach(() => database.close());

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

const figures = async () =>
  (await listAccountDays(database.db)).map((d) => `${d.currency} ${d.day} ${d.credit_count} ${d.closing}`);

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

test('an account that cannot be chained keeps no other one from being saved', async () => {
  const all = [...entriesOf('EUR', [20, 20, 20]), ...entriesOf('USD', [20, 20, 1])];
  await ledger.synced(all, [dayAt(0), dayAt(1)]);
  await ledger.reconciled();
  await ledger.synced(all, [dayAt(2)]);
  const [own] = entriesOf('USD', [0, 0, 1]);
  const misplaced = { ...own!, batchNo: 'A-OTHER', bookedAt: `${dayAt(3)} 00:00:00` };
  await ledger.certified({ beginMs: own!.bookedMs, endMs: own!.bookedMs }, [misplaced, own!]);
  await database.db.updateTable('certificate').set({ chained: true }).where('day', '=', dayAt(3)).execute();
  await expect(ledger.reconciled()).rejects.toThrow('another time zone');
  expect((await figures()).at(-1)).toBe(`EUR ${dayAt(2)} 20 160.00`);
});
