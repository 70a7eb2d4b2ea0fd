/** Reads due account days, many at a time, each with the account's days around it. */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { ofAccounts } from '../account-filter.ts';
import { dayFigures, type AccountDayRow, type DayFilter, type NearDays } from '../account-days.ts';
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

export interface DueAccountDay extends AccountOnDay, NearDays {
  /** A run has begun the next revision's file, and no row names it. */
  readonly isBegun: boolean;
  /** Of the figures and of the entries that they were made of. */
  readonly contentHash: number;
}

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
  const { rows } = await sql<DueRow>`
    WITH ${dueRows(filter, start)} SELECT * FROM due_row ${IN_ORDER}`.execute(db);
  return batchOf(rows);
}

/** By account, the first day whose entries changed since its figures were made; and the first due days of a merchant. */
export async function firstDueBatch(
  db: Kysely<DB>,
  filter: DayFilter,
): Promise<{ readonly changed: readonly AccountOnDay[]; readonly batch: DueBatch | null }> {
  const { rows } = await sql<(DueRow | { merchant_no: null }) & { changed_days: ChangedRow[] | null }>`
    WITH ${dueRows(filter, { after: null })}, changed AS (
      SELECT merchant_no, currency, min(day) AS day FROM changed_day WHERE ${ofAccounts(filter)}
      GROUP BY merchant_no, currency
    )
    SELECT * FROM (SELECT (SELECT jsonb_agg(to_jsonb(changed)) FROM changed) AS changed_days) AS all_changed
    LEFT JOIN due_row ON true WHERE changed_days IS NOT NULL OR merchant_no IS NOT NULL ${IN_ORDER}`.execute(
    db,
  );
  const changed = (rows[0]?.changed_days ?? []).map(({ merchant_no: merchantNo, currency, day }) => ({
    account: { merchantNo, currency },
    day,
  }));
  return { changed, batch: batchOf(rows.filter((row) => row.merchant_no !== null)) };
}

interface ChangedRow {
  readonly merchant_no: string;
  readonly currency: string;
  readonly day: BusinessDay;
}

/** A due day's own row, or the row of a day next to it. */
export type DueRow = AccountDayRow & { readonly due_day: BusinessDay };

const IN_ORDER = sql`ORDER BY merchant_no, due_day, currency, day`;

/** `due_row`: the rows of the due days and of those next to them. */
const dueRows = (filter: DayFilter, start: BatchStart): RawBuilder<unknown> =>
  dueWithNear(sql`is_due AND ${ofAccounts(filter)}
        AND ${filter.fromDay === undefined ? sql`true` : sql`day >= ${filter.fromDay}`}
        AND ${filter.toDay === undefined ? sql`true` : sql`day <= ${filter.toDay}`}
        AND ${within(start)}`);

/** `due`: the account days of a batch that meet the condition. `due_row`: their rows, and those of the days next to them. */
export const dueWithNear = (condition: RawBuilder<unknown>): RawBuilder<unknown> => sql`
    due AS MATERIALIZED (
      SELECT merchant_no, currency, day, credit_count + debit_count AS entries FROM account_day
      WHERE ${condition}
      ORDER BY merchant_no, day FETCH FIRST ${sql.lit(BATCH_ROWS_MAX)} ROWS WITH TIES
    ), due_row AS (
      SELECT due.day AS due_day, near.* FROM due CROSS JOIN LATERAL (
        (SELECT * FROM account_day
         WHERE merchant_no = due.merchant_no AND currency = due.currency AND day <= due.day
         ORDER BY day DESC LIMIT 2)
        UNION ALL
        (SELECT * FROM account_day
         WHERE merchant_no = due.merchant_no AND currency = due.currency AND day > due.day
         ORDER BY day LIMIT 1)
      ) AS near
    )`;

/** The batch of such rows; null if there are none. */
export function batchOf(rows: readonly DueRow[]): DueBatch | null {
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

const placeOf = ({ merchant_no, currency, due_day }: DueRow): string =>
  JSON.stringify([merchant_no, currency, due_day]);

/** An account's due day, from its own row and those next to it. */
function dueAccountDay(rows: readonly DueRow[]): DueAccountDay {
  const { merchant_no: merchantNo, currency, due_day: day } = rows[0]!;
  const account: Account = { merchantNo, currency };
  const near = rows.map(dayFigures);
  const { begun_revision, content_hash } = rows.find((row) => row.day === day)!;
  return {
    account,
    day,
    isBegun: begun_revision !== null,
    contentHash: content_hash,
    own: near.find((row) => row.day === day)!,
    before: near.find((row) => row.day < day),
    after: near.find((row) => row.day > day),
  };
}
