/** Queries on open breaks: how many there are, on which days, and which to read again next. */
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import type { AccountFilter } from '../../ledger/account-filter.ts';
import type { Window } from '../../ledger/entry.ts';
import { ofAccounts, ofMerchants } from '../account-filter.ts';
import type { BreakRow } from './breaks.ts';
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

/** The same, told apart by whether just this run opened them. */
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

/** By merchant, where its open breaks lie, each from the entry before it to the entry after it. */
export async function openBreakSpans(
  db: Kysely<DB>,
  merchants: readonly string[],
): Promise<ReadonlyMap<string, readonly Window[]>> {
  const rows = await db
    .selectFrom('continuity_break')
    .select(['merchant_no as merchantNo', 'begin_ms as beginMs', 'end_ms as endMs'])
    .distinct()
    .where('status', '=', 'open')
    .where(ofMerchants(merchants))
    .execute();
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
