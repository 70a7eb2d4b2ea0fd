/** Reads and writes account days: which of them need new figures, and what their figures are. */
import { sql, type Kysely, type Selectable, type Transaction } from 'kysely';
import { accountsOf, EVERY_ACCOUNT, type AccountFilter, type Chosen } from '../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type { ChainedDay } from '../ledger/chain/account-days.ts';
import { ofAccounts, ofCurrencies } from './account-filter.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { AccountDay as AccountDayTable, DB } from './engine/schema.ts';

export type AccountDayRow = Selectable<AccountDayTable>;

/** Which account days are meant: those of some accounts, in a range of days. */
export interface DayFilter extends AccountFilter {
  readonly fromDay?: BusinessDay | undefined;
  readonly toDay?: BusinessDay | undefined;
}

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

/** By account, the first day whose entries changed since its figures were made. */
export async function earliestChangedDays(
  db: Kysely<DB>,
  accounts: AccountFilter,
): Promise<{ account: Account; day: BusinessDay }[]> {
  const rows = await db
    .selectFrom('changed_day')
    .select(['merchant_no', 'currency', (eb) => eb.fn.min('day').as('day')])
    .where(ofAccounts(accounts))
    .groupBy(['merchant_no', 'currency'])
    .execute();
  return rows.map((row) => ({
    account: { merchantNo: row.merchant_no, currency: row.currency },
    day: row.day,
  }));
}

/**
 * For each account, the days whose opening was taken from their own first entry, because the day before was not
 * known. Once the days before them are proven, they have to be chained again.
 */
