/** Counts the entries of each account day, to find out how many are usual. */
import { sql, type Kysely } from 'kysely';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { heldCurrencies } from './entries.ts';
import type { DB } from './engine/schema.ts';

/** By currency and day, from the counts in the days' figures. Days without entries are left out. */
export async function entriesADay(
  db: Kysely<DB>,
  merchantNo: string,
  { from, to }: { readonly from: BusinessDay; readonly to: BusinessDay },
): Promise<Map<string, Map<BusinessDay, number>>> {
  const { rows } = await sql<{ currency: string; day: BusinessDay; entries: number }>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT held.currency, d.day, d.credit_count + d.debit_count AS entries
    FROM held CROSS JOIN LATERAL (
      SELECT * FROM account_day
      WHERE merchant_no = ${merchantNo} AND currency = held.currency AND day BETWEEN ${from} AND ${to} OFFSET 0
    ) AS d
    WHERE d.credit_count + d.debit_count > 0`.execute(db);
  const counts = new Map<string, Map<BusinessDay, number>>();
  for (const { currency, day, entries } of rows) {
    const own = counts.get(currency) ?? new Map<BusinessDay, number>();
    counts.set(currency, own.set(day, entries));
  }
  return counts;
}

/** Whether an unreadable entry came for the window; the window is then not empty. */
export async function hasWrecks(
  db: Kysely<DB>,
  merchantNo: string,
  { beginMs, endMs }: Window,
): Promise<boolean> {
  const row = await db
    .selectFrom('sync_window')
    .select('merchant_no')
    .where('merchant_no', '=', merchantNo)
    .where('begin_ms', '<=', endMs)
    .where('end_ms', '>=', beginMs)
    .where('quarantined_count', '>', 0)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
