/** Compares published openings with the closings published before them, for many days in one query. */
import { sql, type Kysely } from 'kysely';
import type { AccountFilter } from '../../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { ofAccounts } from '../account-filter.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';

export interface AccountOnDay {
  readonly account: Account;
  readonly day: BusinessDay;
}

/**
 * A current statement that does not continue the account's statement before it: the opening differs from that
 * closing, or was taken from the day's own first entry.
 */
export interface LooseOpening extends AccountOnDay {
  readonly opening: string;
  /** The opening was taken from the day's first entry. */
  readonly restarted: boolean;
  readonly previousDay: BusinessDay;
  readonly previousClosing: string;
}

/** Days of some accounts, both ends included. */
export interface DaysOfAccounts extends AccountFilter {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

/** The days asked about, as rows `(merchant_no, currency, day)`. */
const asked = (days: readonly AccountOnDay[]) => sql`
  SELECT DISTINCT asked.merchant_no, asked.currency, asked.day
  FROM unnest(
    ${arrayLiteral(days.map(({ account }) => account.merchantNo))}::text[],
    ${arrayLiteral(days.map(({ account }) => account.currency))}::text[],
    ${arrayLiteral(days.map(({ day }) => day))}::date[]
  ) AS asked (merchant_no, currency, day)`;

/** The published ones of these days, as such rows. */
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

/**
 * Finds loose openings among `days`, among the published days of `within`, and among the account's next published day
 * after each of these. An account's first statement has none before it and is never loose.
 *
 * ### Example
 * The statement of 4 March closes on 70.00 and the one of 5 March opens on 65.00: the day of 5 March is returned.
 */
export async function looseOpenings(
  db: Kysely<DB>,
  days: readonly AccountOnDay[],
  within: DaysOfAccounts | null = null,
): Promise<LooseOpening[]> {
  if (days.length === 0 && within === null) return [];
  const all = within === null ? asked(days) : sql`${asked(days)} UNION ${publishedOf(within)}`;
  const { rows } = await sql<{
    merchant_no: string;
    currency: string;
    day: BusinessDay;
    opening: string;
    restarted: boolean;
    previous_day: BusinessDay;
    previous_closing: string;
  }>`
    WITH asked AS (${all}), checked_at AS (SELECT * FROM asked UNION ${dayAfterEach})
    SELECT checked_at.merchant_no, checked_at.currency, checked_at.day, own.opening, own.restarted,
      earlier.day AS previous_day, earlier.closing AS previous_closing
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
    ORDER BY checked_at.merchant_no, checked_at.currency, checked_at.day`.execute(db);
  return rows.map((row) => ({
    account: { merchantNo: row.merchant_no, currency: row.currency },
    day: row.day,
    opening: row.opening,
    restarted: row.restarted,
    previousDay: row.previous_day,
    previousClosing: row.previous_closing,
  }));
}
