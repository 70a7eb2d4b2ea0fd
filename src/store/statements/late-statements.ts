/** Notes first statements that came late, where they become known by other ways than publishing them. */
import { sql, type Transaction } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import type { DB } from '../engine/schema.ts';

/** Notes the days that a close could not freeze, as their first statement was published after it. `month`: its first day. */
export async function noteLateOf(
  trx: Transaction<DB>,
  {
    merchantNo,
    month,
    number,
  }: { readonly merchantNo: string; readonly month: BusinessDay; readonly number: number },
): Promise<void> {
  await sql`
    INSERT INTO late_statement (merchant_no, currency, day, published_at, after_close)
    SELECT merchant_no, currency, day, published_at, true FROM statement AS first
    WHERE merchant_no = ${merchantNo} AND day >= ${month}::date AND day < (${month}::date + interval '1 month')::date
      AND revision = 1 AND NOT EXISTS (
        SELECT FROM month_close AS closed
        WHERE (closed.merchant_no, closed.month, closed.number) = (${merchantNo}, ${month}::date, ${number}::integer)
          AND closed.frozen -> first.currency -> to_char(first.day, 'YYYY-MM-DD') IS NOT NULL
      )
    ON CONFLICT DO NOTHING`.execute(trx);
}
