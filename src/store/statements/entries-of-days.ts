/** Reads the entries of a few small days of a merchant's accounts in one statement. */
import { sql, type Kysely } from 'kysely';
import type { BusinessDay, LedgerEntry, Window } from '../../ledger/entry.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';

export interface DayOfAccount {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly window: Window;
}

/**
 * For each of the days, in their order, its entries as `readAccount` hands them out. All of them are in memory at once:
 * the caller knows that they are few.
 */
export async function entriesOfDays(
  db: Kysely<DB>,
  merchantNo: string,
  days: readonly DayOfAccount[],
): Promise<LedgerEntry[][]> {
  const found = days.map((): LedgerEntry[] => []);
  if (days.length === 0) return found;
  const { rows } = await sql<LedgerEntry & { readonly nth: number }>`
    SELECT asked.nth::int AS nth, own.* FROM unnest(
      ${arrayLiteral(days.map(({ currency }) => currency))}::text[],
      ${arrayLiteral(days.map(({ window }) => window.beginMs))}::bigint[],
      ${arrayLiteral(days.map(({ window }) => window.endMs))}::bigint[]
    ) WITH ORDINALITY AS asked (currency, begin_ms, end_ms, nth)
    CROSS JOIN LATERAL (
      SELECT batch_no AS "batchNo", currency, transaction_type AS "transactionType", credit, debit, balance,
        booked_at AS "bookedAt", booked_ms AS "bookedMs"
      FROM ledger_entry
      WHERE merchant_no = ${merchantNo} AND currency = asked.currency AND vanished_at IS NULL
        AND booked_ms BETWEEN asked.begin_ms AND asked.end_ms
      ORDER BY booked_ms, batch_no
    ) AS own
    ORDER BY asked.nth, own."bookedMs", own."batchNo"`.execute(db);
  for (const { nth, ...entry } of rows) found[nth - 1]!.push(entry);
  return found;
}
