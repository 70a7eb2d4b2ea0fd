/** Reads an account's entries in time order, a batch at a time, as fast as the server can spell them out. */
import { setImmediate as loopTurn } from 'node:timers/promises';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { ChainEntry } from '../ledger/chain/chain-link.ts';
import type { Account, LedgerEntry, Window } from '../ledger/entry.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';

/** Above this a batch gets hardly cheaper, and memory only grows; what the chain looks at takes less of it. */
const READ_BATCH_SIZE = 2_000;
const READ_TO_CHAIN_BATCH_SIZE = 5_000;

interface ReadOptions {
  readonly batchSize?: number;
}

/**
 * The account's entries whose seconds lie in the window, in (bookedMs, batchNo) order, without those that vanished.
 * Amounts are the digits stored. Memory holds two batches: the next one is fetched while the caller works on one.
 */
export const readAccount = (
  db: Kysely<DB>,
  account: Account,
  window: Window,
  { batchSize = READ_BATCH_SIZE }: ReadOptions = {},
): AsyncGenerator<readonly LedgerEntry[], void, undefined> =>
  inBatches(
    (after) => readEntries(db, rowsAfter(account, window, after, batchSize), account),
    window,
    batchSize,
  );

/** The same with what the chain looks at alone, at half the cost; `bookedAt` then is the day. */
export const readAccountToChain = (
  db: Kysely<DB>,
  account: Account,
  window: Window,
  { batchSize = READ_TO_CHAIN_BATCH_SIZE }: ReadOptions = {},
): AsyncGenerator<readonly ChainEntry[], void, undefined> =>
  inBatches(
    (after) => readChainEntries(db, rowsAfter(account, window, after, batchSize), account),
    window,
    batchSize,
  );

type Place = Pick<LedgerEntry, 'bookedMs' | 'batchNo'>;

async function* inBatches<Entry extends Place>(
  readAfter: (place: Place) => Promise<Entry[]>,
  window: Window,
  batchSize: number,
): AsyncGenerator<readonly Entry[], void, undefined> {
  let next = readAfter({ bookedMs: window.beginMs, batchNo: '' });
  for (;;) {
    const entries = await next;
    const last = entries.at(-1);
    if (last === undefined) return;
    if (entries.length < batchSize) {
      yield entries;
      return;
    }
    next = readAfter(last);
    // Where the caller stops here, nobody waits for it any more.
    next.catch(() => undefined);
    // Only now does the query leave this process: the caller keeps the loop from turning while it works.
    await loopTurn();
    yield entries;
  }
}

/** The next rows, which come off ledger_entry_in_time in order; aggregates take them in the order they come. */
const rowsAfter = (
  { merchantNo, currency }: Account,
  window: Window,
  after: Place,
  batchSize: number,
): RawBuilder<unknown> => sql`(
  SELECT * FROM ledger_entry
  WHERE merchant_no = ${merchantNo} AND currency = ${currency} AND vanished_at IS NULL
    AND booked_ms <= ${window.endMs} AND (booked_ms, batch_no) > (${after.bookedMs}, ${after.batchNo})
  ORDER BY booked_ms, batch_no LIMIT ${batchSize}
) AS batch`;

/**
 * One text a column rather than one value a cell: a third of the time a million rows take, most of it saved in
 * JavaScript. Free text goes as JSON, as any separator might occur in it.
 */
const CHAIN_COLUMNS = sql`
  json_agg(batch_no) AS batch_nos, string_agg(coalesce(credit::text, ''), ',') AS credits,
  string_agg(coalesce(debit::text, ''), ',') AS debits, string_agg(balance::text, ',') AS balances,
  string_agg(booked_ms::text, ',') AS booked_mss`;

interface ChainColumns {
  readonly batch_nos: string[] | null;
  readonly credits: string;
  readonly debits: string;
  readonly balances: string;
  readonly booked_mss: string;
}

