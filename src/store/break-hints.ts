/** The hints of stored breaks, which depend on every break of the account and on the entries beside each. */
import { sql, type Transaction } from 'kysely';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { neighbourHint, offsetPartners } from '../ledger/hints.ts';
import type { DB } from './schema.ts';

/** Breaks looked at to settle hints; an account with more is past being explained by hints. */
const HINTED_BREAKS_MAX = 10_000;

/**
 * Settles the hints of an account whose `days` were chained: at the later break that takes an earlier one back, over all
 * of its days (a hold placed on one and released on another), and else at the neighbours. The same breaks get the same
 * hints, in whatever order they were found. Writes only rows whose hint changes.
 */
export async function settleHints(
  trx: Transaction<DB>,
  account: Account,
  days: readonly BusinessDay[],
): Promise<void> {
  const rows = await trx
    .selectFrom('continuity_break')
    .select(['id', 'day', 'before_batch_no', 'missing_net', 'hint', 'hint_batch_no'])
    .where('merchant_no', '=', account.merchantNo)
    .where('currency', '=', account.currency)
    .where('status', '<>', 'healed')
    .orderBy('begin_ms')
    .orderBy('end_ms')
    .orderBy('before_batch_no')
    .limit(HINTED_BREAKS_MAX)
    .execute();
  const partners = offsetPartners(rows.map((row) => row.missing_net));
  const chained = new Set(days);
  const alone = rows.filter(
    ({ day, hint }, index) => !partners.has(index) && (chained.has(day) || hint === 'offset-by-later-break'),
  );
  const atNeighbours = await neighbourHints(
    trx,
    alone.map(({ id }) => id),
  );
  for (const [index, row] of rows.entries()) {
    const partner = partners.get(index);
    const settled =
      partner === undefined
        ? atNeighbours.get(row.id)
        : { hint: 'offset-by-later-break', hintBatchNo: rows[partner]!.before_batch_no };
    if (settled === undefined) continue;
    const { hint, hintBatchNo } = settled;
    if (row.hint === hint && row.hint_batch_no === hintBatchNo) continue;
    await trx
      .updateTable('continuity_break')
      .set({ hint, hint_batch_no: hintBatchNo })
      .where('id', '=', row.id)
      .execute();
  }
}

/** By id of the break, what the entries on both sides of it tell. */
async function neighbourHints(trx: Transaction<DB>, ids: readonly number[]) {
  if (ids.length === 0) return new Map<number, ReturnType<typeof neighbourHint>>();
  const net = (alias: string) =>
    sql<string | null>`coalesce(${sql.ref(`${alias}.credit`)}, -${sql.ref(`${alias}.debit`)})`;
  const rows = await trx
    .selectFrom('continuity_break as b')
    .leftJoin('ledger_entry as earlier', (join) =>
      join
        .onRef('earlier.merchant_no', '=', 'b.merchant_no')
        .onRef('earlier.batch_no', '=', 'b.after_batch_no'),
    )
    .leftJoin('ledger_entry as later', (join) =>
      join.onRef('later.merchant_no', '=', 'b.merchant_no').onRef('later.batch_no', '=', 'b.before_batch_no'),
    )
    .select(['b.id', 'b.missing_net', 'b.after_batch_no', 'b.before_batch_no'])
    .select([net('earlier').as('net_before'), net('later').as('net_after')])
    .where('b.id', '=', sql<number>`ANY (${ids}::bigint[])`)
    .execute();
  return new Map(
    rows.map((row) => [
      row.id,
      neighbourHint(
        row.missing_net,
        { net: row.net_before, batchNo: row.after_batch_no },
        { net: row.net_after, batchNo: row.before_batch_no },
      ),
    ]),
  );
}
