/**
 * Finds entries that two merchants both have. They mean that the platform answered for one merchant with the ledger
 * of the other.
 */
import { sql, type RawBuilder } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import type { Account, BusinessDay, LedgerEntry } from '../ledger/entry.ts';
import { ofMerchants } from './account-filter.ts';
import { arrayLiteral, type Db, type Trx, rowsOf } from './engine/database.ts';
import { heldCurrencies, isHeldOn } from './entries.ts';
import type { SharedNotice } from './notices.ts';

/** Account days that one statement checks. */
const DAYS_A_STATEMENT = 500;
const NUMBERS_NAMED_MAX = 3;

/**
 * Two entries are the same if all their booked values agree. Equal numbers alone may be the two sides of one
 * transfer.
 */
const isSame = sql`
  one.currency = other.currency AND one.booked_ms = other.booked_ms AND one.balance = other.balance
  AND one.credit IS NOT DISTINCT FROM other.credit AND one.debit IS NOT DISTINCT FROM other.debit`;

/**
 * Finds entries of these account days that another merchant has as well, by account. Each entry is found by its number,
 * so that it costs the same however many merchants there are. Nothing is searched if only one merchant has entries.
 */
export async function sharedEntries(
  db: Db,
  days: readonly AccountDayToCompare[],
  zone: string,
): Promise<SharedDay[]> {
  const found = new Map<string, SharedDay>();
  for (let from = 0; from < days.length; from += DAYS_A_STATEMENT)
    for (const one of await sharedOn(db, days.slice(from, from + DAYS_A_STATEMENT), zone))
      found.set([one.merchantNo, one.otherMerchantNo, one.currency, one.day].join(' '), one);
  return [...found.values()];
}

export interface SharedDay extends SharedNotice {
  /**
   * Of the two merchants, those of whom the entries may not be: the one that the platform no longer shows them for, else
   * the one whose day does not go on from its own day before. Both, where that tells them not apart.
   */
  readonly doubted: readonly string[];
}

/** The account days of merchants' days. */
export const accountDaysOf = (days: readonly UncomparedDay[]): AccountDayToCompare[] =>
  days.flatMap(({ merchantNo, day, currencies }) =>
    currencies.map((currency) => ({ merchantNo, currency, day })),
  );

interface AccountDayToCompare extends Account {
  readonly day: BusinessDay;
}

interface SharedRow {
  readonly merchant_no: string;
  readonly other_merchant_no: string;
  readonly currency: string;
  readonly day: BusinessDay;
  readonly count: number;
  readonly batch_nos: string[];
  readonly one_gone: boolean;
  readonly other_gone: boolean;
  readonly one_goes_on: boolean;
  readonly other_goes_on: boolean;
  readonly published: string[];
}

async function sharedOn(db: Db, days: readonly AccountDayToCompare[], zone: string): Promise<SharedDay[]> {
  const column = (value: (one: AccountDayToCompare) => string | number) => arrayLiteral(days.map(value));
  const rows = await rowsOf(db)<SharedRow>`
    WITH asked AS (
      SELECT * FROM unnest(
        ${column(({ merchantNo }) => merchantNo)}::text[],
        ${column(({ currency }) => currency)}::text[],
        ${column(({ day }) => day)}::date[],
        ${column(({ day }) => dayWindow(day, zone).beginMs)}::bigint[],
        ${column(({ day }) => dayWindow(day, zone).endMs)}::bigint[]
      ) AS asked (merchant_no, currency, day, begin_ms, end_ms)
      WHERE (SELECT min(merchant_no) FROM ledger_entry) < (SELECT max(merchant_no) FROM ledger_entry)
    ), shared AS MATERIALIZED (
      SELECT DISTINCT least(one.merchant_no, other.merchant_no) AS merchant_no,
        greatest(one.merchant_no, other.merchant_no) AS other_merchant_no, asked.currency, asked.day, one.batch_no
      FROM asked CROSS JOIN LATERAL (
        SELECT * FROM ledger_entry
        WHERE merchant_no = asked.merchant_no AND currency = asked.currency AND vanished_at IS NULL
          AND booked_ms BETWEEN asked.begin_ms AND asked.end_ms OFFSET 0
      ) AS one CROSS JOIN LATERAL (
        SELECT * FROM ledger_entry WHERE batch_no = one.batch_no AND booked_ms = one.booked_ms OFFSET 0
      ) AS other
      WHERE other.merchant_no <> one.merchant_no AND other.vanished_at IS NULL AND ${isSame}
    )
    SELECT found.*, ${goesOn('merchant_no')} AS one_goes_on, ${goesOn('other_merchant_no')} AS other_goes_on,
      ARRAY(
        SELECT DISTINCT merchant_no FROM statement
        WHERE merchant_no IN (found.merchant_no, found.other_merchant_no) AND currency = found.currency AND day = found.day
        ORDER BY merchant_no
      ) AS published
    FROM (SELECT merchant_no, other_merchant_no, currency, day, count(*) AS count,
      ${areGone('merchant_no')} AS one_gone, ${areGone('other_merchant_no')} AS other_gone,
      (array_agg(batch_no ORDER BY batch_no))[1:${sql.lit(NUMBERS_NAMED_MAX)}] AS batch_nos
    FROM shared GROUP BY merchant_no, other_merchant_no, currency, day) AS found`;
  return rows.map((row) => {
    const both = [row.merchant_no, row.other_merchant_no];
    const doubted =
      row.one_gone !== row.other_gone
        ? [both[row.one_gone ? 0 : 1]!]
        : row.one_goes_on !== row.other_goes_on
          ? [both[row.one_goes_on ? 1 : 0]!]
          : both;
    const published = row.published.filter((merchantNo) => doubted.includes(merchantNo));
    return {
      kind: 'shared',
      merchantNo: row.merchant_no,
      otherMerchantNo: row.other_merchant_no,
      currency: row.currency,
      day: row.day,
      figures: { count: row.count, batchNos: row.batch_nos, ...(published.length > 0 && { published }) },
      doubted,
    };
  });
}

