/** When a run that workers did has its end, with which exit code, and what is told of it. */
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { listAlerts } from '../../../src/plugins/alerts/outbox.ts';
import { runAlerts } from '../../../src/plugins/alerts/run-end.ts';
import { finishQueuedRun, finishWaitingRuns } from '../../../src/plugins/queue/end-run.ts';
import { installQueue } from '../../../src/plugins/queue/queue.ts';
import type { Database } from '../../../src/store/engine/database.ts';
import { counting } from '../../store/many-accounts.ts';
import { NOW } from '../../store/support.ts';
import { emptyTables, freshDatabase } from '../../support/database.ts';
import { MERCHANT, openStage, scenario } from '../../support/stage.ts';

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterEach(() => emptyTables(database.db));
afterAll(() => database.close());

const REQUEST = { command: 'run', range: null, currencies: null, scheduled: null, lateSweepDays: null };

async function begin(): Promise<number> {
  const { rows } = await sql<{ id: number }>`INSERT INTO run (command, holder, started_at, request)
    VALUES ('nightly', 'here', ${NOW}, ${JSON.stringify(REQUEST)}::jsonb) RETURNING id`.execute(database.db);
  return rows[0]!.id;
}
const endOf = (id: number) =>
  database.db
    .selectFrom('run')
    .select(['exit_code as exitCode', sql`figures->'notes'`.as('notes')])
    .where('id', '=', id)
    .executeTakeFirst();

const settings = {
  ...{ now: () => NOW, zone: 'UTC', settleDelayMs: 0, holder: 'here', alerts: undefined },
  ...{ checks: undefined, timeZoneTrusted: undefined },
} as unknown as Omit<Parameters<typeof finishQueuedRun>[1], 'db'>;
const finish = (id: number, db = database.db) => finishQueuedRun(id, { ...settings, db });

test('a run that workers do ends once, with its last merchant; until then, and after that, it costs one question to know', async () => {
  const { db } = database;
  const id = await begin();
  const figures = JSON.stringify({
    inserted: 5,
    reasons: [{ exitCode: 3, what: 'M1: made up', todo: null, merchantNo: 'M1' }],
  });
  await sql`INSERT INTO run_merchant (merchant_no, run_id, exit_code, reads, figures) VALUES
    ('M1', ${id}, 3, true, ${figures}::jsonb), ('M2', ${id}, NULL, true, '{}')`.execute(db);
  const counted = counting(db);
  expect(await finish(id, counted.db)).toBe(false);
  expect(counted.statements()).toBe(1);
  await sql`UPDATE run_merchant SET exit_code = 0 WHERE merchant_no = 'M2'`.execute(db);
  expect(await finish(id)).toBe(true);
  expect(await endOf(id)).toEqual({ exitCode: 3, notes: ['M1: made up'] });
  const again = counting(db);
  expect(await finish(id, again.db)).toBe(false);
  expect(again.statements()).toBe(1);
});

test('breaks that a worker found before it died for good are told with the end of its run', async () => {
  const { merchantNo } = MERCHANT;
  const planted = {
    what: 'missing',
    merchant: merchantNo,
    currency: 'USD',
    day: '2026-03-03',
    nth: 5,
  } as const;
  const stage = await openStage({ scenario: scenario({ entriesPerDay: 20, planted: [planted] }) });
  const receivers = {
    targets: ['json 1'],
    direct: vi.fn(),
    directlySent: () => Promise.resolve(new Map()),
    onProblem: vi.fn(),
    onSuccess: vi.fn(),
  };
  await stage.run({});
  const { db } = stage.app.database;
  await installQueue(db);
  await sql`UPDATE run SET exit_code = NULL, finished_at = NULL, request = ${JSON.stringify(REQUEST)}::jsonb`.execute(
    db,
  );
  await sql`UPDATE run_merchant SET exit_code = NULL, holder = NULL, finished_at = NULL`.execute(db);
  expect(await finishWaitingRuns(stage.deps({ alerts: runAlerts(receivers) }))).toEqual([1]);
  expect((await listAlerts(db, 10)).map(({ kind }) => kind).sort()).toEqual(['failed-night', 'new-break']);
  await stage.close();
});
