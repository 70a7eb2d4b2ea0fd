/**
 * `worker` and `schedule` over the queue, as processes: a slot is queued once, done, reported, and a lost job is reported too.
 *
 * @module-tag long
 */
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { installQueue } from '../../../src/plugins/queue/queue.ts';
import { openStage, scenario, type Stage } from '../../support/stage.ts';
import { daybook, envOf, startDaybook, type Env } from '../../cli/daybook.ts';

let stage: Stage;
let env: Env;
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 5 }) });
  await installQueue(stage.app.database.db);
  env = { ...envOf(stage), DAYBOOK_WORKERS: 'queue', DAYBOOK_SCHEDULE_RESWEEP: '30 1 * * *' };
});
afterEach(() => stage.close());

const runs = () =>
  stage.app.database.db
    .selectFrom('run')
    .select(['command', 'exit_code'])
    .where('request', 'is not', null)
    .execute();

it('a slot is put on the queue and done by a worker; the schedule goes on meanwhile and ends when it is told to', async () => {
  const schedule = startDaybook(['schedule'], env);
  await vi.waitFor(() => expect(schedule.reported()).toContain('job waits until this run has ended'), {
    timeout: 30_000,
  });
  expect(await runs()).toEqual([{ command: 'nightly', exit_code: null }]);
  const { stdout } = await daybook(['runs', '--json'], env);
  expect(JSON.parse(stdout)).toMatchObject(
    expect.arrayContaining([expect.objectContaining({ command: 'nightly', state: 'running' })]),
  );
  expect((await daybook(['status'], env)).stdout).toContain('queue: night 1 waiting, 0 at work');
  const worker = await daybook(['worker', '--until-empty', '--at-once', '2'], env);
  expect(worker.code, worker.stderr).toBe(0);
  expect(worker.stderr).toMatch(/"merchantNo":"SBX-M-1","run":\d+,"outcome":"done","ms":\d+,"exitCode":0/);
  expect(worker.stderr).toContain('run ended');
  expect(await runs()).toEqual([{ command: 'nightly', exit_code: 0 }]);
  schedule.child.kill('SIGTERM');
  const { code, stderr } = await schedule.ended;
  expect(code, stderr).toBe(0);
  expect(stderr).toContain('job is on the queue');
}, 120_000);

it('a worker that the database outgrew ends with 2 at its first job, and leaves it all its attempts', async () => {
  const { db } = stage.app.database;
  const schedule = startDaybook(['schedule'], env);
  await expect.poll(runs, { timeout: 30_000 }).toHaveLength(1);
  schedule.child.kill('SIGKILL');
  await schedule.ended;
  // As a migration leaves it that was applied while the worker ran.
  await db.updateTable('installation').set({ oldest_program: '9001' }).execute();
  const { code, stderr } = await startDaybook(['worker'], env).ended;
  expect(code, stderr).toBe(2);
  expect(stderr).toContain('the database is newer than this program (9001 > ');
  expect(stderr).not.toContain('"outcome":"failed"');
  const { rows } = await sql`
    SELECT name, retry_count, state FROM daybook_queue.job WHERE name NOT LIKE '\\_\\_%'`.execute(db);
  expect(rows).toEqual([{ name: 'night', retry_count: 0, state: 'created' }]);
}, 120_000);

it('a merchant whose job is gone ends with 4 and what to do, and so does the run; sent back, the run is open again', async () => {
  const { db } = stage.app.database;
  const schedule = startDaybook(['schedule'], env);
  await expect.poll(runs, { timeout: 30_000 }).toHaveLength(1);
  schedule.child.kill('SIGKILL');
  await schedule.ended;
  await sql`
    UPDATE daybook_queue.job SET state = 'active', retry_count = retry_limit, started_on = now(),
      heartbeat_on = now() - interval '1 h' WHERE name = 'night'`.execute(db);
  const worker = startDaybook(['worker'], env);
  await expect.poll(runs, { timeout: 60_000 }).toEqual([{ command: 'nightly', exit_code: 4 }]);
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
  const status = await daybook(['status'], env);
  expect(status.stdout).toContain('1 job was given up: SBX-M-1 of run ');
  const [{ id }] = (await db.selectFrom('run').select('id').where('request', 'is not', null).execute()) as [
    { id: number },
  ];
  const shown = await daybook(['runs', String(id)], env);
  expect(shown.stdout).toContain('SBX-M-1: its job was given up after 6 attempts: job heartbeat timeout');
  expect(shown.stdout).toContain('daybook jobs redrive');
  expect((await daybook(['jobs', 'redrive'], env)).code).toBe(0);
  expect(await runs()).toEqual([{ command: 'nightly', exit_code: null }]);
  expect((await daybook(['worker', '--until-empty'], env)).code).toBe(0);
  expect(await runs()).toEqual([{ command: 'nightly', exit_code: 0 }]);
}, 180_000);
