/** Brings the queue's tables and queues to this version, for `migrate`. */
import { sql, type Kysely } from 'kysely';
import type { PgBoss } from 'pg-boss';
import type { DB } from '../store/engine/schema.ts';
import { QUEUE_SCHEMA, QUEUES } from './lanes.ts';
import { newBoss } from './queue.ts';

/**
 * Makes or updates pg-boss's tables, and all queues with their options. Returns true if tables or queues were missing
 * or of an older version. The schema itself is only made if it is missing, as that needs a right on the database.
 */
export async function installQueue(db: Kysely<DB>): Promise<boolean> {
  const { rows } = await sql<{ exists: boolean }>`
    SELECT to_regnamespace(${QUEUE_SCHEMA}) IS NOT NULL AS exists`.execute(db);
  const boss = await newBoss(db, { supervise: false, migrate: true, createSchema: !rows[0]!.exists });
  const before = (await boss.isInstalled()) ? await boss.schemaVersion() : null;
  try {
    await boss.start();
    const isNew = await bringQueues(boss);
    return isNew || (await boss.schemaVersion()) !== before;
  } finally {
    await boss.stop({ graceful: false });
  }
}

/** True if one was missing. The options of the others are set again. */
async function bringQueues(boss: PgBoss): Promise<boolean> {
  const known = new Set((await boss.getQueues()).map(({ name }) => name));
  for (const { name, policy, ...options } of QUEUES) {
    if (known.has(name)) await boss.updateQueue(name, options);
    else await boss.createQueue(name, { ...options, ...(policy !== undefined && { policy }) });
  }
  return QUEUES.some(({ name }) => !known.has(name));
}
