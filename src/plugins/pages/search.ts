/** Searches a merchant's entries over all days, the latest first, a bounded number of them at a time. */
import { sql, type RawBuilder } from 'kysely';
import type { LedgerEntry, Window } from '../../ledger/entry.ts';
import { ENTRY, heldCurrenciesOf } from '../../store/entries.ts';
import { type Db, rowOf, rowsOf } from '../../store/engine/database.ts';

export interface EntriesAsked {
  readonly merchantNo: string;
  /** Null: all. */
  readonly currency: string | null;
  readonly window: Window;
  /** Of the credit or debit, plain decimals; null: any. */
  readonly amount: { readonly from: string; readonly to: string } | null;
  /** Part of the type and of the number, in any case; '' for any. */
  readonly type: string;
  readonly number: string;
}

/** The entries found down to `searchedToMs`: all of the window where that is its begin. */
export interface EntriesFound {
  readonly entries: readonly LedgerEntry[];
  /** Behind which place the next ones lie; null where there are none. */
  readonly next: EntryPlace | null;
  readonly searchedToMs: number;
}

/** Where a search goes on: before this entry, in the order of the search. */
export interface EntryPlace {
  readonly bookedMs: number;
  readonly currency: string;
  readonly batchNo: string;
}

/** Entries checked for one answer, of each currency an equal share: a merchant's year, mostly. */
const CHECKED_MAX = 50_000;

const fits = ({ amount, type, number }: EntriesAsked): RawBuilder<boolean> => sql`(
  ${amount === null ? sql`true` : sql`coalesce(credit, debit) BETWEEN ${amount.from}::numeric AND ${amount.to}::numeric`}
  AND ${type === '' ? sql`true` : sql`strpos(lower(transaction_type), ${type.toLowerCase()}) > 0`}
  AND ${number === '' ? sql`true` : sql`strpos(lower(batch_no), ${number.toLowerCase()}) > 0`})`;

/** Two statements: how far back the bound reaches, along ledger_entry_in_time alone, and what fits down to there. */
export async function searchEntries(
  db: Db,
  asked: EntriesAsked,
  after: EntryPlace | null,
  { limit, checkedMax = CHECKED_MAX }: { readonly limit: number; readonly checkedMax?: number },
): Promise<EntriesFound> {
  const { merchantNo, window } = asked;
  const endMs = Math.min(window.endMs, after?.bookedMs ?? window.endMs);
  const held = sql`WITH RECURSIVE held (currency) AS (${heldCurrenciesOf(merchantNo, asked.currency)})`;
  const ofCurrency = sql`merchant_no = ${merchantNo} AND e.currency = held.currency AND vanished_at IS NULL`;
  const { searchedToMs } = await rowOf(db)<{ readonly searchedToMs: number }>`
    ${held}
    SELECT coalesce(max(bound.booked_ms), ${window.beginMs}) AS "searchedToMs" FROM held CROSS JOIN LATERAL (
      SELECT booked_ms FROM ledger_entry e
      WHERE ${ofCurrency} AND booked_ms BETWEEN ${window.beginMs} AND ${endMs}
      ORDER BY booked_ms DESC, batch_no DESC OFFSET ${checkedMax}::int / (SELECT count(currency) FROM held) LIMIT 1
    ) AS bound`;
  const behind =
    after === null
      ? sql`true`
      : sql`(booked_ms, e.currency, batch_no) < (${after.bookedMs}, ${after.currency}, ${after.batchNo})`;
  const found = await rowsOf(db)<LedgerEntry>`
    ${held}
    SELECT one.* FROM held CROSS JOIN LATERAL (
      SELECT ${ENTRY} FROM ledger_entry e
      WHERE ${ofCurrency} AND booked_ms BETWEEN ${searchedToMs} AND ${endMs} AND ${behind} AND ${fits(asked)}
      ORDER BY booked_ms DESC, batch_no DESC LIMIT ${limit + 1}
    ) AS one ORDER BY "bookedMs" DESC, currency DESC, "batchNo" DESC LIMIT ${limit + 1}`;
  const entries = found.slice(0, limit);
  const last = entries.at(-1);
  if (found.length > limit) return { entries, next: placeOf(last!), searchedToMs };
  const isAll = searchedToMs <= window.beginMs;
  // All of its second was checked, so the next search begins right before it.
  const next = isAll ? null : { bookedMs: searchedToMs - 1, currency: LAST_CURRENCY, batchNo: '' };
  return { entries, next, searchedToMs };
}

/** Behind every currency. */
const LAST_CURRENCY = '~';

const placeOf = ({ bookedMs, currency, batchNo }: LedgerEntry): EntryPlace => ({
  bookedMs,
  currency,
  batchNo,
});

/** All entries that fit, the latest first, some at a time. */
export async function* everyEntry(db: Db, asked: EntriesAsked): AsyncGenerator<readonly LedgerEntry[]> {
  let after: EntryPlace | null = null;
  do {
    const found: EntriesFound = await searchEntries(db, asked, after, { limit: 1_000 });
    yield found.entries;
    after = found.next;
  } while (after !== null);
}
