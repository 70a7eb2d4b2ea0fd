/** Counts what the server reads for a piece of work. */
import { sql, type Kysely } from 'kysely';
import type { DB } from '../../src/store/engine/schema.ts';

/** How many rows and index entries the server read during `work`, on the only busy connection of the pool. */
export async function rowsLookedAt(db: Kysely<DB>, work: () => Promise<unknown>): Promise<number> {
  const total = async () => {
    await sql`SELECT pg_stat_force_next_flush()`.execute(db);
    const { rows } = await sql<{ checked_at: number }>`
      SELECT (SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables)::bigint
        + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)::bigint AS checked_at`.execute(db);
    return rows[0]!.checked_at;
  };
  const before = await total();
  await work();
  return (await total()) - before;
}
