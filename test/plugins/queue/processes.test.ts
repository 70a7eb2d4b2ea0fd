/**
 * Workers as real processes on a real server: whichever is killed, each job has its effect, and has it once.
 *
 * @module-tag long
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterEach, expect, it, vi } from 'vitest';
import { deadLetters, isEmpty } from '../../../src/plugins/queue/jobs.ts';
import { merchantsOf, queueStage, type QueueStage } from './support.ts';

const WORKER = fileURLToPath(new URL('worker-process.ts', import.meta.url));
const MERCHANTS = merchantsOf(30);
const KILLS = 4;

let stage: QueueStage;
const workers = new Set<ChildProcess>();
afterEach(async () => {
  for (const worker of workers) worker.kill('SIGKILL');
  await stage.close();
});

function startWorker(): ChildProcess {
  const child = spawn(process.execPath, [WORKER, stage.database.url, '3'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  workers.add(child);
  child.on('exit', () => workers.delete(child));
  return child;
}

const attempts = async (): Promise<number> => {
  const { rows } = await sql<{ count: number }>`SELECT count(*) AS count FROM attempt`.execute(
    stage.database.db,
  );
  return rows[0]!.count;
};

it('no job is lost and none has its effect twice, while workers are killed at work', async () => {
  stage = await queueStage();
  const { db } = stage.database;
  await sql`CREATE TABLE attempt (merchant_no text, holder text)`.execute(db);
  await sql`CREATE TABLE effect (run_id bigint, merchant_no text)`.execute(db);
  await stage.send(MERCHANTS);
  let survivor = startWorker();
  for (let killed = 0; killed < KILLS; killed += 1) {
    const victim = startWorker();
    const before = await attempts();
    const begun = new RegExp(`:${victim.pid}:`);
    await vi.waitFor(
      async () => {
        const { rows } = await sql<{ holder: string }>`SELECT holder FROM attempt`.execute(db);
        expect(rows.some(({ holder }) => begun.test(holder)) || (await isEmpty(db))).toBe(true);
      },
      { timeout: 120_000, interval: 5 },
    );
    victim.kill('SIGKILL');
    expect(await attempts()).toBeGreaterThanOrEqual(before);
    if (killed === KILLS / 2) await stage.send(MERCHANTS, { runId: 2 });
  }
  await vi.waitFor(
    async () => {
      await stage.hurry();
      // A worker leaves when it finds the queue empty, which it may have been between two kills.
      if (!workers.has(survivor)) survivor = startWorker();
      // Only jobs of killed workers: those of the living one are heard of every few seconds.
      await sql`UPDATE daybook_queue.job SET heartbeat_seconds = 10 WHERE state = 'active'`.execute(db);
      expect(await isEmpty(db)).toBe(true);
    },
    { timeout: 200_000, interval: 200 },
  );
  const { rows } = await sql`
    SELECT merchant_no FROM effect WHERE run_id = 1 ORDER BY merchant_no COLLATE "C"`.execute(db);
  expect(rows).toEqual(MERCHANTS.map((merchant_no) => ({ merchant_no })));
  const { rows: twice } =
    await sql`SELECT FROM effect GROUP BY run_id, merchant_no HAVING count(*) > 1`.execute(db);
  expect(twice).toEqual([]);
  expect(await attempts()).toBeGreaterThan(MERCHANTS.length);
  expect(await deadLetters(db, { limit: 9 })).toEqual([]);
}, 400_000);
