/** Says which account days are due for publishing, and marks them as done. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { AccountFilter } from '../../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { ofAccounts } from '../account-filter.ts';
import { dayFigures, type DayFigures, type DayFilter } from '../account-days.ts';
import type { DB } from '../engine/schema.ts';
import type { StatementRow } from './statements.ts';

const dueRows = (db: Kysely<DB>, filter: DayFilter) =>
  db
    .selectFrom('account_day')
    .where('is_due', '=', true)
    .where(ofAccounts(filter))
    .$if(filter.fromDay !== undefined, (query) => query.where('day', '>=', filter.fromDay!))
    .$if(filter.toDay !== undefined, (query) => query.where('day', '<=', filter.toDay!));

/** Number of due days, counted once for each merchant. */
export async function countDueDays(db: Kysely<DB>, filter: DayFilter): Promise<number> {
  const days = dueRows(db, filter).select(['merchant_no', 'day']).distinct().as('days');
  const { count } = await db
    .selectFrom(days)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/** Account days that are due, by currency and day. Served by account_day_due, which holds nothing else. */
export async function dueAccountDays(
  db: Kysely<DB>,
  filter: DayFilter,
): Promise<{ readonly account: Account; readonly figures: DayFigures }[]> {
  const rows = await dueRows(db, filter).selectAll().orderBy('currency').orderBy('day').execute();
  return rows.map((row) => ({
    account: { merchantNo: row.merchant_no, currency: row.currency },
    figures: dayFigures(row),
  }));
}

/** The current statements of account days that are due, by currency and day; one search along statement's key each. */
export async function statementsOfDueDays(
  db: Kysely<DB>,
  accounts: AccountFilter,
  toDay: BusinessDay,
): Promise<StatementRow[]> {
  const { rows } = await sql<StatementRow>`
    SELECT s.* FROM account_day d CROSS JOIN LATERAL (
      SELECT * FROM statement
      WHERE merchant_no = d.merchant_no AND currency = d.currency AND day = d.day
      ORDER BY revision DESC LIMIT 1
    ) AS s
    WHERE ${ofAccounts(accounts, 'd')} AND d.is_due AND d.day <= ${toDay}
    ORDER BY s.currency, s.day`.execute(db);
  return rows;
}

/** Locks the merchant's account days of that day, so that no one else changes them until the transaction ends. */
export async function lockAccountDays(
  trx: Transaction<DB>,
  merchantNo: string,
  day: BusinessDay,
): Promise<void> {
  await trx
    .selectFrom('account_day')
    .select('currency')
    .where('merchant_no', '=', merchantNo)
    .where('day', '=', day)
    .orderBy('currency')
    .forUpdate()
    .execute();
}
