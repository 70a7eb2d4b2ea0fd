/** What is known of the platform's clock: whether its timestamps are the very times it filters by. */
import { sql, type Kysely } from 'kysely';
import type { Lease } from './engine/lease.ts';
import type { DB } from './engine/schema.ts';
import { writeTransaction } from './engine/write-transaction.ts';

/** Whether an entry was ever seen whose timestamp is off, within the clock tolerance, from the time it is filtered by. */
export async function isClockOff(db: Kysely<DB>): Promise<boolean> {
  return (await db.selectFrom('platform_clock').select('is_only').executeTakeFirst()) !== undefined;
}

/** Keeps that such an entry was seen, for good. `seen` says what. Throws `LeaseLost` or `StoreUnreachable`. */
export function storeClockOff(db: Kysely<DB>, lease: Lease, seen: string, now: Date): Promise<void> {
  return writeTransaction(db, lease, async (trx) => {
    await sql`INSERT INTO platform_clock (seen_off_at, seen) VALUES (${now}, ${seen}) ON CONFLICT DO NOTHING`.execute(
      trx,
    );
  });
}
