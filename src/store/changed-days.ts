/** Keeps which days of an account have changed entries, so that their figures have to be made anew. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { AccountFilter } from '../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { ofAccounts } from './account-filter.ts';
import type { DB } from './engine/schema.ts';

/**
 * Days whose entries changed after their figures were made: one item an account, days in order. Uses the key of
 * changed_day.
 */
export async function changedDays(
  db: Kysely<DB>,
  accounts: AccountFilter,
): Promise<{ account: Account; days: BusinessDay[] }[]> {
  const rows = await db
    .selectFrom('changed_day')
    .selectAll()
    .where(ofAccounts(accounts))
    .orderBy('merchant_no')
    .orderBy('currency')
    .orderBy('day')
    .execute();
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

/**
 * For each account, the days whose opening was taken from their own first entry, because the day before was not
 * known. Once the time before them is proven, they have to be chained again. An account's first day has nothing before
 * it and is left out. Uses account_day_restarted.
 */
export async function derivedOpeningDays(
  db: Kysely<DB>,
  accounts: AccountFilter,
): Promise<{ account: Account; days: BusinessDay[] }[]> {
  const { rows } = await sql<{ merchant_no: string; currency: string; day: BusinessDay }>`
    SELECT later.merchant_no, later.currency, later.day
    FROM account_day later CROSS JOIN LATERAL (
      SELECT day FROM account_day
      WHERE merchant_no = later.merchant_no AND currency = later.currency AND day < later.day
      ORDER BY day DESC LIMIT 1
    ) AS earlier
    WHERE later.restarted AND ${ofAccounts(accounts, 'later')}
    ORDER BY later.merchant_no, later.currency, later.day`.execute(db);
  return byAccount(rows);
}

/** Of these merchants, those with days whose opening was taken from their own first entry. */
export async function merchantsWithDerivedOpenings(
  db: Kysely<DB>,
  merchants: readonly string[],
): Promise<ReadonlySet<string>> {
  const days = await derivedOpeningDays(db, { merchants, currencies: null });
  return new Set(days.map(({ account }) => account.merchantNo));
}

function byAccount(
  rows: readonly { merchant_no: string; currency: string; day: string }[],
): { account: Account; days: BusinessDay[] }[] {
  const accounts: { account: Account; days: BusinessDay[] }[] = [];
  for (const { merchant_no: merchantNo, currency, day } of rows) {
    const last = accounts.at(-1);
    if (last?.account.merchantNo === merchantNo && last.account.currency === currency) last.days.push(day);
    else accounts.push({ account: { merchantNo, currency }, days: [day] });
  }
  return accounts;
}

/** Puts days on the list of changed ones, so that they get new figures. */
export async function markChangedDays(
  trx: Transaction<DB>,
  account: Account,
  days: readonly BusinessDay[],
): Promise<void> {
  if (days.length === 0) return;
  await trx
    .insertInto('changed_day')
    .values(days.map((day) => ({ merchant_no: account.merchantNo, currency: account.currency, day })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
