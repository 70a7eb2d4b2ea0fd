/** Finds entries that are odd by themselves, though nothing of their balance is wrong. */
import { sql, type Kysely } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import type { Currencies } from '../ledger/money.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';
import type { OddNotice } from './notices.ts';

/** How many batch numbers are named for each finding. */
const NUMBERS_NAMED_MAX = 3;
/** Of a currency that no list knows nothing is finer. */
const NO_UNITS = 1_000;

/**
 * The merchant's entries from an instant on that have no transaction type, or an amount with more decimals than their
 * currency has; by account and day, oldest first.
 */
export async function oddEntries(
  db: Kysely<DB>,
  merchantNo: string,
  fromMs: number,
  { zone, currencies }: { readonly zone: string; readonly currencies: Currencies },
): Promise<OddNotice[]> {
  const { rows: held } = await sql<{ currency: string }>`
    SELECT DISTINCT currency FROM ledger_entry
    WHERE merchant_no = ${merchantNo} AND vanished_at IS NULL AND booked_ms >= ${fromMs}`.execute(db);
  const known = held.map(({ currency }) => ({
    currency,
    units: currencies.minorUnits(currency) ?? NO_UNITS,
  }));
  const { rows } = await sql<{
    kind: OddNotice['kind'];
    currency: string;
    day: BusinessDay;
    count: number;
    batch_nos: string[];
  }>`
    WITH known AS (
      SELECT * FROM unnest(
        ${arrayLiteral(known.map(({ currency }) => currency))}::text[],
        ${arrayLiteral(known.map(({ units }) => units))}::int[]
      ) AS known (currency, units)
    ), odd AS (
      SELECT one.kind, e.currency, (to_timestamp(e.booked_ms / 1000.0) AT TIME ZONE ${zone})::date AS day, e.batch_no
      FROM known JOIN ledger_entry e ON e.merchant_no = ${merchantNo} AND e.currency = known.currency
        AND e.vanished_at IS NULL AND e.booked_ms >= ${fromMs}
      CROSS JOIN LATERAL (VALUES
        ('untyped', e.transaction_type !~ '[^[:space:]]'),
        ('finer', greatest(scale(coalesce(e.credit, e.debit)), scale(e.balance)) > known.units)
      ) AS one (kind, is_odd)
      WHERE one.is_odd
    )
    SELECT kind, currency, day, count(*) AS count,
      (array_agg(batch_no ORDER BY batch_no))[1:${sql.lit(NUMBERS_NAMED_MAX)}] AS batch_nos
    FROM odd GROUP BY kind, currency, day ORDER BY day, kind, currency`.execute(db);
  return rows.map(({ kind, currency, day, count, batch_nos: batchNos }) => ({
    ...{ kind, merchantNo, currency, day },
    figures: { count, batchNos },
  }));
}
