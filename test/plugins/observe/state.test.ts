/** The state is read seldom, in time, and as far as the login may see it. */
import { randomUUID } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { jobs } from '../../../jobs/all.ts';
import { stateText } from '../../../src/plugins/observe/metrics.ts';
import { createState, STATE_LASTS_MS, type StateDeps } from '../../../src/plugins/observe/state.ts';
import { installQueue } from '../../../src/plugins/queue/queue.ts';
import { beginBackfill } from '../../../src/run/backfills.ts';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import type { DB } from '../../../src/store/engine/schema.ts';
import { counting } from '../../store/many-accounts.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';
import { samplesOf } from './support.ts';

let stage: Stage;
let db: Kysely<DB>;
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 5 }) });
  db = stage.app.database.db;
});
afterEach(() => stage.close());

const stateFor = (change: Partial<StateDeps> = {}) => {
  const { settings, now } = stage.app;
  return createState({ db, ledger: { settings, jobs }, now, withMerchants: false, ...change });
};
const samplesFor = async (change: Partial<StateDeps> = {}) =>
  samplesOf(await stateText(await stateFor(change)()));
const part = (samples: ReadonlyMap<string, number>, name: string) =>
  samples.get(`daybook_state_read{part="${name}"}`);

test('however many ask at once, and then again, it is read once; later anew', async () => {
  const asked = counting(db);
  let clockMs = 0;
  const state = stateFor({ db: asked.db, clock: () => clockMs });
  const [first] = await Promise.all(Array.from({ length: 100 }, () => state()));
  const statements = asked.statements();
  clockMs += STATE_LASTS_MS - 1;
  expect(await state()).toBe(first);
  expect(asked.statements()).toBe(statements);
  clockMs += 1;
  expect(await state()).not.toBe(first);
  expect(asked.statements()).toBe(2 * statements);
});

test('a database that holds statements up is told in time, and what it would tell is left out; then it is back', async () => {
  const lock = Promise.withResolvers<undefined>();
  const locked = Promise.withResolvers<undefined>();
  const holding = db.transaction().execute(async (trx) => {
    await sql`LOCK TABLE continuity_break IN ACCESS EXCLUSIVE MODE`.execute(trx);
    locked.resolve(undefined);
    await lock.promise;
  });
  await locked.promise;
  const own = await openDatabase({ ...stage.app.settings, connectionsMax: 1 });
  const state = stateFor({ db: own.db, answerMsMax: 300 });
  const text = await stateText(await state());
  expect(text).toContain('daybook_state_read{part="database"} 0');
  expect([...samplesOf(text).keys()].filter((name) => !name.startsWith('daybook_state_read'))).toEqual([]);
  lock.resolve(undefined);
  await holding;
  await vi.waitFor(async () => expect(part(samplesOf(await stateText(await state())), 'ledger')).toBe(1));
  await own.close();
});

test('a login that sees the ledgers alone, or the inbox alone, tells of that alone, and that is no trouble', async () => {
  await sql`DO $$ BEGIN CREATE ROLE test_sees_inbox NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`.execute(
    db,
  );
  await sql`GRANT USAGE ON SCHEMA public TO test_sees_inbox; GRANT SELECT ON notification TO test_sees_inbox`.execute(
    db,
  );
  const own = await openDatabase({ ...stage.app.settings, connectionsMax: 1 });
  await sql`SET ROLE test_sees_inbox`.execute(own.db);
  const samples = await samplesFor({ db: own.db });
  expect(part(samples, 'inbox')).toBe(1);
  expect(part(samples, 'ledger')).toBeUndefined();
  expect(samples.get('daybook_inbox_waiting')).toBe(0);
  expect(samples.has('daybook_merchants')).toBe(false);
  await own.close();
});

test('without settings for the platform, as `serve` may be, the inbox alone is told', async () => {
  const samples = await samplesFor({ ledger: null });
  expect(
    [...samples.keys()].filter((name) => name.startsWith('daybook_') && !name.includes('state_read')),
  ).toEqual([
    'daybook_inbox_waiting',
    'daybook_inbox_oldest_age_seconds',
    'daybook_inbox_waiting_bytes',
    'daybook_inbox_needs_person',
  ]);
});

