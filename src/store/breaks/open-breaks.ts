/** Queries on open breaks: how many there are, on which days, and which to read again next. */
import { sql, type Kysely, type Transaction } from 'kysely';
import { dayOf } from '../../ledger/business-day.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { BreakRow } from './breaks.ts';
import type { DB } from '../engine/schema.ts';

export interface OpenBreakCount {
  /** Open breaks that this run found. */
  readonly opened: number;
  /** Open breaks that earlier runs found. */
  readonly known: number;
}

/** Counts the open breaks of the merchants and currencies, of all days. Uses continuity_break_open. */
export async function countOpenBreaks(
  db: Kysely<DB>,
  merchants: readonly string[],
  currencies: readonly string[] | null,
  runId: number,
): Promise<OpenBreakCount> {
  const { rows } = await sql<OpenBreakCount>`
    SELECT count(*) FILTER (WHERE run_id = ${runId}) AS opened,
      count(*) FILTER (WHERE run_id IS DISTINCT FROM ${runId}) AS known
    FROM continuity_break
    WHERE status = 'open' AND merchant_no = ANY (${arrayLiteral(merchants)}::text[])
      AND (${currencies === null}::boolean OR currency = ANY (${arrayLiteral(currencies ?? [])}::text[]))`.execute(
    db,
  );
  return rows[0]!;
}

/** The merchant's days on which the span of an open break begins or ends, in order. */
export async function brokenDays(db: Kysely<DB>, merchantNo: string, zone: string): Promise<BusinessDay[]> {
  const rows = await db
    .selectFrom('continuity_break')
    .select(['begin_ms', 'end_ms'])
    .distinct()
    .where('merchant_no', '=', merchantNo)
    .where('status', '=', 'open')
    .execute();
  const days = rows.flatMap((row) => [dayOf(row.begin_ms, zone), dayOf(row.end_ms, zone)]);
  return [...new Set(days)].sort();
}

/**
 * Open breaks whose span is short enough to be read again. Two lists, each of at most `limit`: those never read again
 * yet, newest first; and those whose last reading (or finding) is longest ago. A break may be in both.
 */
export async function breaksToHeal(
  db: Kysely<DB>,
  asked: {
    readonly merchants: readonly string[];
    readonly currencies: readonly string[] | null;
    readonly spanMsMax: number;
    readonly limit: number;
  },
): Promise<{ readonly newest: readonly BreakRow[]; readonly longestWaiting: readonly BreakRow[] }> {
  if (asked.merchants.length === 0) return { newest: [], longestWaiting: [] };
  const narrow = db
    .selectFrom('continuity_break')
    .selectAll()
    .where('status', '=', 'open')
    .where('merchant_no', 'in', [...asked.merchants])
    .$if(asked.currencies !== null, (query) => query.where('currency', 'in', [...asked.currencies!]))
    .where(sql<boolean>`end_ms - begin_ms < ${asked.spanMsMax}`)
    .limit(asked.limit);
  return {
    newest: await narrow.where('healing_read_at', 'is', null).orderBy('id', 'desc').execute(),
    longestWaiting: await narrow
      .orderBy((eb) => eb.fn.coalesce('healing_read_at', 'found_at'))
      .orderBy('id')
      .execute(),
  };
}

/** Records that the spans of the breaks were read again, so that other breaks come first next time. */
export async function markHealingRead(
  trx: Transaction<DB>,
  ids: readonly number[],
  now: Date,
): Promise<void> {
  await trx
    .updateTable('continuity_break')
    .set({ healing_read_at: now })
    .where('id', '=', sql<number>`ANY (${ids}::bigint[])`)
    .execute();
}
