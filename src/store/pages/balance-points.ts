/** Reads where the running balance of a large day stood at the end of stretches of it, to be drawn. */
import { sql, type Kysely } from 'kysely';
import type { ChainEntry } from '../../ledger/chain/chain-link.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import type { DB } from '../engine/schema.ts';
import type { DayOfAccount } from './day-rows.ts';

/** The balance after an entry. */
export interface BalancePoint {
  readonly bookedMs: number;
  readonly balance: string;
}

/**
 * The last entries by time, at most `limit`, of each stretch of `widthMs` from the day's begin on; stretches without an entry
 * have none. One jump along ledger_entry_in_time finds each, however many entries the day has.
 */
export async function stretchEnds(
  db: Kysely<DB>,
  { account, window }: DayOfAccount,
  day: BusinessDay,
  { widthMs, limit }: { readonly widthMs: number; readonly limit: number },
): Promise<ChainEntry[][]> {
  const { rows } = await sql<Omit<ChainEntry, 'bookedAt'> & { readonly beginMs: number }>`
    SELECT part.begin_ms AS "beginMs", last.batch_no AS "batchNo", last.credit, last.debit, last.balance,
      last.booked_ms AS "bookedMs"
    FROM generate_series(${window.beginMs}::bigint, ${window.endMs}::bigint, ${widthMs}::bigint) AS part (begin_ms)
    CROSS JOIN LATERAL (
      SELECT batch_no, credit, debit, balance, booked_ms FROM ledger_entry
      WHERE merchant_no = ${account.merchantNo} AND currency = ${account.currency} AND vanished_at IS NULL
        AND booked_ms BETWEEN part.begin_ms AND least(part.begin_ms + ${widthMs - 1}, ${window.endMs}::bigint)
      ORDER BY booked_ms DESC, batch_no DESC LIMIT ${limit}
    ) AS last
    ORDER BY part.begin_ms, last.booked_ms, last.batch_no`.execute(db);
  const ofParts = Map.groupBy(rows, ({ beginMs }) => beginMs);
  return [...ofParts.values()].map((own) => own.map((row) => ({ ...row, bookedAt: day })));
}
