/** Finds the first day with figures of each account. */
import type { Kysely } from 'kysely';
import { accountsOf, type Chosen } from '../ledger/account-filter.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { ofAccounts } from './account-filter.ts';
import type { DB } from './engine/schema.ts';

/** For each of the merchant's accounts, by currency, its first day. */
export async function firstDays(
  db: Kysely<DB>,
  merchantNo: string,
  currencies: Chosen,
): Promise<ReadonlyMap<string, BusinessDay>> {
  const rows = await db
    .selectFrom('account_day')
    .select(['currency', (eb) => eb.fn.min('day').as('day')])
    .where(ofAccounts(accountsOf(merchantNo, currencies)))
    .groupBy('currency')
    .orderBy('currency')
    .execute();
  return new Map(rows.map(({ currency, day }) => [currency, day]));
}
