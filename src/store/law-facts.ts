/**
 * Reads what shows whether an account's proven days, its days with figures and its days with a current statement are the same
 * days. Days that are known to have figures without a gap are not read again, so it costs little however long the history is.
 */
import { sql, type Kysely } from 'kysely';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { ALL_TIME } from '../ledger/window.ts';
import { EVERY_CURRENCY } from './account-filter.ts';
import { figuredCurrencies } from './account-days.ts';
import {
  chainFactColumns,
  statedWithoutFigures,
  windowsOf,
  type ChainFacts,
  type ChainFactsRow,
} from './chain-facts.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';
import { publishedAccounts } from './statements/statements.ts';

export interface LawFacts extends Account, ChainFacts {
  /** Days with figures whose current statement was not made of these and of their entries; or they have none. */
  readonly unpublished: readonly BusinessDay[];
  /** Days with a statement near a span whose last reading failed, or in which entries are absent and not held. */
  readonly doubted: readonly BusinessDay[];
}

/** One row for each account of these merchants, by merchant and currency, in one statement. */
export async function lawFacts(db: Kysely<DB>, merchants: readonly string[]): Promise<LawFacts[]> {
  const merchantNo = sql`account.merchant_no`;
  const ofAccount = sql`merchant_no = account.merchant_no AND currency = account.currency`;
  const { rows } = await sql<FactRow>`
    WITH asked AS (SELECT unnest(${arrayLiteral(merchants)}::text[]) COLLATE "C" AS merchant_no),
    known AS (
      SELECT asked.merchant_no, own.currency FROM asked CROSS JOIN LATERAL (
        WITH RECURSIVE figured (currency) AS (${figuredCurrencies(sql`asked.merchant_no`)}),
        ${publishedAccounts(sql`asked.merchant_no`, 'published')}
        SELECT currency FROM figured WHERE currency IS NOT NULL UNION SELECT currency FROM published
        UNION SELECT currency FROM changed_day WHERE merchant_no = asked.merchant_no
      ) AS own
    ),
    account AS MATERIALIZED (
      SELECT known.*, first.day AS begun,
        CASE WHEN gapless.from_day = first.day THEN gapless.through_day ELSE first.day END AS since,
        ${ALL_TIME.beginMs}::bigint AS begin_ms, ${ALL_TIME.endMs}::bigint AS end_ms
      FROM known LEFT JOIN figured_days AS gapless USING (merchant_no, currency) LEFT JOIN LATERAL (
        SELECT day FROM account_day WHERE merchant_no = known.merchant_no AND currency = known.currency
        ORDER BY day LIMIT 1
      ) AS first ON true
    )
    SELECT account.merchant_no AS "merchantNo", account.currency, account.begun,
      ${chainFactColumns(merchantNo)},
      (SELECT json_agg(day ORDER BY day) FROM (${statedWithoutFigures(merchantNo)}) AS bare) AS stated,
      (SELECT json_agg(day ORDER BY day) FROM changed_day WHERE ${ofAccount}) AS changed,
      (SELECT json_agg(due.day ORDER BY due.day) FROM account_day AS due
       WHERE due.merchant_no = account.merchant_no AND due.currency = account.currency
         AND due.is_due AND due.published_hash IS DISTINCT FROM due.content_hash) AS unpublished,
      (SELECT json_agg(DISTINCT own.day) FROM (
         SELECT begin_ms, end_ms FROM sync_window
         WHERE merchant_no = account.merchant_no AND certified_at IS NULL
           AND currency IN (${EVERY_CURRENCY}, account.currency) AND account.currency <> ALL (proven_currencies)
         UNION ALL SELECT begin_ms, end_ms FROM absent_entry WHERE ${ofAccount} AND held_since IS NULL
       ) AS open JOIN account_day AS own ON ${ofAccount} AND own.revision IS NOT NULL
         AND own.day BETWEEN to_timestamp(open.begin_ms / 1000)::date - 1 AND to_timestamp(open.end_ms / 1000)::date + 1
      ) AS doubted
    FROM account ORDER BY account.merchant_no, account.currency`.execute(db);
  return rows.map(({ figured, stated, changed, derived, unpublished, doubted, certified, ...account }) => ({
    ...account,
    figured: figured ?? [],
    stated: stated ?? [],
    changed: changed ?? [],
    derived: derived ?? [],
    unpublished: unpublished ?? [],
    doubted: doubted ?? [],
    certified: windowsOf(certified),
  }));
}

interface FactRow extends Account, ChainFactsRow {
  readonly stated: BusinessDay[] | null;
  readonly changed: BusinessDay[] | null;
  readonly unpublished: BusinessDay[] | null;
  readonly doubted: BusinessDay[] | null;
}
