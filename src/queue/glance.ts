/** The queue at a glance, for `status`. */
import { sql, type Kysely } from 'kysely';
import type { DB } from '../store/engine/schema.ts';
import { countDeadLetters, deadLetters, laneCounts, type DeadLetter, type LaneCounts } from './job-table.ts';
import { QUEUE_SCHEMA } from './lanes.ts';

/** Dead letters that are shown; their count covers all. */
const SHOWN = 10;

export interface QueueGlance {
  readonly lanes: readonly LaneCounts[];
  readonly givenUpCount: number;
  /** The first of them. */
  readonly givenUp: readonly DeadLetter[];
}

/** What is on the queue; null if its tables are missing. */
export async function glanceAtQueue(db: Kysely<DB>): Promise<QueueGlance | null> {
  const { rows } = await sql<{ exists: boolean }>`
    SELECT to_regclass(${`${QUEUE_SCHEMA}.job`}) IS NOT NULL AS exists`.execute(db);
  if (!rows[0]!.exists) return null;
  return {
    lanes: await laneCounts(db),
    givenUpCount: await countDeadLetters(db),
    givenUp: await deadLetters(db, { limit: SHOWN }),
  };
}
