/** Reads due account days, many at a time, each with the account's days around it. */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { ofAccounts } from '../account-filter.ts';
import { dayFigures, type AccountDayRow, type DayFilter } from '../account-days.ts';
import type { NearDays } from '../days-together.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';
import type { AccountOnDay } from './openings.ts';

/** Most account days of a batch; of its last day all accounts are read, however many they are. */
const BATCH_ROWS_MAX = 64;

/** A day of a merchant on which accounts are due. */
export interface DueDay {
  readonly merchantNo: string;
  readonly day: BusinessDay;
}

export interface DueAccountDay extends AccountOnDay, NearDays {}

/** The accounts that are due on a day, by currency. */
export interface DueAccounts {
  readonly day: BusinessDay;
  readonly accounts: readonly DueAccountDay[];
}

/** Due days of one merchant, in order. */
export interface DueBatch {
  readonly merchantNo: string;
  readonly days: readonly DueAccounts[];
  /** No other day was due when this was read. */
  readonly isLast: boolean;
}

/** Where a batch begins: after a day, by merchant and day; or it is of these account days, one merchant's, alone. */
export type BatchStart = { readonly after: DueDay | null } | { readonly of: readonly AccountOnDay[] };

/** The next due days of a merchant; null if none is due. Uses account_day_due, an index of due days only. */
export async function dueBatch(
  db: Kysely<DB>,
  filter: DayFilter,
  start: BatchStart,
): Promise<DueBatch | null> {
  const { rows } = await sql<AccountDayRow & { readonly due_day: BusinessDay }>`
    WITH due AS (
      SELECT merchant_no, currency, day FROM account_day
      WHERE publish_due AND ${ofAccounts(filter)}
        AND ${filter.fromDay === undefined ? sql`true` : sql`day >= ${filter.fromDay}`}
        AND ${filter.toDay === undefined ? sql`true` : sql`day <= ${filter.toDay}`}
        AND ${within(start)}
      ORDER BY merchant_no, day FETCH FIRST ${sql.lit(BATCH_ROWS_MAX)} ROWS WITH TIES
    )
    SELECT due.day AS due_day, near.* FROM due CROSS JOIN LATERAL (
      (SELECT * FROM account_day
       WHERE merchant_no = due.merchant_no AND currency = due.currency AND day <= due.day
       ORDER BY day DESC LIMIT 2)
      UNION ALL
      (SELECT * FROM account_day
       WHERE merchant_no = due.merchant_no AND currency = due.currency AND day > due.day
       ORDER BY day LIMIT 1)
    ) AS near
    ORDER BY due.merchant_no, due.day, due.currency, near.day`.execute(db);
  const merchantNo = rows[0]?.merchant_no;
  if (merchantNo === undefined) return null;
  const all = [...Map.groupBy(rows, placeOf).values()];
  const own = all.filter(([first]) => first!.merchant_no === merchantNo).map(dueAccountDay);
  const days = [...Map.groupBy(own, ({ day }) => day)].map(([day, accounts]) => ({ day, accounts }));
  return { merchantNo, days, isLast: own.length === all.length && all.length < BATCH_ROWS_MAX };
}

function within(start: BatchStart): RawBuilder<boolean> {
  if ('of' in start) {
    return sql`(merchant_no, currency, day) IN (SELECT * FROM unnest(
      ${arrayLiteral(start.of.map(({ account }) => account.merchantNo))}::text[],
      ${arrayLiteral(start.of.map(({ account }) => account.currency))}::text[],
      ${arrayLiteral(start.of.map(({ day }) => day))}::date[]))`;
  }
  const { after } = start;
  return after === null ? sql`true` : sql`(merchant_no, day) > (${after.merchantNo}, ${after.day}::date)`;
}

const placeOf = ({ merchant_no, currency, due_day }: { due_day: BusinessDay } & AccountDayRow): string =>
  JSON.stringify([merchant_no, currency, due_day]);

/** An account's due day, from its own row and those beside it. */
function dueAccountDay(rows: readonly (AccountDayRow & { readonly due_day: BusinessDay })[]): DueAccountDay {
  const { merchant_no: merchantNo, currency, due_day: day } = rows[0]!;
  const account: Account = { merchantNo, currency };
  const near = rows.map(dayFigures);
  return {
    account,
    day,
    own: near.find((row) => row.day === day)!,
    before: near.find((row) => row.day < day),
    after: near.find((row) => row.day > day),
  };
}
