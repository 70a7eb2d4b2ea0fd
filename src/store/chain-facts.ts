/** What shows which days of an account have up-to-date figures. Days known to have figures without a gap are not read again. */
import { sql, type RawBuilder } from 'kysely';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { PROVEN_SPANS } from './certified-windows.ts';

/** All days are in order. */
export interface ChainFacts {
  /** Days whose entries are not those that their figures were made of. */
  readonly changed: readonly BusinessDay[];
  /** The account's first day with figures; null if there is none. */
  readonly begun: BusinessDay | null;
  /** The days with figures from the first place on where a gap may be. Before it, every day from `begun` on has some. */
  readonly figured: readonly BusinessDay[];
  /** Days without figures that have a current statement. */
  readonly stated: readonly BusinessDay[];
  /** Days after the account's first one whose opening was taken from their own first entry, as the day before was not known. */
  readonly derived: readonly BusinessDay[];
  /** What is proven, in order. */
  readonly certified: readonly Window[];
}

/** The columns of such facts. */
export interface ChainFactsRow {
  readonly begun: BusinessDay | null;
  readonly figured: BusinessDay[] | null;
  readonly derived: BusinessDay[] | null;
  readonly certified: [number, number][] | null;
}

/**
 * Columns about a row `account (currency, begun, since, begin_ms, end_ms)` of a merchant: `begun` is the account's first day with
 * figures, `since` the first one after which a gap may be, the others where certificates are read. OFFSET 0
 * keeps the planner from any index but account_day_restarted.
 */
export const chainFactColumns = (merchantNo: string | RawBuilder<unknown>): RawBuilder<unknown> => {
  const ofAccount = sql`merchant_no = ${merchantNo} AND currency = account.currency`;
  return sql`
      (SELECT json_agg(day ORDER BY day) FROM account_day
       WHERE ${ofAccount} AND day BETWEEN account.since AND 'infinity') AS figured,
      (SELECT json_agg(day ORDER BY day) FROM (
         SELECT currency, day FROM account_day WHERE merchant_no = ${merchantNo} AND restarted OFFSET 0
       ) AS one WHERE currency = account.currency AND day > account.begun) AS derived,
      (SELECT json_agg(json_build_array(lower(span), upper(span) - 1) ORDER BY span)
       FROM (SELECT ${merchantNo}::text AS merchant_no, account.currency, account.begin_ms, account.end_ms) AS asked
       CROSS JOIN LATERAL unnest(${PROVEN_SPANS}) AS span) AS certified`;
};

export const windowsOf = (spans: ChainFactsRow['certified']): Window[] =>
  (spans ?? []).map(([beginMs, endMs]) => ({ beginMs, endMs }));

/** The days with a statement and without figures of such a row. From `begun` to `since` every day has figures, so it reads nothing there. */
export const statedWithoutFigures = (merchantNo: string | RawBuilder<unknown>): RawBuilder<unknown> => {
  const outside = (table: 'statement' | 'account_day', days: RawBuilder<unknown>) => sql`
    SELECT day FROM ${sql.table(table)}
    WHERE merchant_no = ${merchantNo} AND currency = account.currency AND ${days}`;
  const before = sql`day < coalesce(account.begun, 'infinity')`;
  // An upper end as well lets the planner expect few rows.
  const after = sql`day > account.since AND day < 'infinity'`;
  return sql`(${outside('statement', before)} UNION ALL ${outside('statement', after)}) EXCEPT ${outside('account_day', after)}`;
};
