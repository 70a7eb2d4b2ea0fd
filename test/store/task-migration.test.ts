/** Migration 0055 makes one table of five: every row is in it, with its values, its number and its state. */
import { sql, type Kysely } from 'kysely';
import { expect, test } from 'vitest';
import { backfillStatuses, beginBackfill } from '../../src/run/backfill/backfills.ts';
import { openPartsOf } from '../../src/run/backfill/tasks.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { migrate } from '../../src/store/engine/migrations.ts';
import { openRequestedRanges, recordRequestedRanges, runsToFinish } from '../../src/store/tasks.ts';
import { databaseBefore } from '../support/database.ts';
import { at, fillTasks } from './rows-before.ts';

/** All tasks, each as one text without what is empty. */
async function tasksOf(db: Kysely<DB>): Promise<string[]> {
  const { rows } = await sql<{ row: Record<string, unknown> }>`
    SELECT jsonb_strip_nulls(to_jsonb(task)) AS row FROM task ORDER BY kind, number, merchant_no, from_day, run_id`.execute(
    db,
  );
  const hourOf = (value: string): string =>
    value.includes('T') ? `${new Date(value).getUTCHours()}h` : value;
  return rows.map(({ row }) =>
    ['kind', 'number', 'run_id', 'merchant_no', 'currency', 'from_day', 'to_day', 'state', 'exit_code']
      .concat(['attempts', 'not_before', 'problem', 'reads', 'holder', 'requested_at', 'started_at'])
      .concat(['finished_at', 'figures'])
      .map((name) => {
        const value = row[name];
        if (value === undefined) return '';
        return typeof value === 'string' ? hourOf(value) : JSON.stringify(value);
      })
      .map((value) => (value === '' || value === '{}' ? '-' : value))
      .join(' '),
  );
}

test('each row of the former tables is a task', async () => {
  const { db } = await databaseBefore('0055');
  await fillTasks(db);
  await migrate(db);
  expect(await tasksOf(db)).toEqual([
    'backfill 2 3 M1 - 2025-01-01 2025-01-31 ended 0 0 - - false h:1:a 2h 3h 4h -',
    'backfill 2 3 M1 - 2025-02-01 2025-03-31 waiting - 2 5h no answer false - 2h - - -',
    'backfill 2 3 M2 - 2025-01-01 2025-03-31 left-out - 0 5h gone false - 2h - 6h -',
    'backfill 4 4 M1 - 2025-01-01 2025-01-31 ended 0 0 - - false h:1:a 2h 3h 4h -',
    'backfill 4 4 M1 - 2025-02-01 2025-03-31 cancelled - 0 5h - false - 2h - 9h -',
    'backfill 4 4 M2 - 2025-01-01 2025-01-31 ended 0 0 - - false h:1:a 2h 3h 4h -',
    'backfill 4 4 M2 - 2025-02-01 2025-03-31 left-out - 0 5h gone false - 2h - 6h -',
    'backfill 6 5 M3 - 2025-01-01 2025-01-31 ended 0 0 - - false h:1:a 2h 3h 4h -',
    'backfill 6 5 M3 - 2025-02-01 2025-03-31 waiting - 0 5h - false - 2h - - -',
    'backfill 7 6 M1 - 2025-01-01 2025-01-31 ended 3 0 - - false h:1:a 2h 3h 7h -',
    'range 3 1 M1 - 2025-05-01 2025-05-09 ended 0 0 - - false - 2h - 3h -',
    'range 5 - M1 - 2025-05-01 2025-05-09 cancelled - 0 - - false - 2h - 4h -',
    'range 8 1 M1 USD 2025-05-01 2025-05-09 waiting - 0 - - false - 2h - - -',
    'run - 1 M1 - - - ended 3 0 - - true h:1:a - - 1h {"inserted":5}',
    'run - 2 M1 - - - waiting - 0 - - false - - - 1h {"inserted":5}',
  ]);
});

test('what was open goes on, with the numbers that people know', async () => {
  const { db } = await databaseBefore('0055');
  await fillTasks(db);
  await migrate(db);
  expect(await openRequestedRanges(db, ['M1'])).toMatchObject([{ id: 8, currency: 'USD', runId: 1 }]);
  expect(await openPartsOf(db, ['M1', 'M2', 'M3'])).toMatchObject([
    { backfillId: 2, runId: 3, merchantNo: 'M1', nextDay: '2025-02-01', tries: 2, tryAt: at(5) },
    { backfillId: 6, runId: 5, merchantNo: 'M3', nextDay: '2025-02-01', tries: 0 },
  ]);
  const days = { from: '2025-01-01', to: '2025-03-31', requestedAt: at(2), isRun: false };
  expect(await backfillStatuses(db)).toMatchObject([
    { id: 7, ...days, to: '2025-01-31', merchants: 1, daysDone: 31, daysLeft: 0, endedAt: at(7) },
    { id: 6, ...days, isRun: true, merchants: 1, daysDone: 31, daysLeft: 59, endedAt: null },
    { id: 4, ...days, isCancelled: true, merchants: 2, daysDone: 62, daysLeft: 0, endedAt: at(9) },
    { id: 2, ...days, merchants: 2, merchantsLeft: 1, daysDone: 31, daysLeft: 59, failing: 1, endedAt: null },
  ]);
  // What has ended is not ended again.
  expect(await runsToFinish(db)).toEqual([]);

  const begun = { db, now: () => at(20), holder: 'h:1:a', zone: 'UTC' };
  expect(await beginBackfill({ from: '2024-01-01', to: '2024-01-02', merchants: ['M1'] }, begun)).toBe(8);
  const asked = { from: '2024-01-01', to: '2024-01-02', merchants: ['M2'], currencies: null };
  await recordRequestedRanges(db, { ...asked, runId: 1, now: at(20) });
  expect(await openRequestedRanges(db, ['M2'])).toMatchObject([{ id: 9 }]);
});
