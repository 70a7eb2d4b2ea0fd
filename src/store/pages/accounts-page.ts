/** Lists the accounts that have figures, some at a time, however many merchants there are. */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Chosen } from '../../ledger/account-filter.ts';
import type { Account } from '../../ledger/entry.ts';
import { figuredCurrencies } from '../account-days.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';

export interface AccountsAsked {
  readonly merchants: Chosen;
  /** Part of the merchant's number, in any case; '' for all. */
  readonly contains: string;
  /** Only accounts behind this one; null from the first on. */
  readonly after: Account | null;
  readonly limit: number;
}

/** Accounts by merchant and currency. One jump along the key of account_day finds each. */
export async function accountsPage(
  db: Kysely<DB>,
  { merchants, contains, after, limit }: AccountsAsked,
): Promise<Account[]> {
  const source = merchants === null ? everyAccount(after) : accountsOf(merchants, after);
  const { rows } = await sql<Account>`
    ${source}
    SELECT merchant_no AS "merchantNo", currency FROM account
    WHERE merchant_no IS NOT NULL AND strpos(lower(merchant_no), ${contains.toLowerCase()}) > 0
    LIMIT ${limit}`.execute(db);
  return rows;
}

const behind = (after: Account | null): RawBuilder<boolean> =>
  after === null ? sql`true` : sql`(merchant_no, currency) > (${after.merchantNo}, ${after.currency})`;

const everyAccount = (after: Account | null): RawBuilder<unknown> => sql`
  WITH RECURSIVE account (merchant_no, currency) AS (
    (SELECT merchant_no, currency FROM account_day WHERE ${behind(after)}
      ORDER BY merchant_no, currency LIMIT 1)
    UNION ALL
    SELECT next.* FROM account CROSS JOIN LATERAL (
      SELECT d.merchant_no, d.currency FROM account_day d
      WHERE (d.merchant_no, d.currency) > (account.merchant_no, account.currency)
      ORDER BY d.merchant_no, d.currency LIMIT 1
    ) AS next
  )`;

const accountsOf = (merchants: readonly string[], after: Account | null): RawBuilder<unknown> => sql`
  WITH account AS (
    SELECT * FROM (
      SELECT own.merchant_no COLLATE "C" AS merchant_no, held.currency
      FROM unnest(${arrayLiteral(merchants)}::text[]) AS own (merchant_no)
      CROSS JOIN LATERAL (
        WITH RECURSIVE figured (currency) AS (${figuredCurrencies(sql`own.merchant_no`)})
        SELECT currency FROM figured WHERE currency IS NOT NULL
      ) AS held
    ) AS every WHERE ${behind(after)}
    ORDER BY merchant_no, currency
  )`;
