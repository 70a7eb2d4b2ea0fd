/** The law of balances that simulations ask notices what it is to notice. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sql } from 'kysely';
import { unbalanced, wrongSums } from '../support/balance-law.ts';
import { entriesOfAmounts } from '../support/plain-platform.ts';
import { openPlainStage, PLAIN_MERCHANT, type PlainStage } from '../support/plain-stage.ts';

const [FROM, TO] = ['2026-03-09', '2026-03-12'];
const ENTRIES = entriesOfAmounts('USD', [
  ['A-1', '2026-03-09 10:00:00', 10_000],
  ['A-2', '2026-03-10 10:00:00', 500],
  ['A-3', '2026-03-10 11:00:00', -700],
  ['A-4', '2026-03-12 11:00:00', 100],
]);

let stage: PlainStage;
beforeEach(async () => {
  stage = await openPlainStage(ENTRIES, '2026-04-02T01:30:00+08:00');
});
afterEach(() => stage.close());

const found = async () => {
  const asked = {
    ...{ db: stage.app().database.db, merchantNo: PLAIN_MERCHANT.merchantNo, folder: stage.folder },
  };
  return [...(await unbalanced(asked)), ...(await wrongSums(asked))];
};

test('a closing that does not follow, an opening that does not, and other sums than those of the entries', async () => {
  const { db } = stage.app().database;
  await stage.run(FROM, TO);
  expect(await found()).toEqual([]);
  await sql`UPDATE account_day SET closing = closing + 1 WHERE day = '2026-03-10'`.execute(db);
  expect(await found()).toEqual([
    'USD 2026-03-10 closes 100 hundredths off, of which no break tells',
    expect.stringContaining('USD 2026-03-11 opens with'),
  ]);
  await sql`UPDATE account_day SET closing = closing - 1 WHERE day = '2026-03-10'`.execute(db);
  await sql`UPDATE ledger_entry SET credit = credit + 1 WHERE batch_no = 'A-2'`.execute(db);
  expect(await found()).toEqual([expect.stringContaining('sums of a published file are not')]);
});

test('a break says by how much, and the law asks no more', async () => {
  stage.entries = ENTRIES.filter(({ batchNo }) => batchNo !== 'A-2');
  expect(await stage.run(FROM, TO)).toMatchObject({ exitCode: 3 });
  expect(await found()).toEqual([]);
  const { db } = stage.app().database;
  await sql`UPDATE continuity_break SET missing_net = missing_net - 1`.execute(db);
  expect(await found()).toEqual(['USD 2026-03-10 closes 100 hundredths off, of which no break tells']);
});
