/** Finds one change of the platform's over many of a merchant's entries, in what a run found. */
import { commonChange, MANY_MIN, type CommonChange } from '../ledger/common-change.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { listAmendments } from './amendments.ts';
import { movedBalancesOf, type MovedBalances } from './entry-history.ts';
import { type Db, rowOf } from './engine/database.ts';

/** Most amendments of a run that are compared. A change of all entries shows in fewer. */
const COMPARED_MAX = 1_000;

export interface MerchantCommonChange extends CommonChange {
  readonly merchantNo: string;
  readonly of: number;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

export interface ChangesTogether {
  readonly common: MerchantCommonChange | null;
  readonly moved: readonly MovedBalances[];
}

/** What this run found to have changed for the merchant's entries together. `amended`: how many amendments it found. */
export async function changesTogether(
  db: Db,
  merchantNo: string,
  { runId, amended }: { readonly runId: number; readonly amended: number },
): Promise<ChangesTogether> {
  const amendments =
    amended === 0
      ? []
      : await listAmendments(db, { merchants: [merchantNo], currencies: null, runId, limit: COMPARED_MAX });
  const moved = await movedBalancesOf(db, merchantNo, runId, amendments);
  if (moved.length > 0) return { common: null, moved };
  const found = commonChange(amendments);
  if (found === null) return { common: await vanishedTogether(db, merchantNo, runId), moved };
  const days = amendments.map(({ before }) => before.bookedAt.slice(0, 10)).sort();
  const common = { merchantNo, ...found, of: amendments.length, from: days[0]!, to: days.at(-1)! };
  return { common, moved };
}

interface VanishedCounts {
  readonly gone: number;
  /** Those whose content another number has now. */
  readonly renumbered: number;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly currencies: readonly string[];
  /** The currencies of which the platform still shows an entry of that time or later. */
  readonly laterIn: readonly string[];
}

/**
 * Entries that are absent, or vanished in this run. Goes by ledger_entry_vanished, absent_entry's key and
 * ledger_entry_in_time.
 */
async function vanishedTogether(
  db: Db,
  merchantNo: string,
  runId: number,
): Promise<MerchantCommonChange | null> {
  const { gone, renumbered, from, to, currencies, laterIn } = await rowOf(db)<VanishedCounts>`
    WITH gone AS MATERIALIZED (
      SELECT e.* FROM ledger_entry AS e
      WHERE e.merchant_no = ${merchantNo} AND e.vanished_at >= (SELECT started_at FROM run WHERE id = ${runId})
      UNION ALL
      SELECT e.* FROM absent_entry AS a JOIN ledger_entry AS e USING (merchant_no, batch_no)
      WHERE a.merchant_no = ${merchantNo} AND e.vanished_at IS NULL
      LIMIT ${COMPARED_MAX}
    )
    SELECT count(*) AS gone, count(twin.is_there) AS renumbered, min(booked_at)::date AS from, max(booked_at)::date AS to,
      array_agg(DISTINCT gone.currency) AS currencies,
      ARRAY (
        SELECT account.currency
        FROM (SELECT DISTINCT currency FROM account_day WHERE merchant_no = ${merchantNo}) AS account CROSS JOIN LATERAL (
          SELECT FROM ledger_entry AS e
          WHERE e.merchant_no = ${merchantNo} AND e.currency = account.currency AND e.vanished_at IS NULL
            AND e.booked_ms >= (SELECT min(booked_ms) FROM gone)
            AND NOT EXISTS (SELECT FROM absent_entry AS a WHERE (a.merchant_no, a.batch_no) = (e.merchant_no, e.batch_no))
          LIMIT 1
        ) AS later
      ) AS "laterIn"
    FROM gone LEFT JOIN LATERAL (
      SELECT true AS is_there FROM ledger_entry AS e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = gone.currency AND e.booked_ms = gone.booked_ms
        AND e.vanished_at IS NULL AND e.batch_no <> gone.batch_no AND e.balance = gone.balance
        AND (e.credit, e.debit) IS NOT DISTINCT FROM (gone.credit, gone.debit)
        AND e.first_seen_at > gone.first_seen_at
      LIMIT 1
    ) AS twin ON true`;
  if (gone < MANY_MIN) return null;
  const found = { merchantNo, of: gone, from, to };
  if (renumbered >= gone / 2)
    return {
      ...found,
      count: renumbered,
      what: 'have another number now, with the same content: they were renumbered',
    };
  if (currencies.some((currency) => laterIn.includes(currency))) return null;
  const what =
    laterIn.length === 0
      ? 'are no longer shown, and nothing of that time or later is: an older state is answered'
      : `are no longer shown, and nothing in ${currencies.join(', ')} of that time or later is, though it is in ${laterIn.join(', ')}`;
  return { ...found, count: gone, what };
}
