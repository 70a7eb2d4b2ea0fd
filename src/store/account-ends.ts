/** Finds the first and the last day with figures of each account. */
import { sql, type Kysely } from 'kysely';
import { accountsOf, type AccountFilter, type Chosen } from '../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { ofAccounts, ofCurrencies } from './account-filter.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';

/** Body of a recursive `account (merchant_no, currency)`: every account, each found by one jump along the primary key. */
const everyAccount = sql`
  (SELECT merchant_no, currency FROM account_day ORDER BY merchant_no, currency LIMIT 1)
  UNION ALL
  SELECT next.* FROM account CROSS JOIN LATERAL (
    SELECT merchant_no, currency FROM account_day
    WHERE (merchant_no, currency) > (account.merchant_no, account.currency)
    ORDER BY merchant_no, currency LIMIT 1
  ) AS next`;

/** The same of these merchants alone: as many jumps as they have accounts, however many other merchants there are. */
const everyAccountOf = (merchants: readonly string[]) => sql`
  SELECT asked.merchant_no, first.currency
  FROM (SELECT DISTINCT unnest(${arrayLiteral(merchants)}::text[]) AS merchant_no) AS asked CROSS JOIN LATERAL (
    SELECT currency FROM account_day WHERE merchant_no = asked.merchant_no ORDER BY currency LIMIT 1
  ) AS first
  UNION ALL
  SELECT account.merchant_no, next.currency FROM account CROSS JOIN LATERAL (
    SELECT currency FROM account_day
    WHERE merchant_no = account.merchant_no AND currency > account.currency ORDER BY currency LIMIT 1
  ) AS next`;

/**
 * For each account that the filter selects, its last day with figures. This takes one jump along the primary key for
 * each account, however many days it has.
 */
export async function lastDays(
  db: Kysely<DB>,
  { merchants, currencies }: AccountFilter,
): Promise<{ account: Account; day: BusinessDay }[]> {
  const { rows } = await sql<{ merchant_no: string; currency: string; day: BusinessDay }>`
    WITH RECURSIVE account (merchant_no, currency) AS (${merchants === null ? everyAccount : everyAccountOf(merchants)})
    SELECT account.merchant_no, account.currency, last.day FROM account CROSS JOIN LATERAL (
      SELECT day FROM account_day
      WHERE merchant_no = account.merchant_no AND currency = account.currency
      ORDER BY day DESC LIMIT 1
    ) AS last
    WHERE ${ofCurrencies(currencies, 'account')}
    ORDER BY account.merchant_no, account.currency`.execute(db);
  return rows.map((row) => ({
    account: { merchantNo: row.merchant_no, currency: row.currency },
    day: row.day,
  }));
}

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
