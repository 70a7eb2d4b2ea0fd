/** Reads an account's entries in time order, a batch at a time, as fast as the server can spell them out. */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Account, LedgerEntry, Window } from '../ledger/entry.ts';
import type { DB } from './schema.ts';

/** Above this a batch gets no cheaper, and memory only grows. */
export const READ_BATCH_SIZE = 5_000;

interface BatchColumns {
  readonly batch_nos: string[] | null;
  readonly transaction_types: string[];
  readonly credits: string;
  readonly debits: string;
  readonly balances: string;
  readonly booked_ats: string;
  readonly booked_mss: string;
}

/**
 * The account's entries whose seconds lie in the window, in (bookedMs, batchNo) order, without those that vanished.
 * Amounts are the digits stored. Memory holds two batches: the next one is fetched while the caller works on one.
 */
export async function* readAccount(
  db: Kysely<DB>,
  account: Account,
  window: Window,
  { batchSize = READ_BATCH_SIZE }: { readonly batchSize?: number } = {},
): AsyncGenerator<readonly LedgerEntry[], void, undefined> {
  let next = readBatch(db, account, window, { bookedMs: window.beginMs, batchNo: '' }, batchSize);
  for (;;) {
    const entries = await next;
    const last = entries.at(-1);
    if (last === undefined) return;
    if (entries.length < batchSize) {
      yield entries;
      return;
    }
    next = readBatch(db, account, window, last, batchSize);
    // Where the caller stops here, nobody waits for it any more.
    next.catch(() => undefined);
    yield entries;
  }
}

/**
 * One text a column rather than one value a cell: a third of the time a million rows take, most of it saved in
 * JavaScript. Free text goes as JSON, as any separator might occur in it. The rows come off ledger_entry_in_time in
 * order, and aggregates take them in the order they come.
 */
async function readBatch(
  db: Kysely<DB>,
  { merchantNo, currency }: Account,
  window: Window,
  after: Pick<LedgerEntry, 'bookedMs' | 'batchNo'>,
  batchSize: number,
): Promise<LedgerEntry[]> {
  const { rows } = await sql<BatchColumns>`
    SELECT json_agg(batch_no) AS batch_nos, json_agg(transaction_type) AS transaction_types,
      string_agg(coalesce(credit::text, ''), ',') AS credits, string_agg(coalesce(debit::text, ''), ',') AS debits,
      string_agg(balance::text, ',') AS balances, string_agg(booked_at::text, ',') AS booked_ats,
      string_agg(booked_ms::text, ',') AS booked_mss
    FROM (
      SELECT * FROM ledger_entry
      WHERE merchant_no = ${merchantNo} AND currency = ${currency} AND vanished_at IS NULL
        AND booked_ms <= ${window.endMs} AND (booked_ms, batch_no) > (${after.bookedMs}, ${after.batchNo})
      ORDER BY booked_ms, batch_no LIMIT ${batchSize}
    ) AS batch`.execute(db);
  return entriesOf(rows[0]!, currency);
}

function entriesOf(columns: BatchColumns, currency: string): LedgerEntry[] {
  if (columns.batch_nos === null) return [];
  const credits = columns.credits.split(',');
  const debits = columns.debits.split(',');
  const balances = columns.balances.split(',');
  const bookedAts = columns.booked_ats.split(',');
  const bookedMss = columns.booked_mss.split(',');
  return columns.batch_nos.map((batchNo, i) => ({
    batchNo,
    currency,
    transactionType: columns.transaction_types[i]!,
    credit: credits[i] === '' ? null : credits[i]!,
    debit: debits[i] === '' ? null : debits[i]!,
    balance: balances[i]!,
    bookedAt: bookedAts[i]!,
    bookedMs: Number(bookedMss[i]),
  }));
}

/** Accounts with entries that have not vanished, in order. */
export async function listAccounts(db: Kysely<DB>, merchantNo: string): Promise<Account[]> {
  const { rows } = await sql<{ currency: string }>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT currency FROM held WHERE currency IS NOT NULL ORDER BY currency`.execute(db);
  return rows.map(({ currency }) => ({ merchantNo, currency }));
}

/**
 * Body of a recursive `held (currency)`: the merchant's currencies, each found by one jump along ledger_entry_in_time,
 * and a null at the end.
 */
export const heldCurrencies = (merchantNo: string): RawBuilder<unknown> => sql`
  (SELECT currency FROM ledger_entry
   WHERE merchant_no = ${merchantNo} AND vanished_at IS NULL ORDER BY currency LIMIT 1)
  UNION ALL
  SELECT (SELECT e.currency FROM ledger_entry e
    WHERE e.merchant_no = ${merchantNo} AND e.vanished_at IS NULL AND e.currency > held.currency
    ORDER BY e.currency LIMIT 1)
  FROM held WHERE held.currency IS NOT NULL`;
