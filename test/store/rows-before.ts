/** Rows as the tables before migrations 0053 and 0055 had them, for tests of what became of them. */
import { sql, type Kysely } from 'kysely';
import type { DB } from '../../src/store/engine/schema.ts';

/** Inserts rows with the numbers that they say, into a table that the program may no longer know. */
export const insertRows = (db: Kysely<DB>, table: string, rows: readonly object[]) =>
  sql`INSERT INTO ${sql.table(table)} (${sql.join(Object.keys(rows[0]!).map((name) => sql.ref(name)))})
    OVERRIDING SYSTEM VALUE
    SELECT ${sql.join(Object.keys(rows[0]!).map((name) => sql.ref(`made.${name}`)))}
    FROM jsonb_populate_recordset(NULL::${sql.table(table)}, ${JSON.stringify(rows)}::jsonb) AS made`.execute(
    db,
  );

export const at = (hour: number): Date => new Date(Date.UTC(2026, 2, 1, hour));

/** Runs, ranges and backfills in each state, before 0055. */
export async function fillTasks(db: Kysely<DB>): Promise<void> {
  const run = (id: number, command: string, more: object = {}) => ({
    ...{ id, command, holder: 'h:1:a', started_at: at(0), from_day: '2025-01-01', to_day: '2025-03-31' },
    ...{ finished_at: null, exit_code: null, request: null, figures: {}, ...more },
  });
  await insertRows(db, 'run', [
    run(1, 'nightly', { finished_at: at(1), exit_code: 3 }),
    run(2, 'nightly', { request: { command: 'run' } }),
    run(3, 'backfill'),
    run(4, 'backfill', { finished_at: at(9), exit_code: 4 }),
    run(5, 'run', { finished_at: at(8), exit_code: 70 }),
    run(6, 'backfill', { finished_at: at(9), exit_code: 3 }),
  ]);
  await sql`SELECT setval('run_id_seq', 6)`.execute(db);
  const part = { reads: true, holder: 'h:1:a', figures: { inserted: 5 }, finished_at: at(1) };
  await insertRows(db, 'run_merchant', [
    { merchant_no: 'M1', run_id: 1, state: 'ended', exit_code: 3, ...part },
    { merchant_no: 'M1', run_id: 2, state: 'waiting', exit_code: null, ...part, reads: false, holder: null },
  ]);
  const range = { merchant_no: 'M1', currency: '', from_day: '2025-05-01', to_day: '2025-05-09' };
  await insertRows(db, 'requested_range', [
    { id: 3, ...range, requested_at: at(2), run_id: 1, done_at: at(3), forgotten_at: null },
    { id: 5, ...range, requested_at: at(2), run_id: null, done_at: null, forgotten_at: at(4) },
    { id: 8, ...range, currency: 'USD', requested_at: at(2), run_id: 1, done_at: null, forgotten_at: null },
  ]);
  const days = { from_day: '2025-01-01', to_day: '2025-03-31', requested_at: at(2) };
  await insertRows(db, 'backfill', [
    { id: 2, ...days, run_id: 3, ended_at: null, is_cancelled: false },
    { id: 4, ...days, run_id: 4, ended_at: at(9), is_cancelled: true },
    { id: 6, ...days, run_id: 5, ended_at: null, is_cancelled: false },
    { id: 7, ...days, to_day: '2025-01-31', run_id: 6, ended_at: at(9), is_cancelled: false },
  ]);
  const open = { next_day: '2025-02-01', tries: 0, try_at: at(5), problem: null, ended_at: null };
  await insertRows(db, 'backfill_merchant', [
    { merchant_no: 'M1', backfill_id: 2, ...open, tries: 2, problem: 'no answer' },
    { merchant_no: 'M2', backfill_id: 2, ...open, next_day: '2025-01-01', problem: 'gone', ended_at: at(6) },
    { merchant_no: 'M1', backfill_id: 4, ...open, ended_at: at(9) },
    { merchant_no: 'M2', backfill_id: 4, ...open, problem: 'gone', ended_at: at(6) },
    { merchant_no: 'M3', backfill_id: 6, ...open },
    { merchant_no: 'M1', backfill_id: 7, ...open, ended_at: at(7) },
  ]);
  const slice = { from_day: '2025-01-01', to_day: '2025-01-31', holder: 'h:1:a', started_at: at(3) };
  await insertRows(db, 'backfill_slice', [
    { merchant_no: 'M1', backfill_id: 2, ...slice, exit_code: 0, finished_at: at(4) },
    { merchant_no: 'M1', backfill_id: 4, ...slice, exit_code: 0, finished_at: at(4) },
    { merchant_no: 'M2', backfill_id: 4, ...slice, exit_code: 0, finished_at: at(4) },
    { merchant_no: 'M3', backfill_id: 6, ...slice, exit_code: 0, finished_at: at(4) },
    { merchant_no: 'M1', backfill_id: 7, ...slice, exit_code: 3, finished_at: at(7) },
  ]);
}

