/** For tests that write rows of sync_window themselves: joins the certified ones, as storing certificates does. */
import { sql, type Kysely } from 'kysely';
import type { DB } from '../../src/store/engine/schema.ts';

export async function joinCertified(db: Kysely<DB>): Promise<void> {
  await sql`
    INSERT INTO certified_span (merchant_no, currency, spans)
    SELECT merchant_no, currency, range_agg(int8range(begin_ms, end_ms, '[]'))
    FROM sync_window WHERE certified_at IS NOT NULL GROUP BY merchant_no, currency`.execute(db);
}
