/** The lasting views: their columns never change, and they show the same as the program. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayWindow } from '../../src/ledger/business-day.ts';
import { FROM, MERCHANT, openStage, scenario, TO, ZONE, type Stage } from '../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 10 }) });
  await stage.run();
  const entry = stage.sandbox.entriesOf(MERCHANT.merchantNo).find(({ currency }) => currency === 'USD')!;
  stage.sandbox.amend(MERCHANT.merchantNo, entry.batchNo, { vailAmount: '1.00' });
  await stage.run();
});
afterAll(() => stage.close());

const columnsOf = async (view: string): Promise<string> => {
  const { rows } = await sql<{ name: string }>`
    SELECT attname AS name FROM pg_attribute WHERE attrelid = ${view}::regclass AND attnum > 0 ORDER BY attnum`.execute(
    stage.app.database.db,
  );
  return rows.map(({ name }) => name).join(' ');
};

test.each([
  [
    'daybook_account_days',
    'merchant_no currency day opening credit_total credit_count debit_total debit_count closing verdict break_count ' +
      'revision is_published',
  ],
  [
    'daybook_open_breaks',
    'id merchant_no currency day after_batch_no before_batch_no expected_balance found_balance missing_net hint ' +
      'hint_batch_no begins_at ends_at found_at',
  ],
  ['daybook_coverage', 'merchant_no proven_from proven_until last_proven_at'],
  [
    'daybook_statements',
    'merchant_no currency day revision is_current opening credit_total credit_count debit_total debit_count closing ' +
      'verdict break_count row_count byte_count sha256 object_key published_at supersedes reason',
  ],
])('%s has these columns, and keeps them', async (view, columns) => {
  // New columns may be added at the end. No column is removed or moved.
  expect((await columnsOf(view)).startsWith(columns)).toBe(true);
});

test('account days and statements show what was published', async () => {
  const { db } = stage.app.database;
  const days = await db
    .selectFrom('daybook_account_days')
    .selectAll()
    .where('currency', '=', 'USD')
    .execute();
  expect(days.find(({ day }) => day === FROM)).toMatchObject({
    verdict: 'broken',
    revision: 2,
    is_published: true,
  });
  const statements = await db
    .selectFrom('daybook_statements')
    .select(['revision', 'is_current', 'verdict', 'supersedes'])
    .where('currency', '=', 'USD')
    .where('day', '=', FROM)
    .orderBy('revision')
    .execute();
  expect(statements).toEqual([
    { revision: 1, is_current: false, verdict: 'continuous', supersedes: null },
    { revision: 2, is_current: true, verdict: 'broken', supersedes: 1 },
  ]);
  await db.updateTable('account_day').set({ published_version: 0 }).where('day', '=', TO).execute();
  expect(
    await db
      .selectFrom('daybook_account_days')
      .select('day')
      .distinct()
      .where('is_published', '=', false)
      .execute(),
  ).toEqual([{ day: TO }]);
  await db
    .updateTable('account_day')
    .set({ published_version: sql`version` })
    .execute();
});

test('there are only open breaks, with their span', async () => {
  const { db } = stage.app.database;
  const open = await db.selectFrom('daybook_open_breaks').selectAll().execute();
  expect(open.length).toBeGreaterThan(0);
  const { beginMs, endMs } = dayWindow(FROM, ZONE);
  for (const { begins_at, ends_at } of open) {
    expect(begins_at!.getTime()).toBeGreaterThanOrEqual(beginMs);
    expect(ends_at!.getTime()).toBeGreaterThanOrEqual(begins_at!.getTime());
    expect(ends_at!.getTime()).toBeLessThanOrEqual(endMs);
  }
  await db
    .updateTable('continuity_break')
    .set({ status: 'resolved' })
    .where('id', '=', open[0]!.id!)
    .execute();
  expect(await db.selectFrom('daybook_open_breaks').select('id').execute()).toEqual(
    open.slice(1).map(({ id }) => ({ id })),
  );
});

test('coverage has one row for each unbroken stretch, and a gap makes two', async () => {
  const { db } = stage.app.database;
  const [from, to] = [dayWindow(FROM, ZONE), dayWindow(TO, ZONE)];
  const stretches = () =>
    db
      .selectFrom('daybook_coverage')
      .select(['merchant_no', 'proven_from', 'proven_until'])
      .orderBy('proven_from')
      .execute();
  const whole = { merchant_no: MERCHANT.merchantNo };
  expect(await stretches()).toEqual([
    { ...whole, proven_from: new Date(from.beginMs), proven_until: new Date(to.endMs + 1) },
  ]);
  await db
    .updateTable('certificate')
    .set({ problem: 'total moved' })
    .where('begin_ms', '>', from.beginMs)
    .where('through_ms', '<', to.beginMs)
    .execute();
  expect(await stretches()).toEqual([
    { ...whole, proven_from: new Date(from.beginMs), proven_until: new Date(from.endMs + 1) },
    { ...whole, proven_from: new Date(to.beginMs), proven_until: new Date(to.endMs + 1) },
  ]);
});