async function readEntries(
  db: Kysely<DB>,
  batch: RawBuilder<unknown>,
  { currency }: Account,
): Promise<LedgerEntry[]> {
  const { rows } = await sql<
    ChainColumns & { readonly transaction_types: string[]; readonly booked_ats: string }
  >`SELECT ${CHAIN_COLUMNS}, json_agg(transaction_type) AS transaction_types,
      string_agg(booked_at::text, ',') AS booked_ats
    FROM ${batch}`.execute(db);
  const columns = rows[0]!;
  if (columns.batch_nos === null) return [];
  const { credits, debits, balances, bookedMss } = split(columns);
  const bookedAts = columns.booked_ats.split(',');
  return columns.batch_nos.map((batchNo, i) => ({
    batchNo,
    currency,
    transactionType: columns.transaction_types[i]!,
    credit: credits[i]! || null,
    debit: debits[i]! || null,
    balance: balances[i]!,
    bookedAt: bookedAts[i]!,
    bookedMs: Number(bookedMss[i]),
  }));
}

async function readChainEntries(
  db: Kysely<DB>,
  batch: RawBuilder<unknown>,
  account: Account,
): Promise<ChainEntry[]> {
  const { rows } = await sql<ChainColumns & { readonly first_day: string; readonly last_day: string }>`
    SELECT ${CHAIN_COLUMNS}, min(booked_at)::date AS first_day, max(booked_at)::date AS last_day
    FROM ${batch}`.execute(db);
  const columns = rows[0]!;
  if (columns.batch_nos === null) return [];
  if (columns.first_day !== columns.last_day) return readEntries(db, batch, account);
  const { credits, debits, balances, bookedMss } = split(columns);
  return columns.batch_nos.map((batchNo, i) => ({
    batchNo,
    credit: credits[i]! || null,
    debit: debits[i]! || null,
    balance: balances[i]!,
    bookedAt: columns.first_day,
    bookedMs: Number(bookedMss[i]),
  }));
}

const split = ({ credits, debits, balances, booked_mss }: ChainColumns) => ({
  credits: credits.split(','),
  debits: debits.split(','),
  balances: balances.split(','),
  bookedMss: booked_mss.split(','),
});

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

/** The merchant's newest entry in the window, of whatever account; null where none is stored there. */
export async function newestEntryIn(
  db: Kysely<DB>,
  merchantNo: string,
  { beginMs, endMs }: Window,
): Promise<LedgerEntry | null> {
  const { rows } = await sql<LedgerEntry>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT newest.* FROM held CROSS JOIN LATERAL (
      SELECT batch_no AS "batchNo", currency, transaction_type AS "transactionType", credit, debit, balance,
        booked_at AS "bookedAt", booked_ms AS "bookedMs"
      FROM ledger_entry e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
        AND e.booked_ms BETWEEN ${beginMs} AND ${endMs}
      ORDER BY e.booked_ms DESC LIMIT 1
    ) AS newest
    ORDER BY "bookedMs" DESC LIMIT 1`.execute(db);
  return rows[0] ?? null;
}

/** Those of the windows in which entries are stored; of one currency where the window names it. */
export async function windowsHolding<
  Span extends { readonly window: Window; readonly currency: string | null },
>(db: Kysely<DB>, merchantNo: string, spans: readonly Span[]): Promise<Span[]> {
  if (spans.length === 0) return [];
  const { rows } = await sql<{ nth: number }>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT span.nth::int AS nth FROM unnest(
      ${arrayLiteral(spans.map(({ window }) => window.beginMs))}::bigint[],
      ${arrayLiteral(spans.map(({ window }) => window.endMs))}::bigint[],
      ${arrayLiteral(spans.map(({ currency }) => currency))}::text[]
    ) WITH ORDINALITY AS span (begin_ms, end_ms, currency, nth)
    WHERE EXISTS (
      SELECT FROM held CROSS JOIN LATERAL (
        SELECT 1 FROM ledger_entry e
        WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
          AND e.booked_ms BETWEEN span.begin_ms AND span.end_ms LIMIT 1
      ) AS one
      WHERE span.currency IS NULL OR span.currency = held.currency
    )
    ORDER BY nth`.execute(db);
  return rows.map(({ nth }) => spans[nth - 1]!);
}
