/** A night on the queue, done by workers that are processes of their own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { startCommand } from './processes.ts';
import type { BenchDatabase } from './server.ts';

const ASK_EVERY_MS = 100;

export interface NightOfWorkers {
  /** From the night on the queue to its end. */
  readonly ms: number;
  /** The most memory that one of the workers used. */
  readonly peakMegabytes: number;
  /** The most connections that daybook had to the database at once. */
  readonly connections: number;
}

/** Has so many workers do the night. Throws unless each merchant is done, and nothing is left waiting or leased. */
export async function nightOfWorkers(
  { db }: BenchDatabase,
  env: Readonly<Record<string, string>>,
  { workers, merchants }: { readonly workers: number; readonly merchants: number },
): Promise<NightOfWorkers> {
  const own = (await sql<{ pid: number }>`${SESSIONS}`.execute(db)).rows.map(({ pid }) => pid);
  const started = Array.from({ length: workers }, () => startCommand(['worker'], env));
  const schedule = startCommand(['schedule'], env);
  try {
    await Promise.all(started.map((worker) => worker.tells('worker began')));
    await schedule.tells('job is on the queue');
    const startedMs = performance.now();
    await schedule.stop();
    const { id } = await db
      .selectFrom('run')
      .select('id')
      .where('command', '=', 'nightly')
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow();
    let connections = 0;
    for (;;) {
      const now = await stateOf(db, id, own);
      connections = Math.max(connections, now.connections);
      if (now.exitCode !== null) {
        const ms = performance.now() - startedMs;
        await assertAllDone(db, id, merchants);
        const peaks = await Promise.all(started.map((worker) => worker.peakMegabytes()));
        return { ms, peakMegabytes: Math.max(...peaks), connections };
      }
      await sleep(ASK_EVERY_MS);
    }
  } finally {
    await Promise.all([schedule, ...started].map((one) => one.stop()));
  }
}

const SESSIONS = sql`
  SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'daybook%'`;

/** How the run stands. The bench's `own` connections, which ask, do not count. */
async function stateOf(db: BenchDatabase['db'], runId: number, own: readonly number[]) {
  const { rows } = await sql<{ readonly exitCode: number | null; readonly connections: number }>`
    SELECT exit_code AS "exitCode", (SELECT count(*) FROM (${SESSIONS}) AS open
      WHERE pid <> pg_backend_pid() AND pid <> ALL (${[...own]}::int[])) AS connections
    FROM run WHERE id = ${runId}`.execute(db);
  return rows[0]!;
}

async function assertAllDone(db: BenchDatabase['db'], runId: number, merchants: number): Promise<void> {
  const { rows } = await sql<Record<'done' | 'open' | 'leased', number>>`
    SELECT count(*) FILTER (WHERE exit_code = 0) AS done, count(*) FILTER (WHERE exit_code IS NULL) AS open,
      (SELECT count(*) FROM lease WHERE expires_at > now()) AS leased
    FROM run_merchant WHERE run_id = ${runId}`.execute(db);
  const { done, open, leased } = rows[0]!;
  if (done !== merchants || open > 0 || leased > 0)
    throw new Error(`of ${merchants} merchants ${done} are done, ${open} wait, and ${leased} are leased`);
}
