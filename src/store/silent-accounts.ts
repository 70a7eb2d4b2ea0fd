/** Accounts that are silent for longer than ever before: stored so that their days are not proven, until that ends. */
import { sql, type RawBuilder } from 'kysely';
import type { AccountFilter, Chosen } from '../ledger/account-filter.ts';
import type { Account, BusinessDay, Window } from '../ledger/entry.ts';
import { HABIT_DAYS, SILENT_DAYS_MAX, TAIL_MS_MIN, type Silence } from '../ledger/silence.ts';
import { ofAccounts, ofMerchants } from './account-filter.ts';
import { type Db, rowsOf, type Trx } from './engine/database.ts';
import { heldCurrencies } from './entries.ts';

/** Of `silent_account`: those that keep days from being proven. */
export const IS_SILENT: RawBuilder<boolean> = sql`accepted_at IS NULL`;

export interface SilentAccount extends Account, Pick<Silence, 'newestDay' | 'days' | 'longest'> {
  /** By the platform's clock, to the second. */
  readonly newestEntry: string;
  /** Until when entries came at least on such days before, as `HH:MM`; null unless the newest day ends too early. */
  readonly usualUntil: string | null;
  /** Whether no account of the merchant has a newer entry, and that is what is odd. */
  readonly isOfAll: boolean;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly since: Date;
}

/** Those that no person has accepted. */
export const silentAccounts = (db: Db, merchants: Chosen, zone: string) => rowsOf(db)<SilentAccount>`
    SELECT merchant_no AS "merchantNo", currency, newest_day AS "newestDay", silent_days AS days, longest_days AS longest,
      to_char(to_timestamp(newest_ms / 1000) AT TIME ZONE ${zone}, 'YYYY-MM-DD HH24:MI:SS') AS "newestEntry",
      to_char((newest_day + 1)::timestamp - usual_tail_ms * interval '1 ms', 'HH24:MI') AS "usualUntil", is_of_all AS "isOfAll",
      (to_timestamp(begin_ms / 1000) AT TIME ZONE ${zone})::date AS from,
      (to_timestamp(end_ms / 1000) AT TIME ZONE ${zone})::date AS to, noticed_at AS since
    FROM silent_account WHERE ${ofMerchants(merchants)} AND ${IS_SILENT} ORDER BY 1, 2`;

export async function merchantsWithSilent(db: Db, merchants: readonly string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('silent_account')
    .select('merchant_no')
    .distinct()
    .where(ofMerchants(merchants))
    .execute();
  return new Set(rows.map((row) => row.merchant_no));
}

export interface QuietAccount {
  readonly currency: string;
  /** When its newest entry was booked. */
  readonly newestMs: number;
  /** Whether a person accepted that nothing was booked in it. */
  readonly isAccepted: boolean;
  readonly days: readonly {
    readonly day: BusinessDay;
    readonly count: number;
    readonly lastMs: number | null;
  }[];
}

/** The merchant's accounts, with their days that have entries; without days where a newer entry shows that the account is not silent. */
export const quietAccounts = (
  db: Db,
  merchantNo: string,
  { endMs, through }: { readonly endMs: number; readonly through: BusinessDay },
) => rowsOf(db)<QuietAccount>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT held.currency, newest.booked_ms AS "newestMs", EXISTS (
      SELECT FROM silent_account
      WHERE merchant_no = ${merchantNo} AND currency = held.currency AND accepted_at IS NOT NULL
    ) AS "isAccepted", (
      SELECT coalesce(json_agg(json_build_object(
        'day', day, 'count', credit_count + debit_count, 'lastMs', last_booked_ms)), '[]')
      FROM account_day
      WHERE merchant_no = ${merchantNo} AND currency = held.currency AND credit_count + debit_count > 0
        AND day BETWEEN ${through}::date - ${sql.lit(HABIT_DAYS + SILENT_DAYS_MAX)} AND ${through}
        AND newest.booked_ms <= ${endMs}::bigint - ${sql.lit(TAIL_MS_MIN)}
    ) AS days
    FROM held CROSS JOIN LATERAL (
      SELECT booked_ms FROM ledger_entry
      WHERE merchant_no = ${merchantNo} AND currency = held.currency AND vanished_at IS NULL
      ORDER BY booked_ms DESC LIMIT 1
    ) AS newest`;

/** A silence, and from when to when the account is not proven. */
export type SilentNow = Silence & Window & Pick<QuietAccount, 'newestMs'> & Pick<SilentAccount, 'isOfAll'>;

/** Stores the silent accounts of the merchant, in place of those known before. What was accepted stays so while it lasts. */
export async function storeSilent(
  trx: Trx,
  merchantNo: string,
  silent: ReadonlyMap<string, SilentNow>,
  now: Date,
): Promise<void> {
  await sql`
    DELETE FROM silent_account
    WHERE merchant_no = ${merchantNo} AND currency <> ALL (${sql.val([...silent.keys()])}::text[])`.execute(
    trx,
  );
  for (const [
    currency,
    { newestDay, newestMs, usualTailMs, days, longest, isOfAll, beginMs, endMs },
  ] of silent)
    await sql`
      INSERT INTO silent_account AS known (merchant_no, currency, begin_ms, end_ms, newest_day, newest_ms, usual_tail_ms,
        silent_days, longest_days, is_of_all, noticed_at)
      VALUES (${merchantNo}, ${currency}, ${beginMs}, ${endMs}, ${newestDay}, ${newestMs}, ${usualTailMs}, ${days}, ${longest}, ${isOfAll}, ${now})
      ON CONFLICT (merchant_no, currency) DO UPDATE SET
        begin_ms = excluded.begin_ms, end_ms = excluded.end_ms, newest_day = excluded.newest_day,
        newest_ms = excluded.newest_ms, usual_tail_ms = excluded.usual_tail_ms,
        silent_days = excluded.silent_days, longest_days = excluded.longest_days, is_of_all = excluded.is_of_all,
        noticed_at = CASE WHEN known.newest_ms = excluded.newest_ms THEN known.noticed_at ELSE excluded.noticed_at END,
        -- That a day ended early says nothing of empty days.
        accepted_at = CASE WHEN known.newest_ms = excluded.newest_ms AND (known.silent_days > 0 OR excluded.silent_days = 0)
          THEN known.accepted_at END`.execute(trx);
}

/**
 * Takes off what is over: a newer entry came, of any account where all were silent together, or the silence up to `through` is long enough to be believed.
 * To be called before the days get figures, as only proven ones do.
 */
export async function endSilences(trx: Trx, merchantNo: string, through: BusinessDay): Promise<void> {
  await sql`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    DELETE FROM silent_account AS silent
    WHERE merchant_no = ${merchantNo} AND (newest_day + ${sql.lit(SILENT_DAYS_MAX)} < ${through}::date OR EXISTS (
      SELECT FROM held JOIN ledger_entry e ON e.merchant_no = silent.merchant_no AND e.currency = held.currency
      WHERE (is_of_all OR e.currency = silent.currency) AND e.vanished_at IS NULL AND e.booked_ms > newest_ms
    ))`.execute(trx);
}

/** Accepts that nothing was booked in these accounts. Returns those that waited for it. */
export const acceptSilent = (trx: Trx, accounts: AccountFilter, now: Date) => rowsOf(trx)<Account>`
    UPDATE silent_account SET accepted_at = ${now} WHERE ${ofAccounts(accounts)} AND ${IS_SILENT}
    RETURNING merchant_no AS "merchantNo", currency`;
