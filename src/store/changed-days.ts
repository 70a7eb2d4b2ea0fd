/** Says which days of an account have other entries than their figures were made of, so that these have to be made anew. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { AccountFilter } from '../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { ofAccounts } from './account-filter.ts';
import type { DB } from './engine/schema.ts';

/**
 * Days whose entries changed after their figures were made: one item an account, days in order. Uses day_entries_changed.
 */
export async function changedDays(
  db: Kysely<DB>,
  accounts: AccountFilter,
): Promise<{ account: Account; days: BusinessDay[] }[]> {
  const { rows } = await sql<AccountsDay>`
    SELECT * FROM changed_day WHERE ${ofAccounts(accounts)} ORDER BY merchant_no, currency, day`.execute(db);
  return byAccount(rows);
}

/** The same by merchant, whatever the currency. Merchants without such days are left out. */
export async function changedDaysOfEach(
  db: Kysely<DB>,
  merchants: readonly string[],
): Promise<ReadonlyMap<string, readonly BusinessDay[]>> {
  const all = await changedDays(db, { merchants, currencies: null });
  const byMerchant = Map.groupBy(all, ({ account }) => account.merchantNo);
  return new Map(
    [...byMerchant].map(([merchantNo, accounts]) => [merchantNo, accounts.flatMap(({ days }) => days)]),
  );
}

interface AccountsDay {
  readonly merchant_no: string;
  readonly currency: string;
  readonly day: BusinessDay;
}

function byAccount(rows: readonly AccountsDay[]): { account: Account; days: BusinessDay[] }[] {
  const accounts: { account: Account; days: BusinessDay[] }[] = [];
  for (const { merchant_no: merchantNo, currency, day } of rows) {
    const last = accounts.at(-1);
    if (last?.account.merchantNo === merchantNo && last.account.currency === currency) last.days.push(day);
    else accounts.push({ account: { merchantNo, currency }, days: [day] });
  }
  return accounts;
}

/** Makes days count as changed whatever their entries are, so that they get new figures. */
export async function markChangedDays(
  trx: Transaction<DB>,
  account: Account,
  days: readonly BusinessDay[],
): Promise<void> {
  if (days.length === 0) return;
  await trx
    .insertInto('day_entries')
    .values(days.map((day) => ({ merchant_no: account.merchantNo, currency: account.currency, day })))
    .onConflict((conflict) =>
      conflict.columns(['merchant_no', 'currency', 'day']).doUpdateSet({ figured_fingerprint: null }),
    )
    .execute();
}