export const AT = '2026-03-02T02:00:00+00:00';
export const DAY = '2026-03-01';
const account = { merchant_no: 'M1', currency: 'USD', day: DAY };

const revision = (day: string, number: number, supersedes: number | null) => ({
  ...{ merchant_no: 'M1', currency: 'USD', day, revision: number, supersedes, reason: null },
  ...{ published_at: AT, run_id: 1, row_count: number, sha256: `${number}`.repeat(64).slice(0, 64) },
  ...{ object_key: `${day} r${number}`, columns: 'batch_no', other_closings: '' },
  ...{ opening: '0', credit_total: '0', credit_count: 0, debit_total: '0', debit_count: 0, closing: '0' },
  ...{ verdict: 'continuous', break_count: 0, breaks_after: 0, byte_count: 1 },
});

const ROWS: readonly (readonly [table: string, ...rows: object[]])[] = [
  [
    'run',
    {
      id: 1,
      command: 'run',
      holder: 'host',
      started_at: AT,
      finished_at: AT,
      exit_code: 0,
      from_day: DAY,
      to_day: DAY,
    },
  ],
  [
    'statement',
    revision(DAY, 1, null),
    revision(DAY, 2, 1),
    revision('2026-02-28', 1, null),
    revision('2026-02-27', 1, null),
  ],
  ['unreported_change', { merchant_no: 'M1', run_id: 1, amended: 2, vanished: 3 }],
  ['unreported_revision', { ...account, revision: 2 }, { ...account, day: '2026-02-28', revision: 1 }],
  [
    'late_statement',
    { ...account, day: '2026-02-28', published_at: AT, after_close: false },
    { ...account, day: '2026-02-27', published_at: AT, after_close: true },
  ],
  [
    'notice',
    {
      ...account,
      currency: '',
      kind: 'empty',
      figures: { fewest: 1, most: 2 },
      found_at: AT,
      run_id: 1,
      reported_at: AT,
    },
    { ...account, kind: 'first', figures: { opening: '7.00' }, found_at: AT, run_id: 1 },
    {
      ...account,
      kind: 'shared',
      other_merchant_no: 'M2',
      figures: { count: 1, batchNos: ['B'] },
      found_at: AT,
      run_id: 1,
    },
  ],
  [
    'alert_event',
    { kind: 'break', subject: '1', merchant_no: 'M1', detail: { id: 1 }, run_id: 1, found_at: AT },
    {
      kind: 'break',
      subject: '2',
      merchant_no: 'M1',
      detail: { id: 2 },
      run_id: 1,
      found_at: AT,
      reported_at: AT,
    },
    {
      kind: 'revised',
      subject: `M1 USD ${DAY} r2`,
      merchant_no: 'M1',
      detail: { revision: 2 },
      run_id: 1,
      found_at: AT,
    },
    {
      kind: 'token',
      subject: 'M1',
      merchant_no: 'M1',
      detail: { problem: 'refused' },
      found_at: AT,
      reported_at: AT,
    },
  ],
  ['audit_event', { id: 1, at: AT, by_whom: 'Ada', command: 'breaks take', subject: '1', note: 'mine' }],
  ['break_step', { id: 1, break_id: 1, kind: 'taken', audit_event_id: 1 }],
];

/** What was to be reported, and what was reported already, before 0053. */
export async function fillEvents(db: Kysely<DB>): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // Without the rows that these refer to.
    await sql`SET LOCAL session_replication_role = replica`.execute(trx);
    for (const [table, ...rows] of ROWS) for (const row of rows) await insertRows(trx, table, [row]);
  });
}
