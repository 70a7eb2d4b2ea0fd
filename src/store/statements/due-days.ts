/** Account days that are due for publishing, many at a time, and published openings that do not continue the statement before. */
import { sql, type RawBuilder } from 'kysely';
import type { AccountFilter } from '../../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { ofAccounts } from '../account-filter.ts';
import { arrayLiteral, type Db, rowOf, rowsOf } from '../engine/database.ts';
import {
  dayFigures,
  ofDays,
  type AccountDayRow,
  type DayFilter,
  type DayFigures,
  type NearDays,
} from '../account-days.ts';
import type { StatementRow } from './statements.ts';

export interface AccountOnDay {
  readonly account: Account;
  readonly day: BusinessDay;
}

/** Its opening differs from the closing of the account's statement before it, or was taken from the day's own first entry. */
export interface LooseOpening extends AccountOnDay {
  readonly opening: string;
  readonly restarted: boolean;
  readonly previousDay: BusinessDay;
  readonly previousClosing: string;
}

export interface DaysOfAccounts extends AccountFilter {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

const asked = (days: readonly AccountOnDay[]) => sql`
  SELECT DISTINCT asked.merchant_no, asked.currency, asked.day
  FROM unnest(
    ${arrayLiteral(days.map(({ account }) => account.merchantNo))}::text[],
    ${arrayLiteral(days.map(({ account }) => account.currency))}::text[],
    ${arrayLiteral(days.map(({ day }) => day))}::date[]
  ) AS asked (merchant_no, currency, day)`;

const publishedOf = ({ from, to, ...accounts }: DaysOfAccounts) => sql`
  SELECT DISTINCT merchant_no, currency, day FROM statement
  WHERE ${ofAccounts(accounts)} AND day BETWEEN ${from} AND ${to}`;

/** For each row of `asked`, the account's next published day: one jump along the primary key of `statement`. */
const dayAfterEach = sql`
  SELECT asked.merchant_no, asked.currency, later.day
  FROM asked CROSS JOIN LATERAL (
    SELECT day FROM statement
    WHERE merchant_no = asked.merchant_no AND currency = asked.currency AND day > asked.day
    ORDER BY day LIMIT 1
  ) AS later`;

/** Among `days`, the published days of `within`, and the account's next published day after each. An account's first statement is never loose. */
export async function looseOpenings(
  db: Db,
  days: readonly AccountOnDay[],
  within: DaysOfAccounts | null = null,
): Promise<LooseOpening[]> {
  if (days.length === 0 && within === null) return [];
  const all = within === null ? asked(days) : sql`${asked(days)} UNION ${publishedOf(within)}`;
  const rows = await rowsOf(db)<Account & Omit<LooseOpening, 'account'>>`
    WITH asked AS (${all}), checked_at AS (SELECT * FROM asked UNION ${dayAfterEach})
    SELECT checked_at.merchant_no AS "merchantNo", checked_at.currency, checked_at.day, own.opening, own.restarted,
      earlier.day AS "previousDay", earlier.closing AS "previousClosing"
    FROM checked_at
    CROSS JOIN LATERAL (
      SELECT opening, restarted FROM statement
      WHERE merchant_no = checked_at.merchant_no AND currency = checked_at.currency AND day = checked_at.day
      ORDER BY revision DESC LIMIT 1
    ) AS own
    CROSS JOIN LATERAL (
      SELECT day, closing FROM statement
      WHERE merchant_no = checked_at.merchant_no AND currency = checked_at.currency AND day < checked_at.day
      ORDER BY day DESC, revision DESC LIMIT 1
    ) AS earlier
    WHERE own.restarted OR own.opening <> earlier.closing
    ORDER BY checked_at.merchant_no, checked_at.currency, checked_at.day`;
  return rows.map(({ merchantNo, currency, ...opening }) => ({
    account: { merchantNo, currency },
    ...opening,
  }));
}

/** Most account days of a batch; of its last day all accounts are read, however many they are. */
const BATCH_ROWS_MAX = 64;

export interface DueDay {
  readonly merchantNo: string;
  readonly day: BusinessDay;
}

export interface DueAccountDay extends AccountOnDay, NearDays {
  /** A run has begun the next revision's file, and no row names it. */
  readonly isBegun: boolean;
  /** That was read with these figures, and that is published with them. */
  readonly version: number;
}

export interface DueAccounts {
  readonly day: BusinessDay;
  readonly accounts: readonly DueAccountDay[];
}

export interface DueBatch {
  readonly merchantNo: string;
  readonly days: readonly DueAccounts[];
  /** No other day was due when this was read. */
  readonly isLast: boolean;
}

/** Where a batch begins: after a day, by merchant and day; or it is of these account days, one merchant's, alone. */
type BatchStart = { readonly after: DueDay | null } | { readonly of: readonly AccountOnDay[] };

/** The law: what changed since the statement was last written or compared is due. Served by account_day_due. */
const IS_DUE = sql`version <> published_version`;

type DueRow = AccountDayRow & { readonly due_day: BusinessDay };

/** The next due days of a merchant, each with the days next to it; null if none is due. */
export async function dueBatch(db: Db, filter: DayFilter, start: BatchStart): Promise<DueBatch | null> {
  const rows = await rowsOf(db)<DueRow>`
    WITH due AS MATERIALIZED (
      SELECT merchant_no, currency, day FROM account_day
      WHERE ${IS_DUE} AND ${ofDays(filter)} AND ${within(start)}
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
    ORDER BY merchant_no, due_day, currency, day`;
  return batchOf(rows);
}

/** By account, the first day whose entries changed since its figures were made. */
export async function changedFrom(db: Db, filter: DayFilter): Promise<AccountOnDay[]> {
  const rows = await rowsOf(db)<Account & { readonly day: BusinessDay }>`
    SELECT merchant_no AS "merchantNo", currency, min(day) AS day FROM changed_day WHERE ${ofAccounts(filter)}
    GROUP BY merchant_no, currency`;
  return rows.map(({ day, ...account }) => ({ account, day }));
}

function batchOf(rows: readonly DueRow[]): DueBatch | null {
  const merchantNo = rows[0]?.merchant_no;
  if (merchantNo === undefined) return null;
  const all = [...Map.groupBy(rows, placeOf).values()];
  const own = all.filter(([first]) => first!.merchant_no === merchantNo).map(dueAccountDay);
  const days = [...Map.groupBy(own, ({ day }) => day)].map(([day, accounts]) => ({ day, accounts }));
  return { merchantNo, days, isLast: own.length === all.length && all.length < BATCH_ROWS_MAX };
}

function within(start: BatchStart): RawBuilder<boolean> {
  if ('of' in start) return sql`(merchant_no, currency, day) IN (${asked(start.of)})`;
  const { after } = start;
  return after === null ? sql`true` : sql`(merchant_no, day) > (${after.merchantNo}, ${after.day}::date)`;
}

const placeOf = ({ merchant_no, currency, due_day }: DueRow): string =>
  JSON.stringify([merchant_no, currency, due_day]);

function dueAccountDay(rows: readonly DueRow[]): DueAccountDay {
  const { merchant_no: merchantNo, currency, due_day: day } = rows[0]!;
  const near = rows.map(dayFigures);
  const { begun_revision, version } = rows.find((row) => row.day === day)!;
  return {
    account: { merchantNo, currency },
    day,
    isBegun: begun_revision !== null,
    version,
    own: near.find((row) => row.day === day)!,
    before: near.find((row) => row.day < day),
    after: near.find((row) => row.day > day),
  };
}

export async function countDueDays(db: Db, filter: DayFilter): Promise<number> {
  const { count } = await rowOf(db)<{ count: number }>`
    SELECT count(*) AS count FROM (SELECT DISTINCT merchant_no, day FROM account_day WHERE ${IS_DUE} AND ${ofDays(filter)}) AS days`;
  return count;
}

/** Account days that are due, by currency and day. Served by account_day_due, which holds nothing else. */
export async function dueAccountDays(
  db: Db,
  filter: DayFilter,
): Promise<{ readonly account: Account; readonly figures: DayFigures }[]> {
  const rows = await rowsOf(db)<AccountDayRow>`
    SELECT * FROM account_day WHERE ${IS_DUE} AND ${ofDays(filter)} ORDER BY currency, day`;
  return rows.map((row) => ({
    account: { merchantNo: row.merchant_no, currency: row.currency },
    figures: dayFigures(row),
  }));
}

/** The current statements of account days that are due, by currency and day; one search along statement's key each. */
export const statementsOfDueDays = (db: Db, accounts: AccountFilter, toDay: BusinessDay) => rowsOf(
  db,
)<StatementRow>`
    SELECT s.* FROM account_day d CROSS JOIN LATERAL (
      SELECT * FROM statement
      WHERE merchant_no = d.merchant_no AND currency = d.currency AND day = d.day
      ORDER BY revision DESC LIMIT 1
    ) AS s
    WHERE ${ofAccounts(accounts, 'd')} AND d.version <> d.published_version AND d.day <= ${toDay}
    ORDER BY s.currency, s.day`;
