/** Breaks of the balance chain: found, found again, healed, or resolved by a person. */
import { sql, type Kysely, type Selectable, type Transaction } from 'kysely';
import type { Account, BusinessDay, ContinuityBreak } from '../ledger/entry.ts';
import { compareAmounts } from '../ledger/money.ts';
import type { ContinuityBreak as BreakTable, DB } from './schema.ts';

export type BreakRow = Selectable<BreakTable>;

/** Breaks for a person, newest day last; only open ones unless `all`. */
export function listBreaks(
  db: Kysely<DB>,
  filter: {
    readonly all?: boolean;
    readonly merchants?: readonly string[] | undefined;
    readonly currencies?: readonly string[] | undefined;
    readonly fromDay?: BusinessDay | undefined;
    readonly toDay?: BusinessDay | undefined;
  } = {},
): Promise<BreakRow[]> {
  let query = db
    .selectFrom('continuity_break')
    .selectAll()
    .orderBy('day')
    .orderBy('merchant_no')
    .orderBy('id');
  if (filter.all !== true) query = query.where('status', '=', 'open');
  if (filter.merchants !== undefined) query = query.where('merchant_no', 'in', [...filter.merchants]);
  if (filter.currencies !== undefined) query = query.where('currency', 'in', [...filter.currencies]);
  if (filter.fromDay !== undefined) query = query.where('day', '>=', filter.fromDay);
  if (filter.toDay !== undefined) query = query.where('day', '<=', filter.toDay);
  return query.execute();
}

const same = (row: BreakRow, found: ContinuityBreak): boolean =>
  row.after_batch_no === found.afterBatchNo &&
  row.before_batch_no === found.beforeBatchNo &&
  compareAmounts(row.missing_net, found.missingNet) === 0;

/**
 * Makes the stored breaks of `days` those `found`: new ones are opened, open ones not found again are healed, and what
 * a person resolved stays so while it is the same break.
 */
export async function replaceBreaks(
  trx: Transaction<DB>,
  account: Account,
  days: readonly BusinessDay[],
  found: readonly ContinuityBreak[],
  context: { readonly runId: number; readonly now: Date },
): Promise<{ opened: BreakRow[]; healed: BreakRow[] }> {
  if (days.length === 0) return { opened: [], healed: [] };
  const stored = await trx
    .selectFrom('continuity_break')
    .selectAll()
    .where('merchant_no', '=', account.merchantNo)
    .where('currency', '=', account.currency)
    .where('day', '=', sql<string>`ANY (${days}::date[])`)
    .where('status', '<>', 'healed')
    .execute();
  const fresh = found.filter((one) => !stored.some((row) => same(row, one)));
  const gone = stored.filter((row) => row.status === 'open' && !found.some((one) => same(row, one)));
  const opened =
    fresh.length === 0
      ? []
      : await trx
          .insertInto('continuity_break')
          .values(
            fresh.map((one) => ({
              merchant_no: account.merchantNo,
              currency: account.currency,
              day: one.day,
              after_batch_no: one.afterBatchNo,
              before_batch_no: one.beforeBatchNo,
              expected_balance: one.expectedBalance,
              found_balance: one.foundBalance,
              missing_net: one.missingNet,
              hint: one.hint,
              hint_batch_no: one.hintBatchNo,
              begin_ms: one.span.beginMs,
              end_ms: one.span.endMs,
              found_at: context.now,
              run_id: context.runId,
            })),
          )
          .returningAll()
          .execute();
  const healed =
    gone.length === 0
      ? []
      : await trx
          .updateTable('continuity_break')
          .set({ status: 'healed', closed_at: context.now })
          .where(
            'id',
            'in',
            gone.map(({ id }) => id),
          )
          .returningAll()
          .execute();
  return { opened, healed };
}

/** Closes an open break with a person's note; undefined where no open break has that id. */
export const resolveBreak = (
  db: Kysely<DB>,
  id: number,
  note: string,
  now: Date,
): Promise<BreakRow | undefined> =>
  db
    .updateTable('continuity_break')
    .set({ status: 'resolved', note, closed_at: now })
    .where('id', '=', id)
    .where('status', '=', 'open')
    .returningAll()
    .executeTakeFirst();
