/** Reads and writes the figures of account days. */
import { sql, type RawBuilder, type Selectable } from 'kysely';
import { EVERY_ACCOUNT, type AccountFilter } from '../ledger/account-filter.ts';
import type { Account, BusinessDay, StatedFigures, Verdict, Window } from '../ledger/entry.ts';
import type { ChainedDay } from '../ledger/chain/account-days.ts';
import { ofAccounts } from './account-filter.ts';
import { arrayLiteral, type Db, rowsOf, type ValueOrSql } from './engine/database.ts';
import type { AccountDay as AccountDayTable } from './engine/schema.ts';
import { otherClosingsText } from '../ledger/chain/figures.ts';
import { heldCurrencies } from './entries.ts';

export type AccountDayRow = Selectable<AccountDayTable>;

export interface DayFilter extends AccountFilter {
  readonly fromDay?: BusinessDay | undefined;
  readonly toDay?: BusinessDay | undefined;
}

/** Rows of the accounts that pass, whose `day` is one of these. */
export const ofDays = ({ fromDay, toDay, ...accounts }: DayFilter): RawBuilder<boolean> => sql<boolean>`(
  ${ofAccounts(accounts)} AND ${fromDay === undefined ? sql`true` : sql`day >= ${fromDay}`}
  AND ${toDay === undefined ? sql`true` : sql`day <= ${toDay}`})`;

export const lastClosing = async (db: Db, account: Account): Promise<string | null> =>
  (await first(ofAccount(db, account).orderBy('day', 'desc')))?.closing ?? null;

/**
 * The body of a recursive query `figured (currency)`: the currencies in which the merchant has figures, and a null at the
 * end. Each is found by one jump along the primary key.
 */
export const figuredCurrencies = (merchantNo: ValueOrSql): RawBuilder<unknown> => sql`
  (SELECT currency FROM account_day WHERE merchant_no = ${merchantNo} ORDER BY currency LIMIT 1)
  UNION ALL
  SELECT (SELECT d.currency FROM account_day d
    WHERE d.merchant_no = ${merchantNo} AND d.currency > figured.currency ORDER BY d.currency LIMIT 1)
  FROM figured WHERE figured.currency IS NOT NULL`;

export interface DayAsked {
  readonly day: BusinessDay;
  readonly window: Window;
}

/** The account's days with figures before that day, the last of them, in order. */
export const figuresBefore = async (db: Db, account: Account, day: BusinessDay, limit: number) =>
  (await all(ofAccount(db, account).where('day', '<', day).orderBy('day', 'desc').limit(limit))).reverse();

/** The account's days with figures from that day on, the first of them, in order. */
export const figuresFrom = (db: Db, account: Account, day: BusinessDay, limit: number) =>
  all(ofAccount(db, account).where('day', '>=', day).orderBy('day').limit(limit));

const dayAfter = (db: Db, account: Account, day: BusinessDay): Promise<DayFigures | undefined> =>
  first(ofAccount(db, account).where('day', '>', day).orderBy('day'));

type OfAccount = ReturnType<typeof ofAccount>;

const all = async (query: OfAccount): Promise<DayFigures[]> => (await query.execute()).map(dayFigures);

const first = async (query: OfAccount): Promise<DayFigures | undefined> => (await all(query.limit(1)))[0];

const ofAccount = (db: Db, account: Account) =>
  db
    .selectFrom('account_day')
    .selectAll()
    .where('merchant_no', '=', account.merchantNo)
    .where('currency', '=', account.currency);

export const listAccountDays = (db: Db, filter: DayFilter = EVERY_ACCOUNT): Promise<AccountDayRow[]> =>
  db
    .selectFrom('account_day')
    .selectAll()
    .where(ofDays(filter))
    .orderBy('merchant_no')
    .orderBy('day')
    .orderBy('currency')
    .execute();

