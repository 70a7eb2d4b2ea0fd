/** Reads a page of an account day's entries, never the complete day where it is a large one. */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Account, LedgerEntry, Window } from '../../ledger/entry.ts';
import { ENTRY_COLUMNS, entryOf, type EntryColumns } from '../entries.ts';
import type { DB } from '../engine/schema.ts';

export interface DayOfAccount {
  readonly account: Account;
  readonly window: Window;
}

/** Entries of a day, of `total` that fit. */
export interface EntriesFound {
  readonly entries: readonly LedgerEntry[];
  readonly total: number;
}

const ofDay = ({ account, window }: DayOfAccount): RawBuilder<boolean> => sql`
  merchant_no = ${account.merchantNo} AND currency = ${account.currency} AND vanished_at IS NULL
  AND booked_ms BETWEEN ${window.beginMs} AND ${window.endMs}`;

const COLUMNS = sql.join(ENTRY_COLUMNS.map((column) => sql.ref(`e.${column}`)));

/** Where an entry stands in time. */
export type EntryPlace = Pick<LedgerEntry, 'bookedMs' | 'batchNo'>;

/**
 * Places in order of time, `limit` of them after the first `offset`. `total` is how many the day has: they are counted
 * from the nearer end, along ledger_entry_in_time alone.
 */
export async function placesAt(
  db: Kysely<DB>,
  day: DayOfAccount,
  { offset, limit, total }: { readonly offset: number; readonly limit: number; readonly total: number },
): Promise<EntryPlace[]> {
  const left = Math.max(0, total - offset - limit);
  const isNearEnd = left < offset;
  const way = isNearEnd ? sql`DESC` : sql`ASC`;
  const skipped = isNearEnd ? left : offset;
  const taken = Math.min(limit, Math.max(0, total - offset));
  const { rows } = await sql<EntryPlace>`
    SELECT booked_ms AS "bookedMs", batch_no AS "batchNo" FROM ledger_entry WHERE ${ofDay(day)}
    ORDER BY booked_ms ${way}, batch_no ${way} LIMIT ${taken} OFFSET ${skipped}`.execute(db);
  return isNearEnd ? rows.reverse() : rows;
}

/** How many entries the day has now. It counts along ledger_entry_in_time, so it takes longer the more there are. */
export async function countEntries(db: Kysely<DB>, day: DayOfAccount): Promise<number> {
  const { rows } = await sql<{ readonly entries: number }>`
    SELECT count(*) AS entries FROM ledger_entry WHERE ${ofDay(day)}`.execute(db);
  return rows[0]!.entries;
}

/** The entry of that number, if it is of this day. */
export async function entryNumbered(
  db: Kysely<DB>,
  day: DayOfAccount,
  batchNo: string,
): Promise<LedgerEntry | null> {
  const { rows } = await sql<EntryColumns>`
    SELECT ${COLUMNS} FROM ledger_entry e WHERE ${ofDay(day)} AND batch_no = ${batchNo}`.execute(db);
  return rows[0] === undefined ? null : entryOf(rows[0]);
}

export const SORTS = ['time', 'latest', 'largest', 'number'] as const;
export type Sort = (typeof SORTS)[number];

const ORDERS: Readonly<Record<Sort, RawBuilder<unknown>>> = {
  time: sql`booked_ms, batch_no`,
  latest: sql`booked_ms DESC, batch_no DESC`,
  largest: sql`coalesce(credit, debit) DESC, booked_ms, batch_no`,
  number: sql`batch_no`,
};

export interface Search {
  /** Part of number or type, in any case; '' for every entry. */
  readonly contains: string;
  /** An amount or balance, as a plain decimal; null if the text is none. */
  readonly amount: string | null;
  readonly sort: Sort;
  readonly offset: number;
  readonly limit: number;
}

/** Entries that fit. It checks every entry of the day, so the day must not have many. */
export async function entriesSearched(
  db: Kysely<DB>,
  day: DayOfAccount,
  { contains, amount, sort, offset, limit }: Search,
): Promise<EntriesFound> {
  const text = contains.toLowerCase();
  const isAmount =
    amount === null ? sql`false` : sql`${amount}::numeric IN (coalesce(credit, debit), balance)`;
  const { rows } = await sql<EntryColumns & { readonly total: number }>`
    SELECT ${COLUMNS}, count(*) OVER () AS total FROM ledger_entry e
    WHERE ${ofDay(day)}
      AND (strpos(lower(batch_no), ${text}) > 0 OR strpos(lower(transaction_type), ${text}) > 0 OR ${isAmount})
    ORDER BY ${ORDERS[sort]} LIMIT ${limit} OFFSET ${offset}`.execute(db);
  return { entries: rows.map(entryOf), total: rows[0]?.total ?? 0 };
}
