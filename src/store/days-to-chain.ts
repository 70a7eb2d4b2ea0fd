/**
 * Reads all that chaining a merchant's changed days mostly needs, in one statement: most nights nothing else is asked.
 *
 * It is read outside the transaction that writes. Only the holder of the lease writes these tables, but for `publish_due`,
 * which is not read here, and no write succeeds without the lease: what was read still holds when figures are written.
 */
import { sql, type Kysely } from 'kysely';
import type { Chosen } from '../ledger/account-filter.ts';
import type { Account, BusinessDay, Window } from '../ledger/entry.ts';
import {
  DAYS_BEFORE,
  DAYS_FROM,
  dayFigures,
  daysAround,
  figuredCurrencies,
  type DaysAround,
  type FigureRow,
} from './account-days.ts';
import { PROVEN_SPANS } from './certified-windows.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';
import { CHAIN_BATCH, chainEntriesOf, type ChainBatch, type FirstEntries } from './entries.ts';
import { firstWithBalance } from './ledger-past.ts';

/**
 * Entries are read of so many changed days of the merchant, and so many of each. Together they are no more than a batch
 * that the chain reads of a large day.
 */
const DAYS_MAX = 16;
export const ENTRIES_A_DAY_MAX = 300;
/** So many days after the last one with figures are looked at even if they have not changed: they may be proven to be empty. */
const QUIET_DAYS_MAX = 7;

export interface ToChainAsked {
  readonly merchantNo: string;
  /** Null for every currency. */
  readonly currencies: Chosen;
  /** Days whose entries are read if they changed or have no figures yet, in order, each with its window. */
  readonly days: readonly { readonly day: BusinessDay; readonly window: Window }[];
  /** Where certificates are read. */
  readonly within: Window;
}

/** An account with figures or with changed days. */
export interface AccountToChain {
  readonly account: Account;
  /** Days whose entries changed after their figures were made, in order. */
  readonly changed: readonly BusinessDay[];
  /** The last day with figures; null if there is none. */
  readonly last: BusinessDay | null;
  /** The stored days around the first changed day, or else around the last one. */
  readonly around: DaysAround;
  /** What is proven for the account inside `within`, as `certifiedWindows` says it. */
  readonly certified: readonly Window[];
  /** By day, the entries or the first of them. Days that are not in it were not read. */
  readonly entries: ReadonlyMap<BusinessDay, FirstEntries>;
  /** Those of the days asked for that hold entries by their figures. */
  readonly busy: readonly BusinessDay[];
  /** The account is one of those that `firstDaysWithBalance` names. */
  readonly opensOnBalance: boolean;
}

interface Row {
  readonly currency: string;
  readonly changed: BusinessDay[] | null;
  readonly last: BusinessDay | null;
  readonly first: BusinessDay;
  readonly around: FigureRow[] | null;
  readonly certified: [number, number][] | null;
  readonly entries: (ChainBatch & { readonly day: BusinessDay })[] | null;
  readonly busy: BusinessDay[] | null;
  readonly opens_on_balance: boolean;
}

/** A day's figures as JSON. Amounts are text in it, as a number of JSON would lose digits. */
const FIGURES = sql`json_build_object('currency', currency, 'day', day, 'opening', opening::text,
  'credit_total', credit_total::text, 'credit_count', credit_count, 'debit_total', debit_total::text,
  'debit_count', debit_count, 'closing', closing::text, 'verdict', verdict, 'break_count', break_count,
  'breaks_after', breaks_after, 'restarted', restarted, 'last_batch_no', last_batch_no,
  'last_booked_ms', last_booked_ms, 'other_closings', other_closings, 'clean_end', clean_end, 'jumps_in', jumps_in)`;