export async function restartedDays(
  db: Kysely<DB>,
  accounts: AccountFilter,
): Promise<{ account: Account; days: BusinessDay[] }[]> {
  const rows = await db
    .selectFrom('account_day')
    .select(['merchant_no', 'currency', 'day'])
    .where('restarted', '=', true)
    .where(ofAccounts(accounts))
    .orderBy('merchant_no')
    .orderBy('currency')
    .orderBy('day')
    .execute();
  return byAccount(rows);
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

/** The account's last day before `day`. Uses the primary key. */
export const dayBefore = (
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
): Promise<AccountDayRow | undefined> =>
  ofAccount(db, account).where('day', '<', day).orderBy('day', 'desc').limit(1).executeTakeFirst();

/** The account's days up to and including `day`, the last one first, at most `limit`. Uses the primary key. */
export const accountDaysUpTo = (
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
  limit: number,
): Promise<AccountDayRow[]> =>
  ofAccount(db, account).where('day', '<=', day).orderBy('day', 'desc').limit(limit).execute();

/** The closing of the account's last day; null where the account has no day yet. Uses the primary key. */
export const lastClosing = async (db: Kysely<DB>, account: Account): Promise<string | null> => {
  const last = await ofAccount(db, account).orderBy('day', 'desc').limit(1).executeTakeFirst();
  return last?.closing ?? null;
};

/** The account's days from `day` on, in order, at most `limit`. Uses the primary key. */
export const accountDaysFrom = (
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
  limit: number,
): Promise<AccountDayRow[]> =>
  ofAccount(db, account).where('day', '>=', day).orderBy('day').limit(limit).execute();

/** The account's row of that day. */
export const accountDay = (
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
): Promise<AccountDayRow | undefined> => ofAccount(db, account).where('day', '=', day).executeTakeFirst();

/** The account's first day after `day`. Uses the primary key. */
export const dayAfter = (
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
): Promise<AccountDayRow | undefined> =>
  ofAccount(db, account).where('day', '>', day).orderBy('day').limit(1).executeTakeFirst();

const ofAccount = (db: Kysely<DB>, account: Account) =>
  db
    .selectFrom('account_day')
    .selectAll()
    .where('merchant_no', '=', account.merchantNo)
    .where('currency', '=', account.currency);

/** Account days for a person, by merchant, day and currency. */
export function listAccountDays(db: Kysely<DB>, filter: DayFilter = EVERY_ACCOUNT): Promise<AccountDayRow[]> {
  let query = db
    .selectFrom('account_day')
    .selectAll()
    .where(ofAccounts(filter))
    .orderBy('merchant_no')
    .orderBy('day')
    .orderBy('currency');
  if (filter.fromDay !== undefined) query = query.where('day', '>=', filter.fromDay);
  if (filter.toDay !== undefined) query = query.where('day', '<=', filter.toDay);
  return query.execute();
}

/**
 * Finds the day with the most entries, all accounts of the merchant together, and returns their number; 0 without
 * entries.
 */
export async function entriesOfBusiestDay(
  db: Kysely<DB>,
  merchantNo: string,
  { from, to }: { readonly from: BusinessDay; readonly to: BusinessDay },
): Promise<number> {
  const row = await db
    .selectFrom('account_day')
    .select(({ fn }) => sql<number>`${fn.sum('credit_count')} + ${fn.sum('debit_count')}`.as('entries'))
    .where('merchant_no', '=', merchantNo)
    .where('day', '>=', from)
    .where('day', '<=', to)
    .groupBy('day')
    .orderBy('entries', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.entries ?? 0;
}

/** The account's days with figures from `day` on, in order. Reads nothing but the primary key. */
export async function accountDaysSince(
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
): Promise<BusinessDay[]> {
  const rows = await db
    .selectFrom('account_day')
    .select('day')
    .where('merchant_no', '=', account.merchantNo)
    .where('currency', '=', account.currency)
    .where('day', '>=', day)
    .orderBy('day')
    .execute();
  return rows.map((row) => row.day);
}

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

/**
 * A day's figures to store. A day without entries has no last entry; it carries that of the day before, which may be
 * null.
 */
export interface DayFigures extends Omit<ChainedDay, 'lastBatchNo' | 'lastBookedMs'> {
  readonly lastBatchNo: string | null;
  readonly lastBookedMs: number | null;
  readonly restarted: boolean;
}

/** Writes the figures of the days in one statement, and makes the days due for publishing. */
export async function saveAccountDays(
  trx: Transaction<DB>,
  account: Account,
  days: readonly DayFigures[],
): Promise<void> {
  if (days.length === 0) return;
  await trx
    .insertInto('account_day')
    .values(
      days.map((day) => ({
        merchant_no: account.merchantNo,
        currency: account.currency,
        day: day.day,
        opening: day.opening,
        credit_total: day.creditTotal,
        credit_count: day.creditCount,
        debit_total: day.debitTotal,
        debit_count: day.debitCount,
        closing: day.closing,
        verdict: day.verdict,
        break_count: day.breakCount,
        breaks_after: day.breaksAfter,
        last_batch_no: day.lastBatchNo,
        last_booked_ms: day.lastBookedMs,
        clean_end: day.cleanEnd,
        jumps_in: day.jumpsIn,
        restarted: day.restarted,
        publish_due: true,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['merchant_no', 'currency', 'day']).doUpdateSet((eb) => ({
        opening: eb.ref('excluded.opening'),
        credit_total: eb.ref('excluded.credit_total'),
        credit_count: eb.ref('excluded.credit_count'),
        debit_total: eb.ref('excluded.debit_total'),
        debit_count: eb.ref('excluded.debit_count'),
        closing: eb.ref('excluded.closing'),
        verdict: eb.ref('excluded.verdict'),
        break_count: eb.ref('excluded.break_count'),
        breaks_after: eb.ref('excluded.breaks_after'),
        last_batch_no: eb.ref('excluded.last_batch_no'),
        last_booked_ms: eb.ref('excluded.last_booked_ms'),
        clean_end: eb.ref('excluded.clean_end'),
        jumps_in: eb.ref('excluded.jumps_in'),
        restarted: eb.ref('excluded.restarted'),
        publish_due: true,
      })),
    )
    .execute();
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

/** Takes days off the list of changed ones, as their figures are made. */
export async function clearChangedDays(
  trx: Transaction<DB>,
  account: Account,
  days: readonly BusinessDay[],
): Promise<void> {
  if (days.length === 0) return;
  await trx
    .deleteFrom('changed_day')
    .where('merchant_no', '=', account.merchantNo)
    .where('currency', '=', account.currency)
    .where('day', '=', sql<string>`ANY (${days}::date[])`)
    .execute();
}
