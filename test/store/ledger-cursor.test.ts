/** Migration 0052 puts tables of one row each together: every value stays, and no day is compared or reported twice. */
import { sql, type Kysely } from 'kysely';
import { expect, test } from 'vitest';
import type { DB } from '../../src/store/engine/schema.ts';
import { historicalComparisons } from '../../src/store/historical-days.ts';
import { isClockOff } from '../../src/store/installation.ts';
import { pastAndBegin } from '../../src/store/ledger-past.ts';
import { latenessMeasured } from '../../src/store/lateness.ts';
import { uncomparedDays } from '../../src/store/shared-entries.ts';
import { databaseBefore } from '../support/database.ts';

const AT = '2026-03-01T02:00:00+00:00';
const LATER = '2026-03-02T02:00:00+00:00';
const CHECKED = {
  ...{
    total: 9,
    is_held: true,
    checked_at: AT,
    by_figures: 8,
    round_read: 1,
    round_of: 9,
    round_began_at: AT,
  },
  ...{ round_through_ms: 7, widest_ms: 6, page_order: 'mixed', refused_from_ms: 3, refused_to_ms: 4 },
  refused_since: LATER,
};
const NOT_CHECKED = {
  ...{ checked_from: null, checked_to: null, checked_total: null, is_held: null, checked_at: null },
  ...{ by_figures: null, round_read: null, round_of: null, round_began_at: null, round_through_ms: null },
  ...{ widest_ms: null, page_order: null, refused_from_ms: null, refused_to_ms: null, refused_since: null },
};
const NO_PAST = { past_before_ms: null, past_total: null, past_asked_at: null };
const NO_FIGURES = { figured_from: null, figured_through: null };

const BEFORE: Readonly<Record<string, readonly object[]>> = {
  figured_days: [
    { merchant_no: 'M1', currency: 'EUR', from_day: '2026-01-01', through_day: '2026-02-01' },
    { merchant_no: 'M1', currency: 'USD', from_day: '2026-01-02', through_day: '2026-02-02' },
  ],
  ledger_past: [
    { merchant_no: 'M1', currency: '', before_ms: 5, total: 3, asked_at: AT },
    { merchant_no: 'M1', currency: 'USD', before_ms: 5, total: null, asked_at: LATER },
    { merchant_no: 'M2', currency: '', before_ms: 6, total: 0, asked_at: AT },
  ],
  historical_check: [
    { merchant_no: 'M1', from_day: '2026-01-01', to_day: '2026-02-28', ...CHECKED },
    { merchant_no: 'M3', from_day: '2026-01-03', to_day: '2026-02-03', ...CHECKED, refused_since: null },
  ],
  late_entry_count: [
    { merchant_no: 'M1', month: '2026-02-01', days_min: 0, days_max: 1, entries: 4 },
    { merchant_no: 'M1', month: '2026-02-01', days_min: 1, days_max: 2, entries: 5 },
  ],
  month_end_sample: [
    { merchant_no: 'M1', month: '2026-01-01', entries: 600, sampled_on: '2026-02-01' },
    { merchant_no: 'M1', month: '2026-02-01', entries: 0, sampled_on: '2026-02-01' },
  ],
  day_entries: [
    { merchant_no: 'M1', currency: 'USD', day: '2026-02-01', fingerprint: 1, figured_fingerprint: 1 },
    { merchant_no: 'M1', currency: 'USD', day: '2026-02-02', fingerprint: 2, figured_fingerprint: 2 },
    { merchant_no: 'M1', currency: 'USD', day: '2026-02-03', fingerprint: 3, figured_fingerprint: null },
  ],
  uncompared_day: [{ merchant_no: 'M1', currency: 'USD', day: '2026-02-02' }],
  platform_limit: [{ is_only: true, free_at: LATER }],
  platform_hold: [{ owner: 'merchant M1', held_until: LATER, recorded_at: AT }],
  platform_clock: [{ is_only: true, seen_off_at: AT, seen: 'entry B1 is off' }],
};

const filled = async (): Promise<Awaited<ReturnType<typeof databaseBefore>>> => {
  const database = await databaseBefore('0052');
  for (const [table, rows] of Object.entries(BEFORE))
    for (const row of rows)
      await sql`INSERT INTO ${sql.table(table)} (${sql.join(Object.keys(row).map((name) => sql.ref(name)))})
        SELECT ${sql.join(Object.keys(row).map((name) => sql.ref(`made.${name}`)))}
        FROM jsonb_populate_record(NULL::${sql.table(table)}, ${JSON.stringify(row)}::jsonb) AS made`.execute(
        database.db,
      );
  await sql`UPDATE watchdog_check SET checked_at = ${AT} WHERE what = 'runs'`.execute(database.db);
  return database;
};

const rowsOf = async (db: Kysely<DB>, table: string, order: string): Promise<unknown[]> => {
  const { rows } = await sql<{ row: unknown }>`
    SELECT to_jsonb(held) AS row FROM ${sql.table(table)} AS held ORDER BY ${sql.raw(order)}`.execute(db);
  return rows.map(({ row }) => row);
};

