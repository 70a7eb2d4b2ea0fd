/** The breaks on a day's page are those that keep the day open. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dayWindow } from '../../src/ledger/business-day.ts';
import type { Window } from '../../src/ledger/entry.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { breaksOfDay } from '../../src/plugins/pages/stored.ts';
import { dayFacts, openBreaksOn } from '../../src/store/day-facts.ts';
import { freshDatabase } from '../support/database.ts';
import { MERCHANT, NOW } from './support.ts';

const ZONE = 'Asia/Shanghai';
const FIRST = '2026-02-27';
const LAST = '2026-03-02';
const account = { merchantNo: MERCHANT, currency: 'USD' };
const startOf = (day: string): number => dayWindow(day, ZONE).beginMs;

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
  const found = (day: string, { beginMs, endMs }: Window) => ({
    ...{
      merchant_no: MERCHANT,
      currency: 'USD',
      day,
      before_batch_no: 'B',
      hint: 'unexplained',
      found_at: NOW,
    },
    ...{ expected_balance: '0', found_balance: '1', missing_net: '1', begin_ms: beginMs, end_ms: endMs },
  });
  await database.db
    .insertInto('continuity_break')
    .values([
      // The next entry is on the second day after.
      found('2026-03-01', { beginMs: startOf('2026-02-27') + 1_000, endMs: startOf('2026-03-01') + 1_999 }),
      // Around midnight, the entry behind it is stamped before the one in front.
      found('2026-03-01', { beginMs: startOf('2026-03-02') - 1_000, endMs: startOf('2026-03-02') + 999 }),
    ])
    .execute();
});
afterAll(() => database.close());

it.each([
  ['2026-02-26', []],
  [FIRST, [1]],
  ['2026-02-28', [1]],
  ['2026-03-01', [1, 2]],
  [LAST, [2]],
  ['2026-03-03', []],
])('on %s they are %j', async (day, ids) => {
  const { db } = database;
  const window = dayWindow(day, ZONE);
  const [facts] = await dayFacts(db, [account], { from: day, to: day, window, by: null });
  expect(openBreaksOn(facts!, window).map(({ id }) => id)).toEqual(ids);
  const shown = await breaksOfDay(db, { account, window }, day, 10);
  expect(shown.breaks.map(({ id }) => id)).toEqual(ids);
});
