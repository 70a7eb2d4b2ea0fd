/** Accounts that are silent for longer than ever before: stored so that their days are not proven, until that ends. */
import { sql, type RawBuilder } from 'kysely';
import type { AccountFilter, Chosen } from '../ledger/account-filter.ts';
import type { Account, BusinessDay, Window } from '../ledger/entry.ts';
import { SILENT_DAYS_MAX, type Silence } from '../ledger/silence.ts';
import { ofAccounts, ofMerchants } from './account-filter.ts';
import { type Db, rowsOf, type Trx } from './engine/database.ts';

/** Of `silent_account`: those that keep days from being proven. */
export const IS_SILENT: RawBuilder<boolean> = sql`accepted_at IS NULL`;

export interface SilentAccount extends Account, Pick<Silence, 'newestDay' | 'days' | 'longest'> {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly since: Date;
}

/** Those that no person has accepted. */
export const silentAccounts = (db: Db, merchants: Chosen, zone: string) => rowsOf(db)<SilentAccount>`
    SELECT merchant_no AS "merchantNo", currency, newest_day AS "newestDay", silent_days AS days, longest_days AS longest,
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

/** Stores the silent accounts of the merchant, in place of those known before. What was accepted stays so while it lasts. */
export async function storeSilent(
  trx: Trx,
  merchantNo: string,
  silent: ReadonlyMap<string, Silence & Window>,
  now: Date,
): Promise<void> {
  await sql`
    DELETE FROM silent_account
    WHERE merchant_no = ${merchantNo} AND currency <> ALL (${sql.val([...silent.keys()])}::text[])`.execute(
    trx,
  );
  for (const [currency, { newestDay, days, longest, beginMs, endMs }] of silent)
    await sql`
      INSERT INTO silent_account AS known (merchant_no, currency, begin_ms, end_ms, newest_day, silent_days, longest_days, noticed_at)
      VALUES (${merchantNo}, ${currency}, ${beginMs}, ${endMs}, ${newestDay}, ${days}, ${longest}, ${now})
      ON CONFLICT (merchant_no, currency) DO UPDATE SET
        begin_ms = excluded.begin_ms, end_ms = excluded.end_ms, newest_day = excluded.newest_day,
        silent_days = excluded.silent_days, longest_days = excluded.longest_days,
        noticed_at = CASE WHEN known.newest_day = excluded.newest_day THEN known.noticed_at ELSE excluded.noticed_at END,
        accepted_at = CASE WHEN known.newest_day = excluded.newest_day THEN known.accepted_at END`.execute(
      trx,
    );
}

/**
 * Takes off what is over: an entry came after the silence began, or the silence up to `through` is long enough to be believed.
 * To be called before the days get figures, as only proven ones do.
 */
export async function endSilences(
  trx: Trx,
  merchantNo: string,
  { through, zone }: { readonly through: BusinessDay; readonly zone: string },
): Promise<void> {
  await sql`
    DELETE FROM silent_account AS silent
    WHERE merchant_no = ${merchantNo} AND (newest_day + ${sql.lit(SILENT_DAYS_MAX)} < ${through}::date OR EXISTS (
      SELECT FROM ledger_entry e
      WHERE e.merchant_no = silent.merchant_no AND e.currency = silent.currency AND e.vanished_at IS NULL
        AND e.booked_ms >= extract(epoch FROM (newest_day + 1)::timestamp AT TIME ZONE ${zone})::bigint * 1000
    ))`.execute(trx);
}

/** Accepts that nothing was booked in these accounts. Returns those that waited for it. */
export const acceptSilent = (trx: Trx, accounts: AccountFilter, now: Date) => rowsOf(trx)<Account>`
    UPDATE silent_account SET accepted_at = ${now} WHERE ${ofAccounts(accounts)} AND ${IS_SILENT}
    RETURNING merchant_no AS "merchantNo", currency`;
