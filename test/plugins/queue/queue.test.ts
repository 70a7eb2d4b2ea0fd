/** The queue on a real server: it is installed once, and jobs are sent with the transaction they belong to. */
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { enqueue, isEmpty, laneCounts } from '../../../src/plugins/queue/jobs.ts';
import { executorOf, installQueue, openQueue } from '../../../src/plugins/queue/queue.ts';
import { freshDatabase } from '../../support/database.ts';
import { merchantsOf, queueStage, type QueueStage } from './support.ts';

let stage: QueueStage;
afterEach(() => stage.close());

describe('the queue', () => {
  it('is made once, and again only its options are set', async () => {
    stage = await queueStage();
    const { db } = stage.database;
    expect(await installQueue(db)).toBe(false);
    await sql`UPDATE daybook_queue.queue SET retry_limit = 99`.execute(db);
    await sql`DELETE FROM daybook_queue.queue WHERE name = 'night'`.execute(db);
    expect(await installQueue(db)).toBe(true);
    const { rows } = await sql`
      SELECT name, retry_limit, policy FROM daybook_queue.queue ORDER BY name`.execute(db);
    expect(rows).toEqual([
      { name: 'dead', retry_limit: 0, policy: 'standard' },
      { name: 'night', retry_limit: 5, policy: 'exclusive' },
    ]);
  });

  it('is asked for by name where it is missing', async () => {
    stage = await queueStage();
    const bare = await freshDatabase();
    await expect(openQueue(bare.db, { supervises: true, onProblem: () => undefined })).rejects.toThrow(
      'the database lacks the queue of this version: run `daybook migrate` with DAYBOOK_WORKERS=queue',
    );
    await bare.close();
  });

  it('has the jobs of a transaction that is committed, and none of one that is not', async () => {
    stage = await queueStage();
    const { database, queue } = stage;
    const sent = database.db.transaction().execute(async (trx) => {
      await enqueue(queue, trx, [{ runId: 1, merchantNo: 'M1' }]);
      throw new Error('rolled back');
    });
    await expect(sent).rejects.toThrow('rolled back');
    expect(await isEmpty(database.db)).toBe(true);
    await stage.send(['M1']);
    expect(await isEmpty(database.db)).toBe(false);
  });

  it('refuses a merchant’s second job while the first waits or is at work', async () => {
    stage = await queueStage();
    expect(await stage.send(['M1', 'M2'])).toEqual([]);
    expect(await stage.send(['M2', 'M3'], { runId: 2 })).toEqual(['M2']);
    const [job] = await stage.queue.boss.fetch('night');
    expect(await stage.send(['M1'], { runId: 2 })).toEqual(['M1']);
    await stage.queue.boss.complete('night', job!);
    expect(await stage.send(['M1'], { runId: 2 })).toEqual([]);
  });

  it('counts what waits and what is at work', async () => {
    stage = await queueStage();
    await stage.send(merchantsOf(12_000));
    await stage.queue.boss.fetch('night', { batchSize: 3 });
    expect(await laneCounts(stage.database.db)).toEqual([
      { lane: 'night', waiting: 11_997, active: 3, oldest: expect.any(Date) },
    ]);
  });

  it('leaves no open transaction behind where a script of pg-boss fails', async () => {
    stage = await queueStage();
    const bare = await freshDatabase();
    const { executeSql } = executorOf(bare.db);
    await expect(executeSql('BEGIN; SELECT 1 / 0; COMMIT;')).rejects.toThrow('division by zero');
    expect((await executeSql('SELECT $1::int AS one', [1])).rows).toEqual([{ one: 1 }]);
    const { rows } = await executeSql(`
      SELECT count(*) AS count FROM pg_stat_activity
      WHERE datname = current_database() AND state LIKE 'idle in transaction%'`);
    expect(rows).toEqual([{ count: 0 }]);
    await bare.close();
  });
});
