/** Account days: which need new figures, what they were, and what they are now. */
import { sql, type Kysely, type Selectable, type Transaction } from 'kysely';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type { ChainedDay } from '../ledger/chain/account-days.ts';
import type { AccountDay as AccountDayTable, DB } from './engine/schema.ts';
import { figureColumns, figuresOf } from './figures.ts';

export type AccountDayRow = Selectable<AccountDayTable>;

/** What to leave in: one merchant, some currencies, a range of days. */
export interface DayFilter {
  readonly merchantNo?: string | undefined;
  readonly currencies?: readonly string[] | undefined;
  readonly fromDay?: BusinessDay | undefined;
  readonly toDay?: BusinessDay | undefined;
}

/** Days whose entries changed since their figures were made, by account, in order. Served by changed_day's key. */
export async function changedDays(
  db: Kysely<DB>,
  filter: DayFilter = {},
): Promise<{ account: Account; days: BusinessDay[] }[]> {
  let query = db
    .selectFrom('changed_day')
    .selectAll()
    .orderBy('merchant_no')
    .orderBy('currency')
    .orderBy('day');
  if (filter.merchantNo !== undefined) query = query.where('merchant_no', '=', filter.merchantNo);
  if (filter.currencies !== undefined) query = query.where('currency', 'in', [...filter.currencies]);
  return byAccount(await query.execute());
}

/** By account, the first day whose entries changed since its figures were made; `fromDay` and `toDay` play no part. */
export async function earliestChangedDays(
  db: Kysely<DB>,
  { merchantNo, currencies }: DayFilter,
): Promise<{ account: Account; day: BusinessDay }[]> {
  const rows = await db
    .selectFrom('changed_day')
    .select(['merchant_no', 'currency', (eb) => eb.fn.min('day').as('day')])
    .$if(merchantNo !== undefined, (query) => query.where('merchant_no', '=', merchantNo!))
    .$if(currencies !== undefined, (query) => query.where('currency', 'in', [...currencies!]))
    .groupBy(['merchant_no', 'currency'])
    .execute();
  return rows.map((row) => ({
    account: { merchantNo: row.merchant_no, currency: row.currency },
    day: row.day,
  }));
}

