/** A queue on a real server for tests, and ways to make time pass on it. */
import { sql } from 'kysely';
import { enqueue } from '../../../src/plugins/queue/jobs.ts';
import { installQueue, openQueue, type Queue } from '../../../src/plugins/queue/queue.ts';
import { freshDatabase, type ServerDatabase } from '../../support/database.ts';

export interface QueueStage {
  readonly database: ServerDatabase;
  readonly queue: Queue;
  /** What failed in the background. */
  readonly problems: unknown[];
  /** Adds a job for each merchant, in one transaction; the merchants refused. */
  readonly send: (merchants: readonly string[], more?: { runId?: number }) => Promise<string[]>;
  /** Makes jobs that wait for a time of theirs ready now. */
  readonly hurry: () => Promise<void>;
  /** Makes it so that no heartbeat of jobs at work came for a minute, and lets pg-boss search for such jobs. */
  readonly silence: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function queueStage(): Promise<QueueStage> {
  const database = await freshDatabase();
  const { db } = database;
  await installQueue(db);
  const problems: unknown[] = [];
  const queue = await openQueue(db, { supervises: false, onProblem: (error) => problems.push(error) });
  return {
    database,
    queue,
    problems,
    send: async (merchants, { runId = 1 } = {}) => {
      const jobs = merchants.map((merchantNo) => ({ runId, merchantNo }));
      const refused = await db.transaction().execute((trx) => enqueue(queue, trx, jobs));
      return refused.map(({ merchantNo }) => merchantNo);
    },
    hurry: async () => {
      await sql`UPDATE daybook_queue.job SET start_after = now() - interval '1 s' WHERE state < 'active'`.execute(
        db,
      );
    },
    silence: async () => {
      await sql`UPDATE daybook_queue.job SET heartbeat_on = now() - interval '1 min' WHERE state = 'active'`.execute(
        db,
      );
      await sql`UPDATE daybook_queue.queue SET monitor_claim_on = NULL, monitor_on = NULL`.execute(db);
      await queue.boss.supervise();
    },
    close: async () => {
      await queue.close();
      await database.close();
    },
  };
}

export const merchantsOf = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `M${String(at).padStart(4, '0')}`);
