/** `jobs` and the queue's part of `migrate`, run as processes. */
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RETRY_LIMIT } from '../../../src/plugins/queue/queue.ts';
import { freshDatabase } from '../../support/database.ts';
import { queueStage, type QueueStage } from './support.ts';
import { daybook, type Env } from '../../cli/daybook.ts';

let stage: QueueStage;
let env: Env;
beforeEach(async () => {
  stage = await queueStage();
  env = {
    DATABASE_URL: stage.database.url,
    DAYBOOK_WORKERS: 'queue',
    STATEMENTS_URL: 'file:///tmp/no-statements',
  };
});
afterEach(() => stage.close());

async function givenUp(merchantNo: string): Promise<void> {
  const { rows } = await sql<{ id: number }>`
    INSERT INTO run (command, holder, started_at, request, exit_code) VALUES ('nightly', 'here', now(), '{}', 4)
    RETURNING id`.execute(stage.database.db);
  const runId = rows[0]!.id;
  await sql`
    INSERT INTO run_merchant (merchant_no, run_id, exit_code) VALUES (${merchantNo}, ${runId}, 4)`.execute(
    stage.database.db,
  );
  await stage.send([merchantNo], { runId });
  for (let failed = 0; failed <= RETRY_LIMIT; failed += 1) {
    await stage.hurry();
    const [job] = await stage.queue.boss.fetch('night');
    await stage.queue.boss.fail('night', job!, { message: 'no disk', exitCode: 4 });
  }
}

it('lists what waits, what is at work and what was given up', async () => {
  await givenUp('M1');
  await stage.send(['M2', 'M3']);
  await stage.queue.boss.fetch('night');
  const { code, stdout } = await daybook(['jobs', 'list'], env);
  expect(code).toBe(0);
  expect(stdout).toMatch(/night +1 +1 /);
  expect(stdout).toContain(
    '1 job was given up; `daybook jobs redrive` retries them once the cause is fixed:',
  );
  expect(stdout).toMatch(new RegExp(`M1 +1 +${RETRY_LIMIT + 1} .* no disk`));
  const { stdout: json } = await daybook(['jobs', 'list', '--json'], env);
  expect(JSON.parse(json)).toMatchObject({
    lanes: [{ lane: 'night', waiting: 1, active: 1 }],
    givenUpCount: 1,
    givenUp: [{ merchantNo: 'M1', runId: 1, problem: 'no disk', exitCode: 4, attempts: RETRY_LIMIT + 1 }],
  });
});

it('sends back what was given up, opens its run again, and records who did it', async () => {
  await givenUp('M1');
  const other = await daybook(['jobs', 'redrive', '--merchant', 'M2'], env);
  expect(other).toMatchObject({
    code: 2,
    stderr: 'daybook: no job of merchant M2 was given up; `daybook jobs list` shows the queue.\n',
  });
  const again = await daybook(['jobs', 'redrive', '--merchant', 'M1', '--by', 'Kim'], env);
  expect(again).toMatchObject({ code: 0, stdout: '1 job is on the queue again: M1 of run 1\n' });
  const { rows } = await sql`
    SELECT run.exit_code AS run, merchant.exit_code AS merchant FROM run JOIN run_merchant AS merchant ON run_id = id`.execute(
    stage.database.db,
  );
  expect(rows).toEqual([{ run: null, merchant: null }]);
  const { stdout } = await daybook(['audit', '--json'], env);
  expect(JSON.parse(stdout)).toMatchObject([{ by: 'Kim', command: 'jobs redrive', subject: 'M1' }]);
  expect((await daybook(['jobs', 'redrive'], env)).code).toBe(2);
});

it('needs the setting, and tables that `migrate` makes where it is set', async () => {
  const none = await daybook(['jobs', 'list'], { ...env, DAYBOOK_WORKERS: 'none' });
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('DAYBOOK_WORKERS is none') });

  const bare = await freshDatabase();
  const bareEnv = { ...env, DATABASE_URL: bare.url };
  expect(await daybook(['jobs', 'list'], bareEnv)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('run `daybook migrate` with DAYBOOK_WORKERS=queue'),
  });
  const without = await daybook(['migrate', '--json'], { ...bareEnv, DAYBOOK_WORKERS: 'none' });
  expect(JSON.parse(without.stdout)).toEqual({ applied: [] });
  expect(JSON.parse((await daybook(['migrate', '--json'], bareEnv)).stdout)).toEqual({
    applied: ['daybook_queue'],
  });
  expect(JSON.parse((await daybook(['migrate', '--json'], bareEnv)).stdout)).toEqual({ applied: [] });
  expect((await daybook(['jobs', 'list'], bareEnv)).code).toBe(0);
  await bare.close();
});
