/** Migration 0055 makes one table of five: every row is in it, with its values, its number and its state. */
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql, type Kysely } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { backfillStatuses, beginBackfill } from '../../src/run/backfill/backfills.ts';
import { openPartsOf } from '../../src/run/backfill/tasks.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { migrate } from '../../src/store/engine/migrations.ts';
import { openRequestedRanges, recordRequestedRanges, runsToFinish } from '../../src/store/tasks.ts';
import { emptyDatabase } from '../support/database.ts';

const SQL = new URL('../../sql/', import.meta.url);
const at = (hour: number): Date => new Date(Date.UTC(2026, 2, 1, hour));

async function asVersionBefore() {
  const database = await emptyDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'daybook-tasks-'));
  onTestFinished(async () => {
    await database.close();
    await rm(folder, { recursive: true });
  });
  for (const name of (await readdir(SQL)).filter((file) => /^\d{4}_/.test(file) && file.slice(0, 4) < '0055'))
    await cp(new URL(name, SQL), join(folder, name));
  await migrate(database.db, folder);
  return database;
}

const insert = (db: Kysely<DB>, table: string, rows: readonly object[]) =>
  sql`INSERT INTO ${sql.table(table)} (${sql.join(Object.keys(rows[0]!).map((name) => sql.ref(name)))})
    OVERRIDING SYSTEM VALUE
    SELECT ${sql.join(Object.keys(rows[0]!).map((name) => sql.ref(`made.${name}`)))}
    FROM jsonb_populate_recordset(NULL::${sql.table(table)}, ${JSON.stringify(rows)}::jsonb) AS made`.execute(
    db,
  );

async function fill(db: Kysely<DB>): Promise<void> {
  const run = (id: number, command: string, more: object = {}) => ({
    ...{ id, command, holder: 'h:1:a', started_at: at(0), from_day: '2025-01-01', to_day: '2025-03-31' },
    ...{ finished_at: null, exit_code: null, request: null, figures: {}, ...more },
  });
  await insert(db, 'run', [
    run(1, 'nightly', { finished_at: at(1), exit_code: 3 }),
    run(2, 'nightly', { request: { command: 'run' } }),
    run(3, 'backfill'),
    run(4, 'backfill', { finished_at: at(9), exit_code: 4 }),
    run(5, 'run', { finished_at: at(8), exit_code: 70 }),
    run(6, 'backfill', { finished_at: at(9), exit_code: 3 }),
  ]);
  await sql`SELECT setval('run_id_seq', 6)`.execute(db);
  const part = { reads: true, holder: 'h:1:a', figures: { inserted: 5 }, finished_at: at(1) };
  await insert(db, 'run_merchant', [
    { merchant_no: 'M1', run_id: 1, state: 'ended', exit_code: 3, ...part },
    { merchant_no: 'M1', run_id: 2, state: 'waiting', exit_code: null, ...part, reads: false, holder: null },
  ]);
  const range = { merchant_no: 'M1', currency: '', from_day: '2025-05-01', to_day: '2025-05-09' };
  await insert(db, 'requested_range', [
    { id: 3, ...range, requested_at: at(2), run_id: 1, done_at: at(3), forgotten_at: null },
    { id: 5, ...range, requested_at: at(2), run_id: null, done_at: null, forgotten_at: at(4) },
    { id: 8, ...range, currency: 'USD', requested_at: at(2), run_id: 1, done_at: null, forgotten_at: null },
  ]);
  const days = { from_day: '2025-01-01', to_day: '2025-03-31', requested_at: at(2) };
  await insert(db, 'backfill', [
    { id: 2, ...days, run_id: 3, ended_at: null, is_cancelled: false },
    { id: 4, ...days, run_id: 4, ended_at: at(9), is_cancelled: true },
    { id: 6, ...days, run_id: 5, ended_at: null, is_cancelled: false },
    { id: 7, ...days, to_day: '2025-01-31', run_id: 6, ended_at: at(9), is_cancelled: false },
  ]);
  const open = { next_day: '2025-02-01', tries: 0, try_at: at(5), problem: null, ended_at: null };
  await insert(db, 'backfill_merchant', [
    { merchant_no: 'M1', backfill_id: 2, ...open, tries: 2, problem: 'no answer' },
    { merchant_no: 'M2', backfill_id: 2, ...open, next_day: '2025-01-01', problem: 'gone', ended_at: at(6) },
    { merchant_no: 'M1', backfill_id: 4, ...open, ended_at: at(9) },
    { merchant_no: 'M2', backfill_id: 4, ...open, problem: 'gone', ended_at: at(6) },
    { merchant_no: 'M3', backfill_id: 6, ...open },
    { merchant_no: 'M1', backfill_id: 7, ...open, ended_at: at(7) },
  ]);
  const slice = { from_day: '2025-01-01', to_day: '2025-01-31', holder: 'h:1:a', started_at: at(3) };
  await insert(db, 'backfill_slice', [
    { merchant_no: 'M1', backfill_id: 2, ...slice, exit_code: 0, finished_at: at(4) },
    { merchant_no: 'M1', backfill_id: 4, ...slice, exit_code: 0, finished_at: at(4) },
    { merchant_no: 'M2', backfill_id: 4, ...slice, exit_code: 0, finished_at: at(4) },
    { merchant_no: 'M3', backfill_id: 6, ...slice, exit_code: 0, finished_at: at(4) },
    { merchant_no: 'M1', backfill_id: 7, ...slice, exit_code: 3, finished_at: at(7) },
  ]);
}

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
  const { db } = await asVersionBefore();
  await fill(db);
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
  const { db } = await asVersionBefore();
  await fill(db);
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