test('each value of the former tables has its place', async () => {
  const { db, upTo } = await filled();
  const { rows: before } = await sql<{ id: string }>`SELECT id FROM database_identity`.execute(db);
  await upTo('0052');

  const { total, ...checked } = CHECKED;
  const of = (merchant_no: string, currency: string) => ({ merchant_no, currency });
  expect(await rowsOf(db, 'ledger_cursor', 'merchant_no, currency')).toEqual([
    {
      ...of('M1', ''),
      ...NO_FIGURES,
      ...{ past_before_ms: 5, past_total: 3, past_asked_at: AT },
      ...{ checked_from: '2026-01-01', checked_to: '2026-02-28', checked_total: total, ...checked },
    },
    {
      ...of('M1', 'EUR'),
      ...{ figured_from: '2026-01-01', figured_through: '2026-02-01', ...NO_PAST, ...NOT_CHECKED },
    },
    {
      ...of('M1', 'USD'),
      ...{ figured_from: '2026-01-02', figured_through: '2026-02-02' },
      ...{ past_before_ms: 5, past_total: null, past_asked_at: LATER, ...NOT_CHECKED },
    },
    {
      ...of('M2', ''),
      ...NO_FIGURES,
      ...{ past_before_ms: 6, past_total: 0, past_asked_at: AT, ...NOT_CHECKED },
    },
    {
      ...of('M3', ''),
      ...NO_FIGURES,
      ...NO_PAST,
      ...{ checked_from: '2026-01-03', checked_to: '2026-02-03', checked_total: total, ...checked },
      refused_since: null,
    },
  ]);
  const month = (month: string, row: object) => ({ merchant_no: 'M1', month, sampled_on: null, ...row });
  expect(await rowsOf(db, 'lateness_count', 'month, days_max')).toEqual([
    month('2026-01-01', { days_min: 0, days_max: 0, entries: 600, sampled_on: '2026-02-01' }),
    month('2026-02-01', { days_min: 0, days_max: 0, entries: 0, sampled_on: '2026-02-01' }),
    month('2026-02-01', { days_min: 0, days_max: 1, entries: 4 }),
    month('2026-02-01', { days_min: 1, days_max: 2, entries: 5 }),
  ]);
  const day = (day: string, fingerprint: number, row: object) => ({
    ...{ merchant_no: 'M1', currency: 'USD', day, fingerprint, figured_fingerprint: fingerprint },
    ...{ is_changed: false, compared_fingerprint: null, is_uncompared: true, ...row },
  });
  expect(await rowsOf(db, 'day_entries', 'day')).toEqual([
    day('2026-02-01', 1, { compared_fingerprint: 1, is_uncompared: false }),
    day('2026-02-02', 2, {}),
    day('2026-02-03', 3, { figured_fingerprint: null, is_changed: true }),
  ]);
  expect(await rowsOf(db, 'platform_hold', 'owner')).toEqual([
    { owner: 'merchant M1', held_until: LATER, recorded_at: AT },
    { owner: 'the rate', held_until: LATER, recorded_at: '-infinity' },
  ]);
  expect(await rowsOf(db, 'installation', 'id')).toEqual([
    {
      ...{ id: before[0]!.id, is_only: true, clock_off_at: AT, clock_off: 'entry B1 is off' },
      ...{ nights_checked_at: '-infinity', runs_checked_at: AT },
    },
  ]);
});

test('what runs read of it is what it was', async () => {
  const { db, upTo } = await filled();
  await upTo('0052');
  expect(await isClockOff(db)).toBe(true);
  const { id } = await db.selectFrom('installation').select('id').executeTakeFirstOrThrow();
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(await uncomparedDays(db, ['M1'])).toEqual([
    { merchantNo: 'M1', currency: 'USD', day: '2026-02-02', fingerprint: '2' },
    { merchantNo: 'M1', currency: 'USD', day: '2026-02-03', fingerprint: null },
  ]);
  expect(await pastAndBegin(db, 'M1')).toEqual({ past: { beforeMs: 5, total: 3 }, beginMs: null });
  expect(await pastAndBegin(db, 'M3')).toEqual({ past: null, beginMs: null });
  expect((await historicalComparisons(db, ['M1', 'M2', 'M3'])).get('M1')).toEqual({
    ...{ from: '2026-01-01', to: '2026-02-28', total: 9, isHeld: true, checkedAt: new Date(AT) },
    round: {
      ...{ read: 1, of: 9, beganAt: new Date(AT), throughMs: 7, widestMs: 6, order: 'mixed' },
      refused: { beginMs: 3, endMs: 4, since: new Date(LATER) },
    },
  });
  expect([...(await historicalComparisons(db, ['M1', 'M2', 'M3'])).keys()].sort()).toEqual(['M1', 'M3']);
  expect((await latenessMeasured(db, ['M1'], '2026-03-01')).get('M1')).toEqual({
    late: [
      { daysMin: 0, daysMax: 1, entries: 4 },
      { daysMin: 1, daysMax: 2, entries: 5 },
    ],
    watched: [
      { month: '2026-01-01', sampledOn: '2026-02-01', entries: 600 },
      { month: '2026-02-01', sampledOn: '2026-02-01', entries: 0 },
    ],
  });
});
