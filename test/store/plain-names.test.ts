/** Migration 0051 renames tables and columns: every row, right and reference stays, and an earlier process loses its lease. */
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { askLease, LeaseLost } from '../../src/store/engine/lease.ts';
import { databaseBefore } from '../support/database.ts';

const AT = '2026-03-01T02:00:00+00:00';
/** Each row as the version before wrote it, and where it is now. */
const ROWS: readonly (readonly [
  before: string,
  row: Record<string, unknown>,
  now: string,
  renamed: object,
])[] = [
  ['audit_entry', { at: AT, by_whom: 'Ada', command: 'prune', subject: 'x', note: null }, 'audit_event', {}],
  ['break_step', { break_id: 1, kind: 'taken', audit_entry_id: 1 }, 'break_step', { audit_event_id: 1 }],
  ['untold_change', { merchant_no: 'M1', run_id: 1, amended: 2, vanished: 3 }, 'unreported_change', {}],
  [
    'untold_revision',
    { merchant_no: 'M1', currency: 'USD', day: '2026-03-01', revision: 2 },
    'unreported_revision',
    {},
  ],
  [
    'alert_condition',
    { name: 'night', since: AT, told_at: AT, grade: 4, count: 7 },
    'alert_condition',
    { reported_at: AT },
  ],
  [
    'alert_fact',
    { kind: 'break', subject: '1', merchant_no: 'M1', detail: {}, found_at: AT, told_at: AT },
    'alert_event',
    { reported_at: AT },
  ],
  [
    'platform_hold',
    { owner: 'merchant M1', held_until: AT, told_at: AT },
    'platform_hold',
    { recorded_at: AT },
  ],
  [
    'notice',
    {
      merchant_no: 'M1',
      kind: 'empty',
      day: '2026-03-01',
      figures: {},
      found_at: AT,
      run_id: 1,
      told_at: AT,
    },
    'notice',
    { reported_at: AT },
  ],
  [
    'older_days_look',
    {
      ...{ merchant_no: 'M1', from_day: '2026-01-01', to_day: '2026-02-28', total: 9, is_held: true },
      ...{ looked_at: AT, round_read: 1, round_of: 9, round_began_at: AT, page_order: 'mixed' },
      ...{ round_through_ms: 0 },
    },
    'historical_check',
    { checked_at: AT },
  ],
  [
    'watched_month',
    { merchant_no: 'M1', month: '2026-01-01', entries: 5, watched_on: '2026-02-01' },
    'month_end_sample',
    { sampled_on: '2026-02-01' },
  ],
];

/** A database as the version before left it, and the migration to be applied. */
async function asVersionBefore() {
  const { db, upTo } = await databaseBefore('0051');
  return { db, migrateNames: () => upTo('0051') };
}

test('a database of the version before keeps each row of a renamed table, with its values', async () => {
  const { db, migrateNames } = await asVersionBefore();
  const lease = { name: 'merchant/M1', epoch: 7, holder: 'host:1:a' };
  await db.transaction().execute(async (trx) => {
    // Without the rows that these refer to.
    await sql`SET LOCAL session_replication_role = replica`.execute(trx);
    await sql`INSERT INTO lease (name, epoch, holder, acquired_at, expires_at)
      VALUES (${lease.name}, ${lease.epoch}, ${lease.holder}, now(), now() + interval '1 hour')`.execute(trx);
    for (const [table, row] of ROWS)
      await sql`INSERT INTO ${sql.table(table)} (${sql.join(Object.keys(row).map((name) => sql.ref(name)))})
        SELECT ${sql.join(Object.keys(row).map((name) => sql.ref(`made.${name}`)))}
        FROM jsonb_populate_record(NULL::${sql.table(table)}, ${JSON.stringify(row)}::jsonb) AS made`.execute(
        trx,
      );
  });
  await askLease(db, lease);

  await migrateNames();

  for (const [, row, table, renamed] of ROWS) {
    const { rows } = await sql<{ row: Record<string, unknown> }>`
      SELECT to_jsonb(now) AS row FROM ${sql.table(table)} AS now
      WHERE ${table} <> 'alert_condition' OR to_jsonb(now) ->> 'name' = 'night'`.execute(db);
    const former = Object.fromEntries(
      Object.entries(row).filter(([name]) => !/^(told_at|looked_at|watched_on|audit_entry_id)$/.test(name)),
    );
    expect(rows, table).toEqual([{ row: expect.objectContaining({ ...former, ...renamed }) }]);
  }
  const { rows: checks } = await sql`SELECT what FROM watchdog_check ORDER BY what`.execute(db);
  expect(checks).toEqual([{ what: 'nights' }, { what: 'runs' }]);
  await expect(askLease(db, lease)).rejects.toThrow(LeaseLost);
});

test('no table, column, index or constraint keeps a former name', async () => {
  const { db, migrateNames } = await asVersionBefore();
  await migrateNames();
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION SELECT attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
      WHERE relnamespace = 'public'::regnamespace AND NOT attisdropped AND relkind <> 'i'
    UNION SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'`.execute(
    db,
  );
  expect(
    rows
      .map(({ name }) => name)
      .filter((name) => /untold|told_|look|watched|alert_fact|audit_entry/.test(name)),
  ).toEqual([]);
});
