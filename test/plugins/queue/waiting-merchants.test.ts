/** Merchants that wait for a job that will not come are found, on a real server, and no others. */
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RETRY_LIMIT } from '../../../src/plugins/queue/queue.ts';
import { redrive, lostMerchants, waitAgain } from '../../../src/plugins/queue/jobs.ts';
import { runsToFinish } from '../../../src/store/run-merchants.ts';
import { queueStage, type QueueStage } from './support.ts';

let stage: QueueStage;
beforeEach(async () => {
  stage = await queueStage();
});
afterEach(() => stage.close());

/** A queued run of these merchants, and a job for each. */
async function queuedRun(merchants: readonly string[]): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    INSERT INTO run (command, holder, started_at, request) VALUES ('nightly', 'here', now(), '{}') RETURNING id`.execute(
    stage.database.db,
  );
  const runId = rows[0]!.id;
  for (const merchantNo of merchants) {
    await sql`INSERT INTO run_merchant (merchant_no, run_id) VALUES (${merchantNo}, ${runId})`.execute(
      stage.database.db,
    );
  }
  await stage.send(merchants, { runId });
  return runId;
}

const endRow = (runId: number, merchantNo: string) =>
  sql`UPDATE run_merchant SET finished_at = now(), exit_code = 4 WHERE run_id = ${runId} AND merchant_no = ${merchantNo}`.execute(
    stage.database.db,
  );

/** Takes the merchant's job as often as it may be tried, and fails each time. */
async function failForGood(exitCode: number): Promise<void> {
  for (let failed = 0; failed <= RETRY_LIMIT; failed += 1) {
    await stage.hurry();
    const [job] = await stage.queue.boss.fetch('night');
    await stage.queue.boss.fail('night', job!, { message: 'no disk', exitCode });
  }
}

it('a merchant waits for its job while that waits, is at work, or is to be tried again', async () => {
  const { db } = stage.database;
  await queuedRun(['M1']);
  expect(await lostMerchants(db)).toEqual([]);
  const [job] = await stage.queue.boss.fetch('night');
  expect(await lostMerchants(db)).toEqual([]);
  await stage.queue.boss.fail('night', job!, {});
  expect(await lostMerchants(db)).toEqual([]);
  expect(await runsToFinish(db)).toEqual([]);
});

it.each([
  [4, 4],
  [70, 70],
])('a job that was given up loses its merchant: of error %i comes %i', async (error, exitCode) => {
  const { db } = stage.database;
  const runId = await queuedRun(['M1']);
  await failForGood(error);
  const problem = `its job was given up after ${RETRY_LIMIT + 1} attempts: no disk`;
  expect(await lostMerchants(db)).toEqual([{ runId, merchantNo: 'M1', problem, exitCode }]);
  await endRow(runId, 'M1');
  expect(await lostMerchants(db)).toEqual([]);
  expect(await runsToFinish(db)).toEqual([runId]);
});

it('a job that is gone without a trace loses its merchant, as does one refused for a job of an earlier run', async () => {
  const { db } = stage.database;
  const first = await queuedRun(['M1', 'M2']);
  const second = await queuedRun(['M2']);
  await sql`DELETE FROM daybook_queue.job WHERE singleton_key = 'M1'`.execute(db);
  const problem = 'its job is missing: no worker took it in time';
  expect(await lostMerchants(db)).toEqual([
    { runId: first, merchantNo: 'M1', problem, exitCode: 4 },
    { runId: second, merchantNo: 'M2', problem, exitCode: 4 },
  ]);
});

it('a dead letter explains the loss of its own run’s merchant, and no other', async () => {
  const { db } = stage.database;
  const lose = (merchantNo: string) =>
    sql`DELETE FROM daybook_queue.job WHERE name = 'night' AND singleton_key = ${merchantNo}`.execute(db);
  const first = await queuedRun(['M1', 'M2']);
  await lose('M2');
  await failForGood(4);
  const second = await queuedRun(['M1']);
  await lose('M1');
  const [problem, exitCode] = ['its job is missing: no worker took it in time', 4];
  const given = `its job was given up after ${RETRY_LIMIT + 1} attempts: no disk`;
  expect(await lostMerchants(db)).toEqual([
    { runId: first, merchantNo: 'M1', problem: given, exitCode },
    { runId: first, merchantNo: 'M2', problem, exitCode },
    { runId: second, merchantNo: 'M1', problem, exitCode },
  ]);
});

it('a job that is sent back opens its run again, and the merchant waits as before', async () => {
  const { db } = stage.database;
  const runId = await queuedRun(['M1']);
  await failForGood(70);
  await endRow(runId, 'M1');
  await sql`UPDATE run SET exit_code = 4, finished_at = now()`.execute(db);
  await db.transaction().execute(async (trx) => waitAgain(trx, (await redrive(stage.queue, trx)).sent));
  const { rows } = await sql`
    SELECT run.exit_code AS run, merchant.exit_code FROM run JOIN run_merchant merchant ON run_id = id`.execute(
    db,
  );
  expect(rows).toEqual([{ run: null, exit_code: null }]);
  expect(await lostMerchants(db)).toEqual([]);
  expect(await stage.queue.boss.fetch('night')).toMatchObject([{ data: { runId, merchantNo: 'M1' } }]);
});

it('a run that one process did by itself is left alone', async () => {
  const { db } = stage.database;
  await sql`INSERT INTO run (command, holder, started_at) VALUES ('run', 'here', now())`.execute(db);
  await sql`INSERT INTO run_merchant (merchant_no, run_id) SELECT 'M1', id FROM run`.execute(db);
  expect(await lostMerchants(db)).toEqual([]);
  expect(await runsToFinish(db)).toEqual([]);
});