/** Whether the platform no longer shows any of the day's shared entries for that merchant; they may be held. */
const areGone = (merchant: 'merchant_no' | 'other_merchant_no'): RawBuilder<boolean> => sql`bool_and(EXISTS (
  SELECT FROM absent_entry gone
  WHERE gone.merchant_no = ${sql.ref(`shared.${merchant}`)} AND gone.batch_no = shared.batch_no
))`;

/** Whether the day of a row `found` goes on without a break from the closing of the merchant's own day before. */
const goesOn = (merchant: 'merchant_no' | 'other_merchant_no'): RawBuilder<boolean> => sql`EXISTS (
  SELECT FROM account_day own
  WHERE own.merchant_no = ${sql.ref(`found.${merchant}`)} AND own.currency = found.currency AND own.day = found.day
    AND own.verdict <> 'broken' AND NOT own.restarted
    AND own.opening = (
      SELECT closing FROM account_day
      WHERE merchant_no = own.merchant_no AND currency = own.currency AND day < own.day ORDER BY day DESC LIMIT 1
    ))`;

/** Another merchant that has one of the entries stored, with all booked values equal; null if there is none. */
export async function merchantWith(
  db: Db,
  merchantNo: string,
  entries: readonly LedgerEntry[],
): Promise<{ readonly merchantNo: string; readonly batchNo: string } | null> {
  const column = (value: (entry: LedgerEntry) => string | number | null) => arrayLiteral(entries.map(value));
  const rows = await rowsOf(db)<{ merchant_no: string; batch_no: string }>`
    SELECT other.merchant_no, other.batch_no
    FROM unnest(
      ${column((entry) => entry.batchNo)}::text[], ${column((entry) => entry.currency)}::text[],
      ${column((entry) => entry.credit)}::numeric[], ${column((entry) => entry.debit)}::numeric[],
      ${column((entry) => entry.balance)}::numeric[], ${column((entry) => entry.bookedMs)}::bigint[]
    ) AS one (batch_no, currency, credit, debit, balance, booked_ms)
    JOIN ledger_entry other ON other.batch_no = one.batch_no AND ${isSame}
    WHERE other.merchant_no <> ${merchantNo} ORDER BY one.booked_ms, one.batch_no COLLATE "C", other.merchant_no LIMIT 1`;
  const found = rows[0];
  return found === undefined ? null : { merchantNo: found.merchant_no, batchNo: found.batch_no };
}

/** A merchant's day whose entries still have to be compared with those of other merchants. */
export interface UncomparedDay {
  readonly merchantNo: string;
  readonly day: BusinessDay;
  /** The accounts with entries of that day. */
  readonly currencies: readonly string[];
  /** Whether figures were made of these entries; before that, the day stays to be compared. */
  readonly chained: boolean;
  /** Of its certificate: entries that change after they were compared are compared again. */
  readonly changes: number;
}

export const uncomparedDays = (db: Db, merchants: readonly string[]) => rowsOf(db)<UncomparedDay>`
    SELECT merchant_no AS "merchantNo", day, chained, changes, (
      WITH RECURSIVE held (currency) AS (${heldCurrencies(sql`c.merchant_no`)})
      SELECT coalesce(json_agg(currency ORDER BY currency), '[]') FROM held
      WHERE ${isHeldOn(sql`c.merchant_no`, sql`held.currency`, sql`c.day`)}
    ) AS currencies
    FROM certificate c WHERE ${ofMerchants(merchants)} AND NOT compared ORDER BY day, merchant_no`;

export async function noteCompared(trx: Trx, days: readonly UncomparedDay[]): Promise<void> {
  for (const { merchantNo, day, changes } of days.filter(({ chained }) => chained))
    await trx
      .updateTable('certificate')
      .set({ compared: true })
      .where('merchant_no', '=', merchantNo)
      .where('day', '=', day)
      .where('changes', '=', changes)
      .execute();
}
