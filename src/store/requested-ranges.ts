/**
 * Stores ranges of days that people asked for. A range is open until each of its days is under certificate, or until
 * somebody gives it up.
 */
import { sql, type Kysely } from 'kysely';
import type { AccountFilter } from '../ledger/account-filter.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { currencyFrom, ofMerchants, storedCurrency } from './account-filter.ts';
import type { DB } from './engine/schema.ts';

export interface RequestedRange {
  readonly id: number;
  readonly merchantNo: string;
  /** Null for every currency. */
  readonly currency: string | null;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly requestedAt: Date;
  /** The run that was started with this range. */
  readonly runId: number | null;
}

/**
 * Stores what a run was asked to read. A range that is open already is not changed and keeps the run that asked
 * first.
 */
export async function recordRequestedRanges(
  db: Kysely<DB>,
  asked: AccountFilter & {
    readonly merchants: readonly string[];
    readonly from: BusinessDay;
    readonly to: BusinessDay;
    readonly runId: number;
    readonly now: Date;
  },
): Promise<void> {
  if (asked.merchants.length === 0) return;
  await db
    .insertInto('requested_range')
    .values(
      asked.merchants.flatMap((merchantNo) =>
        (asked.currencies ?? [null]).map((currency) => ({
          merchant_no: merchantNo,
          currency: storedCurrency(currency),
          from_day: asked.from,
          to_day: asked.to,
          requested_at: asked.now,
          run_id: asked.runId,
        })),
      ),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Open ranges of the merchants, in the order in which they were asked for. Uses requested_range_open. */
export async function openRequestedRanges(
  db: Kysely<DB>,
  merchants: readonly string[],
): Promise<RequestedRange[]> {
  const rows = await db
    .selectFrom('requested_range')
    .selectAll()
    .where(ofMerchants(merchants))
    .where('done_at', 'is', null)
    .where('forgotten_at', 'is', null)
    .orderBy('id')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    merchantNo: row.merchant_no,
    currency: currencyFrom(row.currency),
    from: row.from_day,
    to: row.to_day,
    requestedAt: row.requested_at,
    runId: row.run_id,
  }));
}

/** Closes ranges whose days are all under certificate. */
export async function finishRequestedRanges(
  db: Kysely<DB>,
  ranges: readonly Pick<RequestedRange, 'id' | 'merchantNo'>[],
  now: Date,
): Promise<void> {
  if (ranges.length === 0) return;
  const ids = ranges.map(({ id }) => id);
  await db
    .updateTable('requested_range')
    .set({ done_at: now })
    .where(ofMerchants([...new Set(ranges.map(({ merchantNo }) => merchantNo))]))
    .where('id', '=', sql<number>`ANY (${ids}::bigint[])`)
    .where('forgotten_at', 'is', null)
    .execute();
}

/** Closes an open range before it is done. What was read of it stays stored. False if no open range has that id. */
export async function forgetRequestedRange(db: Kysely<DB>, id: number, now: Date): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('requested_range')
    .set({ forgotten_at: now })
    .where('id', '=', id)
    .where('done_at', 'is', null)
    .where('forgotten_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}