/** The merchant's accounts, in order of currency. Each part is found by an index, whatever else is stored. */
export async function daysToChain(db: Kysely<DB>, asked: ToChainAsked): Promise<AccountToChain[]> {
  const { merchantNo, currencies, days, within } = asked;
  const chosen = currencies === null ? null : arrayLiteral(currencies);
  const { rows } = await sql<Row>`
    WITH RECURSIVE figured (currency) AS (${figuredCurrencies(merchantNo)}
    ), changed AS MATERIALIZED (
      SELECT currency, day, row_number() OVER (ORDER BY currency, day) AS nth
      FROM changed_day WHERE merchant_no = ${merchantNo}
    ), part AS MATERIALIZED (
      SELECT * FROM unnest(
        ${arrayLiteral(days.map(({ day }) => day))}::date[],
        ${arrayLiteral(days.map(({ window }) => window.beginMs))}::bigint[],
        ${arrayLiteral(days.map(({ window }) => window.endMs))}::bigint[]
      ) AS part (day, begin_ms, end_ms)
    ), account AS MATERIALIZED (
      SELECT own.currency, own.changed, own.last, coalesce(own.first, own.last) AS first FROM (
        SELECT known.currency,
          (SELECT json_agg(day ORDER BY day) FROM changed WHERE changed.currency = known.currency) AS changed,
          (SELECT min(day) FROM changed WHERE changed.currency = known.currency) AS first,
          (SELECT day FROM account_day d WHERE d.merchant_no = ${merchantNo} AND d.currency = known.currency
           ORDER BY day DESC LIMIT 1) AS last
        FROM (SELECT currency FROM figured UNION SELECT currency FROM changed) AS known
        WHERE known.currency IS NOT NULL
          AND (${chosen}::text[] IS NULL OR known.currency = ANY (${chosen}::text[]))
      ) AS own
    )
    SELECT account.*,
      (SELECT json_agg(near.figures ORDER BY near.day) FROM (
        (SELECT day, ${FIGURES} AS figures FROM account_day
         WHERE merchant_no = ${merchantNo} AND currency = account.currency AND day < account.first
         ORDER BY day DESC LIMIT ${sql.lit(DAYS_BEFORE)})
        UNION ALL
        (SELECT day, ${FIGURES} AS figures FROM account_day
         WHERE merchant_no = ${merchantNo} AND currency = account.currency AND day >= account.first
         ORDER BY day LIMIT ${sql.lit(DAYS_FROM)})
      ) AS near) AS around,
      (SELECT json_agg(json_build_array(lower(span), upper(span) - 1) ORDER BY span)
       FROM (SELECT ${merchantNo}::text AS merchant_no, account.currency, ${within.beginMs}::bigint AS begin_ms,
         ${within.endMs}::bigint AS end_ms) AS asked CROSS JOIN LATERAL unnest(${PROVEN_SPANS}) AS span) AS certified,
      (SELECT json_agg(row_to_json(own)) FROM (
        SELECT part.day, batch.*
        FROM part LEFT JOIN changed ON changed.currency = account.currency AND changed.day = part.day
        CROSS JOIN LATERAL (
          SELECT ${CHAIN_BATCH} FROM (
            SELECT * FROM ledger_entry
            WHERE merchant_no = ${merchantNo} AND currency = account.currency AND vanished_at IS NULL
              AND booked_ms BETWEEN part.begin_ms AND part.end_ms
            ORDER BY booked_ms, batch_no LIMIT ${sql.lit(ENTRIES_A_DAY_MAX)}
          ) AS batch
        ) AS batch
        WHERE coalesce(changed.nth <= ${sql.lit(DAYS_MAX)},
          part.day BETWEEN account.last + 1 AND account.last + ${sql.lit(QUIET_DAYS_MAX)})
      ) AS own) AS entries,
      (SELECT json_agg(busy.day) FROM (SELECT min(day) AS from_day, max(day) AS to_day FROM part) AS days
       CROSS JOIN LATERAL (
         SELECT day FROM account_day
         WHERE merchant_no = ${merchantNo} AND currency = account.currency
           AND day BETWEEN days.from_day AND days.to_day AND credit_count + debit_count > 0 OFFSET 0
       ) AS busy) AS busy,
      EXISTS (${firstWithBalance(merchantNo)}) AS opens_on_balance
    FROM account ORDER BY account.currency`.execute(db);
  return rows.map((row) => accountToChain(merchantNo, row));
}

function accountToChain(merchantNo: string, row: Row): AccountToChain {
  const entries = new Map<BusinessDay, FirstEntries>();
  for (const batch of row.entries ?? []) {
    const read = chainEntriesOf(batch);
    if (read !== null) entries.set(batch.day, { entries: read, limit: ENTRIES_A_DAY_MAX });
  }
  return {
    account: { merchantNo, currency: row.currency },
    changed: row.changed ?? [],
    last: row.last,
    around: daysAround((row.around ?? []).map(dayFigures), row.first),
    certified: (row.certified ?? []).map(([beginMs, endMs]) => ({ beginMs, endMs })),
    entries,
    busy: row.busy ?? [],
    opensOnBalance: row.opens_on_balance,
  };
}
