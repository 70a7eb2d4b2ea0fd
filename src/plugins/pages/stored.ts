/** Reads a page of an account day: its entries, its balances to be drawn, its breaks. Never the complete day where it is a large one. */
import { sql, type RawBuilder } from 'kysely';
import type { Account, LedgerEntry, Window, BusinessDay } from '../../ledger/entry.ts';
import { ENTRY } from '../../store/entries.ts';
import { type Db, rowsOf, rowOf } from '../../store/engine/database.ts';
import type { ChainEntry } from '../../ledger/chain/chain-link.ts';
import { addDays } from '../../ledger/business-day.ts';
import type { BreakRow } from '../../store/breaks/breaks.ts';

export interface DayOfAccount {
  readonly account: Account;
  readonly window: Window;
}

export interface EntriesFound {
  readonly entries: readonly LedgerEntry[];
  readonly total: number;
}

const ofDay = ({ account, window }: DayOfAccount): RawBuilder<boolean> => sql`
  merchant_no = ${account.merchantNo} AND currency = ${account.currency} AND vanished_at IS NULL
  AND booked_ms BETWEEN ${window.beginMs} AND ${window.endMs}`;

export type EntryPlace = Pick<LedgerEntry, 'bookedMs' | 'batchNo'>;

/** In order of time. `total` is how many the day has: they are counted from the nearer end, along ledger_entry_in_time alone. */
export async function placesAt(
  db: Db,
  day: DayOfAccount,
  { offset, limit, total }: { readonly offset: number; readonly limit: number; readonly total: number },
): Promise<EntryPlace[]> {
  const left = Math.max(0, total - offset - limit);
  const isNearEnd = left < offset;
  const way = isNearEnd ? sql`DESC` : sql`ASC`;
  const skipped = isNearEnd ? left : offset;
  const taken = Math.min(limit, Math.max(0, total - offset));
  const rows = await rowsOf(db)<EntryPlace>`
    SELECT booked_ms AS "bookedMs", batch_no AS "batchNo" FROM ledger_entry WHERE ${ofDay(day)}
    ORDER BY booked_ms ${way}, batch_no ${way} LIMIT ${taken} OFFSET ${skipped}`;
  return isNearEnd ? rows.reverse() : rows;
}

/** How many entries the day has now. It counts along ledger_entry_in_time, so it takes longer the more there are. */
export async function countEntries(db: Db, day: DayOfAccount): Promise<number> {
  const { entries } = await rowOf(db)<{ readonly entries: number }>`
    SELECT count(*) AS entries FROM ledger_entry WHERE ${ofDay(day)}`;
  return entries;
}

export async function entryNumbered(db: Db, day: DayOfAccount, batchNo: string): Promise<LedgerEntry | null> {
  const [entry] = await rowsOf(db)<LedgerEntry>`
    SELECT ${ENTRY} FROM ledger_entry WHERE ${ofDay(day)} AND batch_no = ${batchNo}`;
  return entry ?? null;
}

export const SORTS = ['time', 'latest', 'largest', 'number'] as const;
export type Sort = (typeof SORTS)[number];

const ORDERS: Readonly<Record<Sort, RawBuilder<unknown>>> = {
  time: sql`booked_ms, batch_no`,
  latest: sql`booked_ms DESC, batch_no DESC`,
  largest: sql`coalesce(credit, debit) DESC, booked_ms, batch_no`,
  number: sql`batch_no`,
};

interface Search {
  /** Part of number or type, in any case; '' for every entry. */
  readonly contains: string;
  readonly amount: string | null;
  readonly sort: Sort;
  readonly offset: number;
  readonly limit: number;
}

/** Entries that fit. It checks every entry of the day, so the day must not have many. */
export async function entriesSearched(
  db: Db,
  day: DayOfAccount,
  { contains, amount, sort, offset, limit }: Search,
): Promise<EntriesFound> {
  const text = contains.toLowerCase();
  const isAmount =
    amount === null ? sql`false` : sql`${amount}::numeric IN (coalesce(credit, debit), balance)`;
  const rows = await rowsOf(db)<LedgerEntry & { readonly total: number }>`
    SELECT ${ENTRY}, count(*) OVER () AS total FROM ledger_entry
    WHERE ${ofDay(day)}
      AND (strpos(lower(batch_no), ${text}) > 0 OR strpos(lower(transaction_type), ${text}) > 0 OR ${isAmount})
    ORDER BY ${ORDERS[sort]} LIMIT ${limit} OFFSET ${offset}`;
  return { entries: rows.map(({ total: _, ...entry }) => entry), total: rows[0]?.total ?? 0 };
}

export type BalancePoint = Pick<LedgerEntry, 'bookedMs' | 'balance'>;

/** The last `limit` entries of each stretch of `widthMs`, one jump along ledger_entry_in_time each, however many entries the day has. */
export async function stretchEnds(
  db: Db,
  { account, window }: DayOfAccount,
  day: BusinessDay,
  { widthMs, limit }: { readonly widthMs: number; readonly limit: number },
): Promise<ChainEntry[][]> {
  const rows = await rowsOf(db)<Omit<ChainEntry, 'bookedAt'> & { readonly beginMs: number }>`
    SELECT part.begin_ms AS "beginMs", last.batch_no AS "batchNo", last.credit, last.debit, last.balance,
      last.booked_ms AS "bookedMs"
    FROM generate_series(${window.beginMs}::bigint, ${window.endMs}::bigint, ${widthMs}::bigint) AS part (begin_ms)
    CROSS JOIN LATERAL (
      SELECT batch_no, credit, debit, balance, booked_ms FROM ledger_entry
      WHERE merchant_no = ${account.merchantNo} AND currency = ${account.currency} AND vanished_at IS NULL
        AND booked_ms BETWEEN part.begin_ms AND least(part.begin_ms + ${widthMs - 1}, ${window.endMs}::bigint)
      ORDER BY booked_ms DESC, batch_no DESC LIMIT ${limit}
    ) AS last
    ORDER BY part.begin_ms, last.booked_ms, last.batch_no`;
  const ofParts = Map.groupBy(rows, ({ beginMs }) => beginMs);
  return [...ofParts.values()].map((own) => own.map((row) => ({ ...row, bookedAt: day })));
}

export interface BreaksFound {
  readonly breaks: readonly BreakRow[];
  readonly inAll: number;
}

/** As `openBreaksOn`, with those that a person resolved. A break's day is that of the entry behind it, which may be stamped a little before the one in front. */
export async function breaksOfDay(
  db: Db,
  { account, window }: DayOfAccount,
  day: BusinessDay,
  limit: number,
): Promise<BreaksFound> {
  const rows = await notHealed(db, account)
    .select((eb) => eb.fn.countAll<number>().over().as('in_all'))
    .where('day', '>=', addDays(day, -1))
    .where('begin_ms', '<=', window.endMs)
    .where('end_ms', '>=', window.beginMs)
    .orderBy('begin_ms')
    .orderBy('id')
    .limit(limit)
    .execute();
  return { breaks: rows, inAll: rows[0]?.in_all ?? 0 };
}

/** Those right before entries of the day with these numbers. Uses continuity_break_account. */
export const breaksBefore = (
  db: Db,
  account: Account,
  day: BusinessDay,
  batchNos: readonly string[],
): Promise<BreakRow[]> =>
  notHealed(db, account)
    .where('day', '=', day)
    .where('before_batch_no', 'in', [...batchNos])
    .execute();

const notHealed = (db: Db, { merchantNo, currency }: Account) =>
  db
    .selectFrom('continuity_break')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .where('currency', '=', currency)
    .where('status', '<>', 'healed');
