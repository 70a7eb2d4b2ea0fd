/** Entries a certified window no longer holds: marked, never deleted. */
import { sql, type Transaction } from 'kysely';
import type { Window } from '../ledger/entry.ts';
import { arrayLiteral } from './array-literal.ts';
import { heldCurrencies } from './entries.ts';
import type { DB } from './schema.ts';

/**
 * Marks what is stored inside the window and not among `batchNos`; returns how many.
 *
 * Stored times are whole seconds, so only seconds the window covers whole are judged: of a second it cuts through, an
 * entry may lie on the other side. One range of ledger_entry_in_time a currency; the marking itself goes by the
 * primary key, as an array the planner cannot mistake for a large share of the table.
 */
export async function markVanished(
  trx: Transaction<DB>,
  within: {
    readonly merchantNo: string;
    readonly window: Window;
    readonly currency: string | undefined;
    readonly batchNos: readonly string[];
    readonly now: Date;
  },
): Promise<number> {
  const { merchantNo, window, currency, batchNos, now } = within;
  const lastWholeSecondMs = window.endMs - 999;
  if (lastWholeSecondMs < window.beginMs) return 0;
  const { rows } = await sql<{ vanished: number }>`
    WITH RECURSIVE held (currency) AS (${
      currency === undefined ? heldCurrencies(merchantNo) : sql`SELECT ${currency}::text COLLATE "C"`
    }), gone AS (
      SELECT lost.batch_no FROM held CROSS JOIN LATERAL (
        SELECT e.batch_no FROM ledger_entry e
        WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
          AND e.booked_ms BETWEEN ${window.beginMs} AND ${lastWholeSecondMs}
          AND e.batch_no NOT IN (SELECT unnest(${arrayLiteral(batchNos)}::text[]))
        OFFSET 0
      ) AS lost
    ), marked AS (
      UPDATE ledger_entry SET vanished_at = ${now}
      WHERE merchant_no = ${merchantNo} AND batch_no = ANY (ARRAY(SELECT batch_no FROM gone))
      RETURNING currency, booked_at
    ), days AS (
      INSERT INTO changed_day (merchant_no, currency, day)
      SELECT DISTINCT ${merchantNo}, currency, booked_at::date FROM marked
      ON CONFLICT DO NOTHING
    )
    SELECT count(*) AS vanished FROM marked`.execute(trx);
  return rows[0]!.vanished;
}
