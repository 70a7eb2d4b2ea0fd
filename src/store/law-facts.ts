/**
 * Reads what shows whether an account's proven days, its days with figures and its days with a current statement are the same
 * days. Days that are known to have figures without a gap are not read again, so it costs little however long the history is.
 */
import { sql, type Kysely } from 'kysely';
import type { Account, BusinessDay, Window } from '../ledger/entry.ts';
import { ALL_TIME } from '../ledger/window.ts';
import { EVERY_CURRENCY } from './account-filter.ts';
import { figuredCurrencies } from './account-days.ts';
import { PROVEN_SPANS } from './certified-windows.ts';
import { statedWithoutFigures } from './days-to-chain.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';
import { publishedAccounts } from './statements/statements.ts';

export interface LawFacts extends Account {
  /** The days with figures from the first place on where a gap may be, in order. */
  readonly figured: readonly BusinessDay[];
  /** Days without figures that have a current statement. */
  readonly stated: readonly BusinessDay[];
  /** Days without figures whose entries changed. */
  readonly changed: readonly BusinessDay[];
  /** Days with figures that no current statement has. */
  readonly unpublished: readonly BusinessDay[];
  /** Days with a statement near a span whose last reading failed, or in which entries are absent. */
  readonly doubted: readonly BusinessDay[];
  /** What is proven, in order. */
  readonly certified: readonly Window[];
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
    SELECT account.merchant_no AS "merchantNo", account.currency,
      (SELECT json_agg(day ORDER BY day) FROM account_day WHERE ${ofAccount} AND day BETWEEN account.since AND 'infinity') AS figured,
      (SELECT json_agg(day ORDER BY day) FROM (${statedWithoutFigures(merchantNo)}) AS bare) AS stated,
      (SELECT json_agg(day ORDER BY day) FROM changed_day AS changed WHERE ${ofAccount} AND NOT EXISTS (
        SELECT FROM account_day AS own
        WHERE (own.merchant_no, own.currency, own.day) = (changed.merchant_no, changed.currency, changed.day)
      )) AS changed,
      (SELECT json_agg(due.day ORDER BY due.day) FROM account_day AS due LEFT JOIN LATERAL (
        SELECT * FROM statement AS own
        WHERE (own.merchant_no, own.currency, own.day) = (due.merchant_no, due.currency, due.day)
        ORDER BY revision DESC LIMIT 1
      ) AS last ON true
      WHERE due.merchant_no = account.merchant_no AND due.currency = account.currency AND due.publish_due
        AND (last.opening, last.credit_total, last.credit_count, last.debit_total, last.debit_count, last.closing)
          IS DISTINCT FROM (due.opening, due.credit_total, due.credit_count, due.debit_total, due.debit_count, due.closing)
      ) AS unpublished,
      (SELECT json_agg(DISTINCT own.day) FROM (
         SELECT begin_ms, end_ms FROM sync_window
         WHERE merchant_no = account.merchant_no AND certified_at IS NULL
           AND currency IN (${EVERY_CURRENCY}, account.currency) AND account.currency <> ALL (proven_currencies)
         UNION ALL SELECT begin_ms, end_ms FROM absent_entry WHERE ${ofAccount}
       ) AS open JOIN account_day AS own ON ${ofAccount} AND own.revision IS NOT NULL
         AND own.day BETWEEN to_timestamp(open.begin_ms / 1000)::date - 1 AND to_timestamp(open.end_ms / 1000)::date + 1
      ) AS doubted,
      (SELECT json_agg(json_build_array(lower(span), upper(span) - 1) ORDER BY span)
       FROM (SELECT account.*) AS asked CROSS JOIN LATERAL unnest(${PROVEN_SPANS}) AS span) AS certified
    FROM account ORDER BY account.merchant_no, account.currency`.execute(db);
  return rows.map(({ figured, stated, changed, unpublished, doubted, certified, ...account }) => ({
    ...account,
    figured: figured ?? [],
    stated: stated ?? [],
    changed: changed ?? [],
    unpublished: unpublished ?? [],
    doubted: doubted ?? [],
    certified: (certified ?? []).map(([beginMs, endMs]) => ({ beginMs, endMs })),
  }));
}

interface FactRow extends Account {
  readonly figured: BusinessDay[] | null;
  readonly stated: BusinessDay[] | null;
  readonly changed: BusinessDay[] | null;
  readonly unpublished: BusinessDay[] | null;
  readonly doubted: BusinessDay[] | null;
  readonly certified: (readonly [number, number])[] | null;
}
