/** Remembers whether the platform's timestamps differ from the times that it filters by. */
import { sql, type Kysely } from 'kysely';
import type { Lease } from './engine/lease.ts';
import type { DB } from './engine/schema.ts';
import { writeTransaction } from './engine/write-transaction.ts';

/**
 * Whether an entry was ever seen whose timestamp differs, within the clock tolerance, from the time the platform
 * filters by.
 */
export async function isClockOff(db: Kysely<DB>): Promise<boolean> {
  return (await db.selectFrom('platform_clock').select('is_only').executeTakeFirst()) !== undefined;
}

/** Records for good that such an entry was seen; `seen` describes it. Throws `LeaseLost` or `StoreUnreachable`. */
export function storeClockOff(db: Kysely<DB>, lease: Lease, seen: string, now: Date): Promise<void> {
  return writeTransaction(db, lease, async (trx) => {
    await sql`INSERT INTO platform_clock (seen_off_at, seen) VALUES (${now}, ${seen}) ON CONFLICT DO NOTHING`.execute(
      trx,
    );
  });
}
