/** Queries on open breaks: how many there are, on which days, and which to read again next. */
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import type { AccountFilter } from '../../ledger/account-filter.ts';
import type { Window } from '../../ledger/entry.ts';
import { ofAccounts } from '../account-filter.ts';
import type { BreakRow } from './breaks.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';

/**
 * Whether an open break is new: this run or a later one found it, or a backfill that was begun before and found it since
 * then.
 */
export const isNewSince = (runId: number | null): RawBuilder<boolean> => sql<boolean>`(
  continuity_break.run_id >= ${runId}::bigint
    OR continuity_break.found_at > (SELECT started_at FROM run WHERE id = ${runId}::bigint))`;

export interface OpenBreakCount {
  /** Open breaks that this run found. */
  readonly opened: number;
  /** Open breaks that earlier runs found. */
  readonly known: number;
}

/**
 * How many open breaks each merchant has that has any, of whatever day; as opened those that `newSince` or a later run
 * found. Served by continuity_break_open.
 */
export async function countOpenBreaks(
  db: Kysely<DB>,
  accounts: AccountFilter,
  newSince: number | null,
): Promise<ReadonlyMap<string, OpenBreakCount>> {
  const { rows } = await sql<OpenBreakCount & { merchantNo: string }>`
    SELECT merchant_no AS "merchantNo", count(*) FILTER (WHERE ${isNewSince(newSince)}) AS opened,
      count(*) FILTER (WHERE ${isNewSince(newSince)} IS NOT TRUE) AS known
    FROM continuity_break
    WHERE status = 'open' AND ${ofAccounts(accounts)} GROUP BY merchant_no`.execute(db);
  return new Map(rows.map(({ merchantNo, ...count }) => [merchantNo, count]));
}

/** The same, separated by whether just this run opened them. */
export async function openBreaksByMerchant(
  db: Kysely<DB>,
  accounts: AccountFilter,
  runId: number,
): Promise<ReadonlyMap<string, OpenBreakCount>> {
  const { rows } = await sql<OpenBreakCount & { merchantNo: string }>`
    SELECT merchant_no AS "merchantNo", count(*) FILTER (WHERE run_id = ${runId}) AS opened,
      count(*) FILTER (WHERE run_id IS DISTINCT FROM ${runId}) AS known
    FROM continuity_break
    WHERE status = 'open' AND ${ofAccounts(accounts)} GROUP BY merchant_no`.execute(db);
  return new Map(rows.map(({ merchantNo, ...count }) => [merchantNo, count]));
}

/** Where entries can lie that could not be read and that no one acknowledged: `{merchant_no, begin_ms, end_ms}`. */
export const OPEN_UNREADABLE = sql`
  SELECT q.merchant_no, lower(part) AS begin_ms, upper(part) - 1 AS end_ms
  FROM quarantined_entry q CROSS JOIN LATERAL unnest(q.span) AS part
  WHERE q.released_at IS NULL AND q.acknowledged_at IS NULL`;

/**
 * By merchant, what keeps days from being proven: open breaks, each from the entry before it to the entry after it, and entries
 * that could not be read.
 */
export async function unprovenSpans(
  db: Kysely<DB>,
  merchants: readonly string[],
): Promise<ReadonlyMap<string, readonly Window[]>> {
  const asked = sql`${arrayLiteral(merchants)}::text[]`;
  const { rows } = await sql<Window & { readonly merchantNo: string }>`
    SELECT merchant_no AS "merchantNo", begin_ms AS "beginMs", end_ms AS "endMs" FROM (
      SELECT merchant_no, begin_ms, end_ms FROM continuity_break WHERE status = 'open' AND merchant_no = ANY (${asked})
      UNION ${OPEN_UNREADABLE} AND q.merchant_no = ANY (${asked})
    ) AS open`.execute(db);
  return Map.groupBy(rows, ({ merchantNo }) => merchantNo);
}

/**
 * Open breaks whose span is short enough to be read again. Two lists, each of at most `limit`: those never read again
 * yet, newest first; and those whose last reading (or finding) is longest ago. A break may be in both.
 */
export async function breaksToHeal(
  db: Kysely<DB>,
  asked: {
    readonly accounts: AccountFilter;
    readonly spanMsMax: number;
    readonly limit: number;
  },
): Promise<{ readonly newest: readonly BreakRow[]; readonly longestWaiting: readonly BreakRow[] }> {
  const narrow = db
    .selectFrom('continuity_break')
    .selectAll()
    .where('status', '=', 'open')
    .where(ofAccounts(asked.accounts))
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

/** Records that the spans of the merchant's breaks were read again, so that other breaks come first next time. */
export async function markHealingRead(
  trx: Transaction<DB>,
  merchantNo: string,
  ids: readonly number[],
  now: Date,
): Promise<void> {
  await trx
    .updateTable('continuity_break')
    .set({ healing_read_at: now })
    .where('merchant_no', '=', merchantNo)
    .where('id', '=', sql<number>`ANY (${ids}::bigint[])`)
    .execute();
}
