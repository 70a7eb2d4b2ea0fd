/** Reads and writes the figures of account days. */
import { sql, type Kysely, type RawBuilder, type Selectable } from 'kysely';
import { EVERY_ACCOUNT, type AccountFilter } from '../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type { ChainedDay } from '../ledger/chain/account-days.ts';
import { ofAccounts } from './account-filter.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { AccountDay as AccountDayTable, DB } from './engine/schema.ts';
import { figuresOf } from './figures.ts';

export type AccountDayRow = Selectable<AccountDayTable>;

/** Which account days are meant: those of some accounts, in a range of days. */
export interface DayFilter extends AccountFilter {
  readonly fromDay?: BusinessDay | undefined;
  readonly toDay?: BusinessDay | undefined;
}

/** The account's last day before `day`. Uses the primary key. */
export const dayBefore = (
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
): Promise<DayFigures | undefined> =>
  first(ofAccount(db, account).where('day', '<', day).orderBy('day', 'desc'));

/** The account's days up to and including `day`, the last one first, at most `limit`. Uses the primary key. */
export const accountDaysUpTo = (
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
  limit: number,
): Promise<DayFigures[]> =>
  all(ofAccount(db, account).where('day', '<=', day).orderBy('day', 'desc').limit(limit));

/** The closing of the account's last day; null where the account has no day yet. Uses the primary key. */
export const lastClosing = async (db: Kysely<DB>, account: Account): Promise<string | null> =>
  (await first(ofAccount(db, account).orderBy('day', 'desc')))?.closing ?? null;

/**
 * The body of a recursive query `figured (currency)`: the currencies in which the merchant has figures, and a null at the
 * end. Each is found by one jump along the primary key.
 */
export const figuredCurrencies = (merchantNo: string | RawBuilder<unknown>): RawBuilder<unknown> => sql`
  (SELECT currency FROM account_day WHERE merchant_no = ${merchantNo} ORDER BY currency LIMIT 1)
  UNION ALL
  SELECT (SELECT d.currency FROM account_day d
    WHERE d.merchant_no = ${merchantNo} AND d.currency > figured.currency ORDER BY d.currency LIMIT 1)
  FROM figured WHERE figured.currency IS NOT NULL`;

/** Stored days read at once: a long cascade makes few queries, a short one reads few rows. */
export const DAYS_FROM = 50;
/** Stored days before them that are read as well: mostly the day before the first one is asked for. */
export const DAYS_BEFORE = 3;

/** Every stored day of an account in [from, to], in order. */
export interface DaysAround {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly days: readonly DayFigures[];
}

/** The account's days around `day`: the last ones before it and the first ones from it on. Uses the primary key. */
export async function accountDaysAround(
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
): Promise<DaysAround> {
  const before = ofAccount(db, account).where('day', '<', day).orderBy('day', 'desc').limit(DAYS_BEFORE);
  const from = ofAccount(db, account).where('day', '>=', day).orderBy('day').limit(DAYS_FROM);
  const rows = await db
    .selectFrom(before.as('before'))
    .selectAll()
    .unionAll(db.selectFrom(from.as('from')).selectAll())
    .orderBy('day')
    .execute();
  return daysAround(rows.map(dayFigures), day);
}

/** What is known from the last `DAYS_BEFORE` days before `day` and the first `DAYS_FROM` from it on, in order. Pure. */
export function daysAround(days: readonly DayFigures[], day: BusinessDay): DaysAround {
  const before = days.filter((one) => one.day < day).length;
  return {
    from: before < DAYS_BEFORE ? FIRST_DAY : days[0]!.day,
    to: days.length - before < DAYS_FROM ? LAST_DAY : days.at(-1)!.day,
    days,
  };
}

/** Before and after every stored day. */
export const FIRST_DAY = '0001-01-01';
export const LAST_DAY = '9999-12-31';

/** The account's first day after `day`. Uses the primary key. */
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

/** For each merchant that has any, the entries of its day with the most, all accounts together. */
export async function entriesOfBusiestDays(
  db: Kysely<DB>,
  merchants: readonly string[],
  { from, to }: { readonly from: BusinessDay; readonly to: BusinessDay },
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ merchant_no: string; entries: number }>`
    SELECT merchant_no, max(entries) AS entries FROM (
      SELECT merchant_no, day, sum(credit_count + debit_count)::bigint AS entries FROM account_day
      WHERE merchant_no = ANY (${arrayLiteral(merchants)}::text[]) AND day BETWEEN ${from} AND ${to}
      GROUP BY merchant_no, day
    ) AS days
    GROUP BY merchant_no`.execute(db);
  return new Map(rows.map((row) => [row.merchant_no, row.entries]));
}

/**
 * A day's figures to store. A day without entries has no last entry; it carries that of the day before, which may be
 * null.
 */
export interface DayFigures extends Omit<ChainedDay, 'lastBatchNo' | 'lastBookedMs'> {
  readonly lastBatchNo: string | null;
  readonly lastBookedMs: number | null;
  readonly restarted: boolean;
  readonly otherClosings?: readonly string[] | undefined;
}

/** The columns that hold a day's figures. */
export type FigureRow = Omit<
  AccountDayRow,
  | 'merchant_no'
  | 'revision'
  | 'publish_due'
  | 'begun_revision'
  | 'entries_fingerprint'
  | 'content_hash'
  | 'published_hash'
  | 'is_due'
>;

/** A stored day as the chain makes it. */
export const dayFigures = (row: FigureRow): DayFigures => ({
  currency: row.currency,
  day: row.day,
  ...figuresOf(row),
  lastBatchNo: row.last_batch_no,
  lastBookedMs: row.last_booked_ms,
  isOrderFinal: row.clean_end,
  startsWithBreak: row.jumps_in,
});