/** The merchant's days in that range whose counts and sums are not those of the stored entries, and that are not to be chained: their entries were changed by other hands. */
export const figuresUnlikeEntries = (
  db: Db,
  merchantNo: string,
  { from, to }: { readonly from: BusinessDay; readonly to: BusinessDay },
) => rowsOf(db)<Account & { readonly day: BusinessDay }>`
  SELECT d.merchant_no AS "merchantNo", d.currency, d.day FROM account_day d
  CROSS JOIN LATERAL (
    SELECT count(e.credit) AS credits, coalesce(sum(e.credit), 0) AS credit, count(e.debit) AS debits,
      coalesce(sum(e.debit), 0) AS debit
    FROM ledger_entry e
    WHERE e.merchant_no = d.merchant_no AND e.currency = d.currency AND e.vanished_at IS NULL AND e.booked_at::date = d.day
      AND e.booked_ms BETWEEN extract(epoch FROM d.day)::bigint * 1000 - 86400000 AND extract(epoch FROM d.day)::bigint * 1000 + 172800000
  ) AS stored
  WHERE d.merchant_no = ${merchantNo} AND d.day BETWEEN ${from} AND ${to}
    AND (credit_count, credit_total, debit_count, debit_total) IS DISTINCT FROM (credits, credit, debits, debit)
    AND NOT EXISTS (SELECT FROM certificate c WHERE c.merchant_no = d.merchant_no AND c.day = d.day AND NOT chained)
  ORDER BY d.day, d.currency`;

