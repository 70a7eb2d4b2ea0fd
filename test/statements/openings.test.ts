/** What is said of a published day that does not visibly go on from the published day before it. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openingMismatches } from '../../src/statements/withheld.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';
import { MERCHANT, openReadLedger, ZONE, type ReadLedger } from '../support/read-ledger.ts';

const [DAY, BETWEEN, NEXT] = ['2026-03-29', '2026-03-30', '2026-03-31'] as const;
const account = { merchantNo: MERCHANT, currency: 'USD' };

let database: Database;
let ledger: ReadLedger;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await emptyTables(database.db);
  ledger = await openReadLedger(database.db);
});

/** DAY closes on 70.00, NEXT opens as stated. */
async function mismatches(opening: string, { restarted = true, read = [] as readonly string[] }) {
  const figures = {
    ...{ credit_total: '0', credit_count: 0, debit_total: '0', debit_count: 0, break_count: 0 },
    ...{ sha256: 'a', byte_count: 1, row_count: 0, verdict: 'continuous', published_at: new Date(0) },
  };
  const statement = (day: string, amounts: { opening: string; closing: string; restarted: boolean }) => ({
    ...{ merchant_no: MERCHANT, currency: 'USD', day, revision: 1, object_key: `${day}.csv` },
    ...{ ...figures, ...amounts },
  });
  await database.db
    .insertInto('statement')
    .values([
      statement(DAY, { opening: '50', closing: '70.00', restarted: false }),
      statement(NEXT, { opening, closing: '90', restarted }),
    ])
    .execute();
  await ledger.synced([], read);
  return openingMismatches(database.db, [{ account, day: NEXT }], { within: null, zone: ZONE });
}
const mismatch = (opening: string, why: string) => ({
  ...{ account, day: NEXT, opening, previousDay: DAY, previousClosing: '70.00', why },
});

test('one that opens on its first entry is fine once all days between are read and the balance leads on', async () => {
  expect(await mismatches('70', { read: [DAY, BETWEEN, NEXT] })).toEqual([]);
});

test.each(['70.01', '69.99'])(
  'one that opens on %s, with all days between read, is told',
  async (opening) => {
    expect(await mismatches(opening, { read: [DAY, BETWEEN, NEXT] })).toEqual([
      mismatch(
        opening,
        `opens on ${opening}, derived from its first entry, though ${DAY} closed on 70.00 and all days between were ` +
          'read: run `daybook run`',
      ),
    ]);
  },
);

test('days between that were not read are told, whatever the balance', async () => {
  expect(await mismatches('70', { read: [DAY, NEXT] })).toEqual([
    mismatch(
      '70',
      `opens on 70, derived from its first entry, because some days after ${DAY} were not read completely: run ` +
        `\`daybook run --from ${BETWEEN} --to ${BETWEEN}\``,
    ),
  ]);
});

test('one that goes on from another closing than the published one waits for publishing', async () => {
  expect(await mismatches('65', { restarted: false })).toEqual([
    mismatch(
      '65',
      `opens on 65, but ${DAY} is published with the closing 70.00, as not every day is published as it now stands: ` +
        'run `daybook publish` without a range',
    ),
  ]);
});
