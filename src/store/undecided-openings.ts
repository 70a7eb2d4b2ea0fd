/** Account days whose opening is not decided, as their entries fit other balances as well. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import type { DB } from './engine/schema.ts';

export interface UndecidedOpening {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly opening: string;
  /** What the day may open on as well. It has no break, so that it may close on these. */
  readonly others: readonly string[];
  /** No day of the account is before it. */
  readonly isFirst: boolean;
}

/** Those of the merchant that no notice reports yet. Uses account_day_restarted. */
export async function undecidedOpenings(db: Kysely<DB>, merchantNo: string): Promise<UndecidedOpening[]> {
  const { rows } = await sql<Omit<UndecidedOpening, 'others'> & { others: string }>`
    SELECT currency, day, opening, other_closings AS others, NOT EXISTS (
      SELECT FROM account_day earlier
      WHERE earlier.merchant_no = own.merchant_no AND earlier.currency = own.currency AND earlier.day < own.day
    ) AS "isFirst"
    FROM account_day own
    WHERE merchant_no = ${merchantNo} AND restarted AND other_closings <> '' AND verdict <> 'broken'
      AND NOT EXISTS (
        SELECT FROM event
        WHERE event.kind = 'first' AND event.merchant_no = own.merchant_no AND event.subject = own.currency || ' ' || own.day
      )
    ORDER BY currency, day`.execute(db);
  return rows.map((row) => ({ ...row, others: row.others.split(',') }));
}

/** Marks the opening as decided, and the closings that follow from it alone. */
export async function decideOpening(
  trx: Transaction<DB>,
  merchantNo: string,
  { currency, day }: UndecidedOpening,
): Promise<void> {
  await sql`
    UPDATE account_day AS own SET other_closings = '', publish_due = true
    WHERE merchant_no = ${merchantNo} AND currency = ${currency} AND day >= ${day} AND other_closings <> ''
      AND NOT EXISTS (
        SELECT FROM account_day certain
        WHERE certain.merchant_no = own.merchant_no AND certain.currency = own.currency
          AND certain.day BETWEEN ${day} AND own.day AND certain.other_closings = ''
      )`.execute(trx);
}