export async function entriesOfBusiestDays(
  db: Db,
  merchants: readonly string[],
  { from, to }: { readonly from: BusinessDay; readonly to: BusinessDay },
): Promise<ReadonlyMap<string, number>> {
  const rows = await rowsOf(db)<{ merchant_no: string; entries: number }>`
    SELECT merchant_no, max(entries) AS entries FROM (
      SELECT merchant_no, day, sum(credit_count + debit_count)::bigint AS entries FROM account_day
      WHERE merchant_no = ANY (${arrayLiteral(merchants)}::text[]) AND day BETWEEN ${from} AND ${to}
      GROUP BY merchant_no, day
    ) AS days
    GROUP BY merchant_no`;
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

export type FigureRow = FigureColumns &
  Pick<AccountDayRow, 'currency' | 'day' | 'last_batch_no' | 'last_booked_ms' | 'clean_end' | 'jumps_in'>;

export const dayFigures = (row: FigureRow): DayFigures => ({
  currency: row.currency,
  day: row.day,
  ...figuresOf(row),
  lastBatchNo: row.last_batch_no,
  lastBookedMs: row.last_booked_ms,
  isOrderFinal: row.clean_end,
  startsWithBreak: row.jumps_in,
});

export interface FigureColumns {
  readonly opening: string;
  readonly credit_total: string;
  readonly credit_count: number;
  readonly debit_total: string;
  readonly debit_count: number;
  readonly closing: string;
  readonly verdict: string;
  readonly break_count: number;
  readonly breaks_after: number;
  readonly restarted: boolean;
  readonly other_closings: string;
}

export const figuresOf = (row: FigureColumns): StatedFigures => ({
  opening: row.opening,
  creditTotal: row.credit_total,
  creditCount: row.credit_count,
  debitTotal: row.debit_total,
  debitCount: row.debit_count,
  closing: row.closing,
  verdict: row.verdict as Verdict,
  breakCount: row.break_count,
  breaksAfter: row.breaks_after,
  restarted: row.restarted,
  ...(row.other_closings === '' ? {} : { otherClosings: row.other_closings.split(',') }),
});

export const figureColumns = (figures: StatedFigures): FigureColumns => ({
  opening: figures.opening,
  credit_total: figures.creditTotal,
  credit_count: figures.creditCount,
  debit_total: figures.debitTotal,
  debit_count: figures.debitCount,
  closing: figures.closing,
  verdict: figures.verdict,
  break_count: figures.breakCount,
  breaks_after: figures.breaksAfter,
  restarted: figures.restarted,
  other_closings: otherClosingsText(figures.otherClosings),
});

/**
 * Days whose figures are still to be made anew: one item an account, days in order. Uses certificate_to_chain.
 */
export const changedDays = (
  db: Db,
  accounts: AccountFilter,
): Promise<{ account: Account; days: BusinessDay[] }[]> => rowsOf(db)`
  SELECT json_build_object('merchantNo', merchant_no, 'currency', currency) AS account, json_agg(day ORDER BY day) AS days
  FROM changed_day WHERE ${ofAccounts(accounts)} GROUP BY merchant_no, currency ORDER BY merchant_no, currency`;

export async function changedDaysOfEach(
  db: Db,
  merchants: readonly string[],
): Promise<ReadonlyMap<string, readonly BusinessDay[]>> {
  const all = await changedDays(db, { merchants, currencies: null });
  const byMerchant = Map.groupBy(all, ({ account }) => account.merchantNo);
  return new Map([...byMerchant].map(([merchantNo, own]) => [merchantNo, own.flatMap(({ days }) => days)]));
}

export interface DaysTogether extends Pick<NearDays, 'before'> {
  readonly days: readonly DayFigures[];
}

export interface NearDays {
  readonly own: DayFigures;
  readonly before: DayFigures | undefined;
  readonly after: DayFigures | undefined;
}

/** The day, with the days that were chained together with it; the columns `clean_end` and `restarted` say which. */
export async function daysTogether(db: Db, account: Account, day: BusinessDay): Promise<DaysTogether | null> {
  const upToDay = ofAccount(db, account).where('day', '<=', day).orderBy('day', 'desc').limit(2);
  const [own, before] = await all(upToDay);
  if (own?.day !== day) return null;
  return daysTogetherWith(db, account, {
    own,
    before,
    after: own.isOrderFinal ? undefined : await dayAfter(db, account, day),
  });
}

/** Days read at once of those that were chained together with a day: mostly there are none. */
const DAYS_EARLIER = 50;

/** The same for a day that was read already: makes no query unless more than the days next to it are chained together. */
export async function daysTogetherWith(
  db: Db,
  account: Account,
  { own, before: previous, after }: NearDays,
): Promise<DaysTogether> {
  const days = [own];
  let before = previous;
  let earlier: DayFigures[] = [];
  while (before !== undefined && !before.isOrderFinal && !days[0]!.restarted) {
    days.unshift(before);
    if (earlier.length === 0) earlier = await figuresBefore(db, account, before.day, DAYS_EARLIER);
    before = earlier.pop();
  }
  for (let last = own; !last.isOrderFinal;) {
    const next = last === own ? after : await dayAfter(db, account, last.day);
    if (next === undefined || next.restarted) break;
    days.push((last = next));
  }
  return { days, before };
}

export async function entriesADay(
  db: Db,
  merchantNo: string,
  { from, to }: { readonly from: BusinessDay; readonly to: BusinessDay },
): Promise<Map<string, Map<BusinessDay, number>>> {
  const rows = await rowsOf(db)<{ currency: string; day: BusinessDay; entries: number }>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT held.currency, d.day, d.credit_count + d.debit_count AS entries
    FROM held CROSS JOIN LATERAL (
      SELECT * FROM account_day
      WHERE merchant_no = ${merchantNo} AND currency = held.currency AND day BETWEEN ${from} AND ${to} OFFSET 0
    ) AS d
    WHERE d.credit_count + d.debit_count > 0`;
  const counts = new Map<string, Map<BusinessDay, number>>();
  for (const { currency, day, entries } of rows) {
    const own = counts.get(currency) ?? new Map<BusinessDay, number>();
    counts.set(currency, own.set(day, entries));
  }
  return counts;
}

/** Of each account with figures, the days of the range that hold entries. */
export async function busyDays(
  db: Db,
  merchantNo: string,
  { from, to }: { readonly from: BusinessDay; readonly to: BusinessDay },
): Promise<ReadonlySet<BusinessDay>[]> {
  const rows = await rowsOf(db)<{ days: BusinessDay[] }>`
    WITH RECURSIVE figured (currency) AS (${figuredCurrencies(merchantNo)})
    SELECT ARRAY(
      SELECT day::text FROM account_day d
      WHERE d.merchant_no = ${merchantNo} AND d.currency = figured.currency AND d.day BETWEEN ${from} AND ${to}
        AND d.credit_count + d.debit_count > 0
    ) AS days FROM figured WHERE currency IS NOT NULL`;
  return rows.map(({ days }) => new Set(days));
}
