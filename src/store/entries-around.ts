/**
 * Reads a few of an account's entries before, in and after a span, to show to a person, however large the account is.
 */
import type { Kysely } from 'kysely';
import type { Account, LedgerEntry, Window } from '../ledger/entry.ts';
import { ENTRY_COLUMNS, entryOf } from './entry-columns.ts';
import type { DB } from './engine/schema.ts';

/**
 * Most entries taken from the span itself. Inside a break there are only entries of the same seconds as the two
 * next to it.
 */
export const ENTRIES_WITHIN_MAX = 2_000;

const entriesOf = (db: Kysely<DB>, { merchantNo, currency }: Account) =>
  db
    .selectFrom('ledger_entry')
    .select(ENTRY_COLUMNS)
    .where('merchant_no', '=', merchantNo)
    .where('currency', '=', currency)
    .where('vanished_at', 'is', null);

/**
 * Entries in time order: the last `background` before the window, up to `ENTRIES_WITHIN_MAX` in it, and the first
 * `background` after it. Three short walks along ledger_entry_in_time.
 */
export async function entriesAround(
  db: Kysely<DB>,
  account: Account,
  { beginMs, endMs }: Window,
  background: number,
): Promise<LedgerEntry[]> {
  const before = await entriesOf(db, account)
    .where('booked_ms', '<', beginMs)
    .orderBy('booked_ms', 'desc')
    .orderBy('batch_no', 'desc')
    .limit(background)
    .execute();
  const within = await entriesOf(db, account)
    .where('booked_ms', '>=', beginMs)
    .where('booked_ms', '<=', endMs)
    .orderBy('booked_ms')
    .orderBy('batch_no')
    .limit(ENTRIES_WITHIN_MAX)
    .execute();
  const after = await entriesOf(db, account)
    .where('booked_ms', '>', endMs)
    .orderBy('booked_ms')
    .orderBy('batch_no')
    .limit(background)
    .execute();
  return [...before.reverse(), ...within, ...after].map(entryOf);
}

/** The merchant's entries with these batch numbers, by number; without vanished ones. Uses the primary key. */
export async function entriesByNumber(
  db: Kysely<DB>,
  merchantNo: string,
  batchNos: readonly string[],
): Promise<ReadonlyMap<string, LedgerEntry>> {
  if (batchNos.length === 0) return new Map();
  const rows = await db
    .selectFrom('ledger_entry')
    .select(ENTRY_COLUMNS)
    .where('merchant_no', '=', merchantNo)
    .where('batch_no', 'in', [...batchNos])
    .where('vanished_at', 'is', null)
    .execute();
  return new Map(rows.map((row) => [row.batch_no, entryOf(row)]));
}
