/** Migration 0053 joins what was to be reported once: every row is kept, and what was reported is not reported again. */
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql, type Kysely } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { stepsOf } from '../../src/store/breaks/break-cases.ts';
import { migrate } from '../../src/store/engine/migrations.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { unreportedChanges } from '../../src/store/events.ts';
import { noticesSince, unreportedNotices } from '../../src/store/notices.ts';
import { unreportedRevisions } from '../../src/store/statements/record-published.ts';
import { takeAlertEvents } from '../../src/run/alerts/alert-events.ts';
import { emptyDatabase } from '../support/database.ts';

const SQL = new URL('../../sql/', import.meta.url);
const AT = '2026-03-02T02:00:00+00:00';
const THEN = new Date(AT);
const DAY = '2026-03-01';
const account = { merchant_no: 'M1', currency: 'USD', day: DAY };

async function asVersionBefore(): Promise<Kysely<DB>> {
  const database = await emptyDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'daybook-events-'));
  onTestFinished(async () => {
    await database.close();
    await rm(folder, { recursive: true });
  });
  for (const name of (await readdir(SQL)).filter((file) => /^\d{4}_/.test(file) && file.slice(0, 4) < '0053'))
    await cp(new URL(name, SQL), join(folder, name));
  await migrate(database.db, folder);
  return database.db;
}

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

async function fill(db: Kysely<DB>): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // Without the rows that these refer to.
    await sql`SET LOCAL session_replication_role = replica`.execute(trx);
    for (const [table, ...rows] of ROWS)
      for (const row of rows)
        await sql`INSERT INTO ${sql.table(table)} (${sql.join(Object.keys(row).map((name) => sql.ref(name)))})
          OVERRIDING SYSTEM VALUE SELECT ${sql.join(Object.keys(row).map((name) => sql.ref(`made.${name}`)))}
          FROM jsonb_populate_record(NULL::${sql.table(table)}, ${JSON.stringify(row)}::jsonb) AS made`.execute(
          trx,
        );
  });
}

test('each row is an event with its values, reported if it was', async () => {
  const db = await asVersionBefore();
  await fill(db);
  await migrate(db);

  const events = await db
    .selectFrom('event')
    .selectAll()
    .orderBy('kind')
    .orderBy('merchant_no')
    .orderBy('subject')
    .execute();
  const late = (day: string, afterClose: boolean) => ({ currency: 'USD', day, revision: 1, afterClose });
  const notice = { currency: 'USD', day: DAY };
  expect(
    events.map(
      ({ kind, merchant_no: merchantNo, subject, data, run_id: runId, reported_at: reportedAt, at }) => {
        expect([merchantNo, at]).toEqual(['M1', THEN]);
        return [kind, subject, data, runId, reportedAt];
      },
    ),
  ).toEqual([
    ['amendment', `USD ${DAY} r2`, { revision: 2 }, 1, null],
    ['change', 'run 1', { amended: 2, vanished: 3 }, 1, null],
    ['empty', DAY, { day: DAY, figures: { fewest: 1, most: 2 } }, 1, THEN],
    ['first', `USD ${DAY}`, { ...notice, figures: { opening: '7.00' } }, 1, null],
    ['key-problem', '', { problem: 'refused' }, null, THEN],
    ['new-break', '1', { id: 1 }, 1, null],
    ['new-break', '2', { id: 2 }, 1, THEN],
    ['revision', 'USD 2026-02-27 r1', late('2026-02-27', true), 1, THEN],
    ['revision', 'USD 2026-02-28 r1', late('2026-02-28', false), 1, null],
    ['revision', `USD ${DAY} r2`, { currency: 'USD', day: DAY, revision: 2 }, 1, null],
    [
      'shared',
      `USD ${DAY} M2`,
      { ...notice, otherMerchantNo: 'M2', figures: { count: 1, batchNos: ['B'] } },
      1,
      null,
    ],
  ]);
});

test('the next run reports what was not reported, and alerts take each event once', async () => {
  const db = await asVersionBefore();
  await fill(db);
  await migrate(db);

  expect(await unreportedChanges(db, ['M1'])).toEqual([
    { merchantNo: 'M1', runId: 1, amended: 2, vanished: 3 },
  ]);
  expect(
    (await unreportedRevisions(db, ['M1'])).map(({ day, oldRevision, revision: to }) => [
      day,
      oldRevision,
      to,
    ]),
  ).toEqual([
    ['2026-02-28', null, 1],
    [DAY, 1, 2],
  ]);
  const found = { foundAt: THEN, runId: 1 };
  const first = {
    kind: 'first',
    merchantNo: 'M1',
    currency: 'USD',
    day: DAY,
    figures: { opening: '7.00' },
    ...found,
  };
  const shared = {
    ...{ kind: 'shared', merchantNo: 'M1', otherMerchantNo: 'M2', currency: 'USD', day: DAY },
    ...{ figures: { count: 1, batchNos: ['B'] }, ...found },
  };
  const empty = {
    kind: 'empty',
    merchantNo: 'M1',
    currency: null,
    day: DAY,
    figures: { fewest: 1, most: 2 },
    ...found,
  };
  expect(await unreportedNotices(db, ['M1'])).toEqual([first, shared]);
  expect(await unreportedNotices(db, ['M2'])).toEqual([shared]);
  expect(await noticesSince(db, ['M1'], THEN)).toEqual([empty, first, shared]);
  expect(await stepsOf(db, 1)).toEqual([{ kind: 'taken', by: 'Ada', at: THEN, note: 'mine' }]);
  const take = () => db.transaction().execute((trx) => takeAlertEvents(trx, new Date()));
  expect(await take()).toEqual({ breaks: [{ id: 1 }], revised: [{ revision: 2 }], tokens: [] });
  expect(await take()).toEqual({ breaks: [], revised: [], tokens: [] });
});
