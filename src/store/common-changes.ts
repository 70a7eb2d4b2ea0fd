/** Finds one change of the platform's over many of a merchant's entries, in what a run found. */
import { sql, type Kysely } from 'kysely';
import { commonChange, MANY_MIN, type CommonChange } from '../ledger/common-change.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { listAmendments } from './amendments.ts';
import type { DB } from './engine/schema.ts';

/** Most amendments of a run that are compared. A change of all entries shows in fewer. */
const COMPARED_MAX = 1_000;

export interface MerchantCommonChange extends CommonChange {
  readonly merchantNo: string;
  /** How many entries of the merchant changed in any way. */
  readonly of: number;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

/**
 * What this run found to have changed for many of the merchant's entries at once; null if nothing. `amended`: how many
 * amendments it found.
 */
export async function commonChangeOf(
  db: Kysely<DB>,
  merchantNo: string,
  { runId, amended }: { readonly runId: number; readonly amended: number },
): Promise<MerchantCommonChange | null> {
  const amendments =
    amended < MANY_MIN
      ? []
      : await listAmendments(db, { merchants: [merchantNo], currencies: null, runId, limit: COMPARED_MAX });
  const found = commonChange(amendments);
  if (found === null) return await goneTogether(db, merchantNo, runId);
  const days = amendments.map(({ before }) => before.bookedAt.slice(0, 10)).sort();
  return { merchantNo, ...found, of: amendments.length, from: days[0]!, to: days.at(-1)! };
}

interface Gone {
  readonly gone: number;
  /** Those whose content another number has now. */
  readonly renumbered: number;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  /** The platform still shows an entry of that time or later. */
  readonly hasLater: boolean;
}

/**
 * Entries that are absent, or vanished in this run. Goes by ledger_entry_vanished, absent_entry's key and
 * ledger_entry_in_time.
 */
async function goneTogether(
  db: Kysely<DB>,
  merchantNo: string,
  runId: number,
): Promise<MerchantCommonChange | null> {
  const { rows } = await sql<Gone>`
    WITH gone AS MATERIALIZED (
      SELECT e.* FROM ledger_entry AS e
      WHERE e.merchant_no = ${merchantNo} AND e.vanished_at >= (SELECT started_at FROM run WHERE id = ${runId})
      UNION ALL
      SELECT e.* FROM absent_entry AS a JOIN ledger_entry AS e USING (merchant_no, batch_no)
      WHERE a.merchant_no = ${merchantNo} AND e.vanished_at IS NULL
      LIMIT ${COMPARED_MAX}
    )
    SELECT count(*) AS gone, count(twin.is_there) AS renumbered, min(booked_at)::date AS from, max(booked_at)::date AS to,
      EXISTS (
        SELECT FROM (SELECT DISTINCT currency FROM gone) AS held CROSS JOIN LATERAL (
          SELECT FROM ledger_entry AS e
          WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
            AND e.booked_ms >= (SELECT min(booked_ms) FROM gone)
            AND NOT EXISTS (SELECT FROM absent_entry AS a WHERE (a.merchant_no, a.batch_no) = (e.merchant_no, e.batch_no))
          LIMIT 1
        ) AS later
      ) AS "hasLater"
    FROM gone LEFT JOIN LATERAL (
      SELECT true AS is_there FROM ledger_entry AS e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = gone.currency AND e.booked_ms = gone.booked_ms
        AND e.vanished_at IS NULL AND e.batch_no <> gone.batch_no AND e.balance = gone.balance
        AND (e.credit, e.debit) IS NOT DISTINCT FROM (gone.credit, gone.debit)
        AND e.first_seen_at > gone.first_seen_at
      LIMIT 1
    ) AS twin ON true`.execute(db);
  const { gone, renumbered, from, to, hasLater } = rows[0]!;
  if (gone < MANY_MIN) return null;
  const found = { merchantNo, of: gone, from, to };
  if (renumbered >= gone / 2)
    return {
      ...found,
      count: renumbered,
      what: 'have another number now, with the same content: they were renumbered',
    };
  if (!hasLater)
    return {
      ...found,
      count: gone,
      what: 'are no longer shown, and nothing of that time or later is: an older state is answered',
    };
  return null;
}
