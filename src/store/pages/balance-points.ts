/** Reads the running balance of a day in few points, to be drawn. */
import { sql, type Kysely } from 'kysely';
import type { DB } from '../engine/schema.ts';
import type { DayOfAccount } from './day-rows.ts';

/** The balance after an entry. */
export interface BalancePoint {
  readonly bookedMs: number;
  readonly balance: string;
}

/**
 * The balance after the last entry of each of `parts` equal stretches of the day; stretches without an entry have none.
 * One jump along ledger_entry_in_time finds each, however many entries the day has.
 */
export async function balancePoints(
  db: Kysely<DB>,
  { account, window }: DayOfAccount,
  parts: number,
): Promise<BalancePoint[]> {
  const widthMs = Math.ceil((window.endMs - window.beginMs + 1) / parts);
  const { rows } = await sql<BalancePoint>`
    SELECT last.booked_ms AS "bookedMs", last.balance
    FROM generate_series(${window.beginMs}::bigint, ${window.endMs}::bigint, ${widthMs}::bigint) AS part (begin_ms)
    CROSS JOIN LATERAL (
      SELECT booked_ms, balance FROM ledger_entry
      WHERE merchant_no = ${account.merchantNo} AND currency = ${account.currency} AND vanished_at IS NULL
        AND booked_ms BETWEEN part.begin_ms AND least(part.begin_ms + ${widthMs - 1}, ${window.endMs}::bigint)
      ORDER BY booked_ms DESC, batch_no DESC LIMIT 1
    ) AS last
    ORDER BY part.begin_ms`.execute(db);
  return rows;
}