test('the inbox: what waits, since when and how large, what needs a person', async () => {
  const post = (ageS: number) => ({
    id: randomUUID(),
    kind: 'onboarding' as const,
    notify_hash: 'h',
    body_ciphertext: 'v1:k1:none',
    received_at: new Date(stage.app.now().getTime() - ageS * 1_000),
  });
  const waiting = [post(60), post(600)];
  const odd = { ...post(5), outcome: 'malformed' as const, processed_at: stage.app.now() };
  await db.insertInto('notification').values(waiting).execute();
  await db.insertInto('notification').values(odd).execute();
  const samples = await samplesFor();
  expect(samples.get('daybook_inbox_waiting')).toBe(2);
  expect(samples.get('daybook_inbox_oldest_age_seconds')).toBe(600);
  expect(samples.get('daybook_inbox_waiting_bytes')).toBe(2 * 'v1:k1:none'.length);
  expect(samples.get('daybook_inbox_needs_person')).toBe(1);
});

test('the queue and a backfill: jobs that wait, jobs given up, days left, merchants whose slice failed', async () => {
  await installQueue(db);
  const job = (name: string, merchantNo: string, ageS: number) =>
    sql`
    INSERT INTO daybook_queue.job (name, data, singleton_key, created_on)
    VALUES (${name}, ${JSON.stringify({ runId: 1, merchantNo })}::jsonb, ${merchantNo},
      ${stage.app.now()}::timestamptz - ${ageS} * interval '1 s')`.execute(db);
  await job('night', 'M1', 90);
  await job('night', 'M2', 30);
  await job('dead', 'M3', 0);
  const days = { from: '2026-02-01', to: '2026-02-10' };
  await beginBackfill({ ...days, merchants: [MERCHANT.merchantNo] }, stage.deps());
  await sql`UPDATE request SET attempts = 1, problem = 'no', not_before = now()`.execute(db);
  const ledger = { settings: { ...stage.app.settings, workers: 'queue' as const }, jobs };
  const samples = await samplesFor({ ledger });
  expect(samples.get('daybook_queue_jobs{lane="night",state="waiting"}')).toBe(2);
  expect(samples.get('daybook_queue_oldest_age_seconds{lane="night"}')).toBe(90);
  expect(samples.get('daybook_queue_jobs_given_up')).toBe(1);
  expect(samples.get('daybook_backfills_open')).toBe(1);
  expect(samples.get('daybook_backfill_dates_left')).toBe(10);
  expect(samples.get('daybook_backfill_merchants_failing')).toBe(1);
  expect(samples.has('daybook_backfill_time_left_seconds')).toBe(false);
});

test('a scheduled run that failed and that none made up for, an unreadable entry, a killed run', async () => {
  await sql`
    INSERT INTO run (command, slot, holder, started_at, finished_at, exit_code)
    VALUES ('nightly', '2026-03-05T01:30', 'x', ${stage.app.now()}::timestamptz - interval '1 h',
      ${stage.app.now()}::timestamptz, 4)`.execute(db);
  await sql`
    INSERT INTO quarantined_entry (merchant_no, raw, reason, fingerprint, span, first_seen_at)
    VALUES (${MERCHANT.merchantNo}, '{}', 'no amount', 'f', '{[1,2)}', now())`.execute(db);
  const failed = await samplesFor();
  expect(failed.get('daybook_runs_not_made_up_for')).toBe(1);
  expect(failed.get('daybook_last_run_exit_code')).toBe(4);
  expect(failed.get('daybook_entries_unreadable')).toBe(1);
  expect(failed.get('daybook_next_run_timestamp_seconds{job="resweep"}')).toBe(
    Date.parse('2026-03-06T13:30:00+08:00') / 1_000,
  );
  await sql`
    INSERT INTO run (command, holder, from_day, to_day, started_at)
    VALUES ('run', 'gone:1:x', '2026-03-05', '2026-03-05', ${stage.app.now()}::timestamptz)`.execute(db);
  const killed = await samplesFor();
  expect(killed.get('daybook_last_run_state{command="run",state="killed"}')).toBe(1);
  expect(killed.has('daybook_last_run_exit_code')).toBe(false);
});
