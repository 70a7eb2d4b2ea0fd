/** What is held: stored entries of which so many are gone at once that only a person makes daybook believe it. */
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import type { AccountFilter, Chosen } from '../ledger/account-filter.ts';
import type { Account, BusinessDay, Window } from '../ledger/entry.ts';
import { ofAccounts, ofMerchants } from './account-filter.ts';
import type { DB } from './engine/schema.ts';

/** What is held of a day of an account. */
export interface HeldDay extends Account {
  readonly day: BusinessDay;
  readonly entries: number;
  /** When it was found first. */
  readonly since: Date;
  /** When a person accepted all of it, so that the next reading that misses it marks it as vanished; null before. */
  readonly acceptedAt: Date | null;
}

/** In order of merchants, currencies and days. The table holds only what the last readings left open. */
export async function heldDaysOf(db: Kysely<DB>, merchants: Chosen): Promise<HeldDay[]> {
  const { rows } = await sql<HeldDay>`
    SELECT merchant_no AS "merchantNo", currency, ${DAY_OF_ABSENT} AS day, count(*) AS entries, min(held_since) AS since,
      CASE WHEN bool_and(accepted_at IS NOT NULL) THEN max(accepted_at) END AS "acceptedAt"
    FROM absent_entry WHERE ${ofMerchants(merchants)} AND held_since IS NOT NULL
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`.execute(db);
  return rows;
}

/** The planned windows of which entries are absent, held or not, by merchant. Merchants without any are left out. */
export async function absentWindowsOf(
  db: Kysely<DB>,
  merchants: readonly string[],
): Promise<ReadonlyMap<string, readonly Window[]>> {
  const rows = await db
    .selectFrom('absent_entry')
    .select(['merchant_no as merchantNo', 'begin_ms as beginMs', 'end_ms as endMs'])
    .distinct()
    .where(sql<boolean>`${ofMerchants(merchants)}`)
    .execute();
  return Map.groupBy(rows, ({ merchantNo }) => merchantNo);
}

/** Days of accounts; an end that is undefined is open. */
export interface HeldFilter extends AccountFilter {
  readonly from: BusinessDay | undefined;
  readonly to: BusinessDay | undefined;
}

/**
 * Accepts what is held of these days and no one has accepted yet: the next reading that misses it marks it as vanished.
 * Returns what was accepted, day by day.
 */
export async function acceptHeld(
  trx: Transaction<DB>,
  { from, to, ...accounts }: HeldFilter,
  now: Date,
): Promise<Omit<HeldDay, 'acceptedAt'>[]> {
  const { rows } = await sql<Omit<HeldDay, 'acceptedAt'>>`
    WITH accepted AS (
      UPDATE absent_entry SET accepted_at = ${now}
      WHERE ${ofAccounts(accounts)} AND held_since IS NOT NULL AND accepted_at IS NULL
        AND ${DAY_OF_ABSENT} BETWEEN ${from ?? '-infinity'}::date AND ${to ?? 'infinity'}::date
      RETURNING merchant_no, currency, ${DAY_OF_ABSENT} AS day, held_since
    )
    SELECT merchant_no AS "merchantNo", currency, day, count(*) AS entries, min(held_since) AS since
    FROM accepted GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`.execute(trx);
  return rows;
}

/** The business day of a row of `absent_entry`, from the entry. */
const DAY_OF_ABSENT: RawBuilder<BusinessDay> = sql`(
  SELECT booked_at::date FROM ledger_entry e
  WHERE e.merchant_no = absent_entry.merchant_no AND e.batch_no = absent_entry.batch_no
)`;
