/** What stored entries show of the seconds in the platform's timestamps. */
import { sql, type Kysely } from 'kysely';
import { arrayLiteral } from './engine/array-literal.ts';
import { heldCurrencies } from './entries.ts';
import type { DB } from './engine/schema.ts';

/** Of each account, this many of the newest entries are checked. */
const NEWEST_CHECKED = 50;

export interface SecondsSeen {
  /** Whether newest stored timestamps have seconds; null if nothing is stored. */
  readonly hasSeconds: boolean | null;
  /** Of the entries asked about, how many are stored within the minute of their timestamp, with seconds; and one of them. */
  readonly cut: { readonly count: number; readonly batchNo: string; readonly bookedAt: string } | null;
}

/** `entries`: entries whose timestamps end on a complete minute. */
export async function secondsSeen(
  db: Kysely<DB>,
  merchantNo: string,
  entries: readonly { readonly batchNo: string; readonly bookedAt: string }[],
): Promise<SecondsSeen> {
  const { rows } = await sql<{ has_seconds: boolean | null; cut: SecondsSeen['cut'] }>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT (
      SELECT bool_or(date_part('second', newest.booked_at) <> 0) FROM held CROSS JOIN LATERAL (
        SELECT booked_at FROM ledger_entry e
        WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
        ORDER BY e.booked_ms DESC LIMIT ${sql.lit(NEWEST_CHECKED)}
      ) AS newest
    ) AS has_seconds, (
      SELECT json_build_object('count', count(*) OVER (), 'batchNo', e.batch_no, 'bookedAt', e.booked_at::text)
      FROM unnest(
        ${arrayLiteral(entries.map(({ batchNo }) => batchNo))}::text[],
        ${arrayLiteral(entries.map(({ bookedAt }) => bookedAt))}::timestamp[]
      ) AS came (batch_no, booked_at)
      JOIN ledger_entry e ON e.merchant_no = ${merchantNo} AND e.batch_no = came.batch_no
      WHERE e.booked_at > came.booked_at AND e.booked_at < came.booked_at + interval '1 minute'
      ORDER BY e.batch_no LIMIT 1
    ) AS cut`.execute(db);
  const { has_seconds: hasSeconds, cut } = rows[0]!;
  return { hasSeconds, cut };
}