/** Days whose chain began anew, by account: to be looked at again once what lies before them is proven. */
export async function restartedDays(
  db: Kysely<DB>,
  filter: DayFilter = {},
): Promise<{ account: Account; days: BusinessDay[] }[]> {
  let query = db
    .selectFrom('account_day')
    .select(['merchant_no', 'currency', 'day'])
    .where('restarted', '=', true)
    .orderBy('merchant_no')
    .orderBy('currency')
    .orderBy('day');
  if (filter.merchantNo !== undefined) query = query.where('merchant_no', '=', filter.merchantNo);
  if (filter.currencies !== undefined) query = query.where('currency', 'in', [...filter.currencies]);
  return byAccount(await query.execute());
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

/** The account's last day before `day`. Served by the primary key. */
export const dayBefore = (
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
): Promise<DayFigures | undefined> =>
  first(ofAccount(db, account).where('day', '<', day).orderBy('day', 'desc'));

/** The account's days up to `day`, the last one first, at most `limit`. Served by the primary key. */
export const accountDaysUpTo = (
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
  limit: number,
): Promise<DayFigures[]> =>
  all(ofAccount(db, account).where('day', '<=', day).orderBy('day', 'desc').limit(limit));

/** The balance the account's last day closed on; null before its first. Served by the primary key. */
export const lastClosing = async (db: Kysely<DB>, account: Account): Promise<string | null> =>
  (await first(ofAccount(db, account).orderBy('day', 'desc')))?.closing ?? null;

/** The account's days from `day` on, in order, at most `limit`. Served by the primary key. */
export const accountDaysFrom = (
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
  limit: number,
): Promise<DayFigures[]> => all(ofAccount(db, account).where('day', '>=', day).orderBy('day').limit(limit));

/** The account's day. */
export const accountDay = (
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
): Promise<DayFigures | undefined> => first(ofAccount(db, account).where('day', '=', day));

/** The account's first day after `day`. Served by the primary key. */
export const dayAfter = (
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
): Promise<DayFigures | undefined> => first(ofAccount(db, account).where('day', '>', day).orderBy('day'));

type OfAccount = ReturnType<typeof ofAccount>;
const all = async (query: OfAccount): Promise<DayFigures[]> => (await query.execute()).map(dayFigures);
const first = async (query: OfAccount): Promise<DayFigures | undefined> => (await all(query.limit(1)))[0];

const ofAccount = (db: Kysely<DB>, account: Account) =>
  db
    .selectFrom('account_day')
    .selectAll()
    .where('merchant_no', '=', account.merchantNo)
    .where('currency', '=', account.currency);

/** Account days for a person, by merchant, day and currency. */
export function listAccountDays(db: Kysely<DB>, filter: DayFilter): Promise<AccountDayRow[]> {
  let query = db
    .selectFrom('account_day')
    .selectAll()
    .orderBy('merchant_no')
    .orderBy('day')
    .orderBy('currency');
  if (filter.merchantNo !== undefined) query = query.where('merchant_no', '=', filter.merchantNo);
  if (filter.currencies !== undefined) query = query.where('currency', 'in', [...filter.currencies]);
  if (filter.fromDay !== undefined) query = query.where('day', '>=', filter.fromDay);
  if (filter.toDay !== undefined) query = query.where('day', '<=', filter.toDay);
  return query.execute();
}

/** Entries the merchant had, over all accounts, on the one of the days that had most; 0 where none had any. */
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

/** Days with figures from `day` on, in order. Served by the primary key alone. */
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

/**
 * The last day with figures of each account that passes the filter. One jump along the primary key for each account,
 * however many days it has.
 */
export async function lastDays(
  db: Kysely<DB>,
  { merchantNo, currencies }: DayFilter,
): Promise<{ account: Account; day: BusinessDay }[]> {
  const { rows } = await sql<{ merchant_no: string; currency: string; day: BusinessDay }>`
    WITH RECURSIVE account AS (
      (SELECT merchant_no, currency FROM account_day
       WHERE ${merchantNo ?? null}::text IS NULL OR merchant_no = ${merchantNo ?? null}
       ORDER BY merchant_no, currency LIMIT 1)
      UNION ALL
      SELECT next.merchant_no, next.currency FROM account CROSS JOIN LATERAL (
        SELECT merchant_no, currency FROM account_day
        WHERE (merchant_no, currency) > (account.merchant_no, account.currency)
          AND (${merchantNo ?? null}::text IS NULL OR merchant_no = ${merchantNo ?? null})
        ORDER BY merchant_no, currency LIMIT 1
      ) AS next
    )
    SELECT account.merchant_no, account.currency, last.day FROM account CROSS JOIN LATERAL (
      SELECT day FROM account_day
      WHERE merchant_no = account.merchant_no AND currency = account.currency
      ORDER BY day DESC LIMIT 1
    ) AS last
    ORDER BY account.merchant_no, account.currency`.execute(db);
  return rows
    .filter(({ currency }) => currencies === undefined || currencies.includes(currency))
    .map((row) => ({ account: { merchantNo: row.merchant_no, currency: row.currency }, day: row.day }));
}

/** The first day of each of a merchant's accounts, by currency. */
export async function firstDays(
  db: Kysely<DB>,
  merchantNo: string,
): Promise<ReadonlyMap<string, BusinessDay>> {
  const rows = await db
    .selectFrom('account_day')
    .select(['currency', (eb) => eb.fn.min('day').as('day')])
    .where('merchant_no', '=', merchantNo)
    .groupBy('currency')
    .orderBy('currency')
    .execute();
  return new Map(rows.map(({ currency, day }) => [currency, day]));
}

/** A day's figures to keep; a day without entries has no last one of its own and passes on the one before. */
export interface DayFigures extends Omit<ChainedDay, 'lastBatchNo' | 'lastBookedMs'> {
  readonly lastBatchNo: string | null;
  readonly lastBookedMs: number | null;
  readonly restarted: boolean;
}

/** A stored day as the chain makes it. */
export const dayFigures = (row: AccountDayRow): DayFigures => ({
  currency: row.currency,
  day: row.day,
  ...figuresOf(row),
  lastBatchNo: row.last_batch_no,
  lastBookedMs: row.last_booked_ms,
  cleanEnd: row.clean_end,
  jumpsIn: row.jumps_in,
});

/** Writes figures and marks the days for publishing; one statement for all. */
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
        ...figureColumns(day),
        last_batch_no: day.lastBatchNo,
        last_booked_ms: day.lastBookedMs,
        clean_end: day.cleanEnd,
        jumps_in: day.jumpsIn,
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

/** Puts days on the list of changed ones. */
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

/** Takes days off the list of changed ones. */
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
