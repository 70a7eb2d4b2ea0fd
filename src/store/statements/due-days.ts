/** Says which account days are due for publishing, and marks them as done. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { AccountFilter } from '../../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { ofAccounts } from '../account-filter.ts';
import { dayFigures, type DayFigures, type DayFilter } from '../account-days.ts';
import type { DB } from '../engine/schema.ts';
import type { StatementRow } from './statements.ts';

/** A day of a merchant on which accounts are due. */
export interface DueDay {
  readonly merchantNo: string;
  readonly day: BusinessDay;
}

const dueRows = (db: Kysely<DB>, filter: DayFilter) =>
  db
    .selectFrom('account_day')
    .where('publish_due', '=', true)
    .where(ofAccounts(filter))
    .$if(filter.fromDay !== undefined, (query) => query.where('day', '>=', filter.fromDay!))
    .$if(filter.toDay !== undefined, (query) => query.where('day', '<=', filter.toDay!));

/** The first due day after `after`, by merchant and then day. Uses account_day_due, an index of due days only. */
export async function nextDueDay(
  db: Kysely<DB>,
  filter: DayFilter,
  after: DueDay | null,
): Promise<DueDay | undefined> {
  const row = await dueRows(db, filter)
    .select(['merchant_no', 'day'])
    .$if(after !== null, (query) =>
      query.where(sql<boolean>`(merchant_no, day) > (${after!.merchantNo}, ${after!.day}::date)`),
    )
    .orderBy('merchant_no')
    .orderBy('day')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : { merchantNo: row.merchant_no, day: row.day };
}

/** Number of due days, counted once for each merchant. */
export async function countDueDays(db: Kysely<DB>, filter: DayFilter): Promise<number> {
  const days = dueRows(db, filter).select(['merchant_no', 'day']).distinct().as('days');
  const { count } = await db
    .selectFrom(days)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/** The currencies of that day that are due and that the filter selects, in order. */
export async function dueCurrencies(db: Kysely<DB>, filter: DayFilter, due: DueDay): Promise<string[]> {
  const rows = await dueRows(db, { ...filter, merchants: [due.merchantNo] })
    .where('day', '=', due.day)
    .select('currency')
    .orderBy('currency')
    .execute();
  return rows.map(({ currency }) => currency);
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

/** The current statements of account days that are due, by currency and day; one look into statement's key each. */
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
    WHERE ${ofAccounts(accounts, 'd')} AND d.publish_due AND d.day <= ${toDay}
    ORDER BY s.currency, s.day`.execute(db);
  return rows;
}

/** Locks the merchant's account days of that day, so that nobody else changes them until the transaction ends. */
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

/** Marks the days as not due any more: they are published as they are. */
export async function clearDue(
  trx: Transaction<DB>,
  merchantNo: string,
  day: BusinessDay,
  currencies: readonly string[],
): Promise<void> {
  await trx
    .updateTable('account_day')
    .set((eb) => ({
      publish_due: false,
      // Already set, unless the statement was adopted and the figures were made after that.
      revision: eb
        .selectFrom('statement')
        .select((nested) => nested.fn.max('revision').as('revision'))
        .whereRef('statement.merchant_no', '=', 'account_day.merchant_no')
        .whereRef('statement.currency', '=', 'account_day.currency')
        .whereRef('statement.day', '=', 'account_day.day'),
    }))
    .where('merchant_no', '=', merchantNo)
    .where('day', '=', day)
    .where('currency', 'in', [...currencies])
    .execute();
}
