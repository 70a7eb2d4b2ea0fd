/** Reads an account's entries in time order, in batches, as fast as the server can send them. */
import { setImmediate as loopTurn } from 'node:timers/promises';
import { sql, type RawBuilder } from 'kysely';
import type { ChainEntry } from '../ledger/chain/chain-link.ts';
import type { Account, BusinessDay, LedgerEntry, Window } from '../ledger/entry.ts';
import { arrayLiteral, type Db, rowsOf, rowOf, type ValueOrSql } from './engine/database.ts';

/**
 * Larger batches are hardly faster and need more memory. The chain needs fewer columns, so its batches can be larger.
 */
const READ_BATCH_SIZE = 2_000;
const READ_TO_CHAIN_BATCH_SIZE = 5_000;

interface ReadOptions {
  readonly batchSize?: number;
}

/** The first entries of a window, read already: all of them, unless there are as many as the limit they were read with. */
export interface FirstEntries {
  readonly entries: readonly ChainEntry[];
  readonly limit: number;
}

/**
 * The account's entries whose seconds lie in the window, ordered by (bookedMs, batchNo), without vanished ones.
 * Amounts are the stored digits. Two batches are in memory: the next one is fetched while the caller works on this
 * one.
 */
export const readAccount = (
  db: Db,
  account: Account,
  window: Window,
  { batchSize = READ_BATCH_SIZE }: ReadOptions = {},
): AsyncGenerator<readonly LedgerEntry[], void, undefined> =>
  inBatches(
    (after) => readEntries(db, rowsAfter(account, window, after, batchSize), account),
    window,
    batchSize,
  );

/** The first entries of a window to chain, of any days: no more than a batch of them. */
export async function firstToChain(db: Db, account: Account, window: Window): Promise<FirstEntries> {
  const limit = READ_TO_CHAIN_BATCH_SIZE;
  const batch = rowsAfter(account, window, { bookedMs: window.beginMs, batchNo: '' }, limit);
  const [columns] = await rowsOf(db)<ChainColumns & { readonly days: string }>`
    SELECT ${CHAIN_COLUMNS}, string_agg(booked_at::date::text, ',') AS days FROM ${batch}`;
  const days = columns!.batch_nos === null ? [] : columns!.days.split(',');
  return { entries: chainEntries(columns!, (i) => days[i]!), limit };
}

/**
 * Like `readAccount`, but only with what the chain needs, at half the cost. `bookedAt` is then the day without the
 * time. The database is only asked for what comes after the `first` entries.
 */
export const readAccountToChain = (
  db: Db,
  account: Account,
  window: Window,
  {
    batchSize = READ_TO_CHAIN_BATCH_SIZE,
    first,
  }: ReadOptions & { readonly first?: FirstEntries | undefined } = {},
): AsyncGenerator<readonly ChainEntry[], void, undefined> =>
  inBatches<ChainEntry>(
    (after) => readChainEntries(db, rowsAfter(account, window, after, batchSize), account),
    window,
    batchSize,
    first,
  );

type Place = Pick<LedgerEntry, 'bookedMs' | 'batchNo'>;

async function* inBatches<Entry extends Place>(
  readAfter: (place: Place) => Promise<readonly Entry[]>,
  window: Window,
  batchSize: number,
  first?: { readonly entries: readonly Entry[]; readonly limit: number },
): AsyncGenerator<readonly Entry[], void, undefined> {
  let limit = first?.limit ?? batchSize;
  let next =
    first === undefined
      ? readAfter({ bookedMs: window.beginMs, batchNo: '' })
      : Promise.resolve(first.entries);
  for (;;) {
    const entries = await next;
    const last = entries.at(-1);
    if (last === undefined) return;
    if (entries.length < limit) {
      yield entries;
      return;
    }
    limit = batchSize;
    next = readAfter(last);
    // If the caller stops here, no one waits for this promise any more.
    next.catch(() => undefined);
    // The query is only sent when the event loop turns, and the caller may not let it turn while it works.
    await loopTurn();
    yield entries;
  }
}

/** The next rows. They come from ledger_entry_in_time in order, and the aggregates keep that order. */
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
 * Returns one text for each column instead of one value for each cell. For a million rows this takes a third of the
 * time; most of the saving is in JavaScript. Free text comes as JSON, because it may contain any separator.
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
  db: Db,
  batch: RawBuilder<unknown>,
  { currency }: Account,
): Promise<LedgerEntry[]> {
  const rows = await rowsOf(db)<
    ChainColumns & { readonly transaction_types: string[]; readonly booked_ats: string }
  >`SELECT ${CHAIN_COLUMNS}, json_agg(transaction_type) AS transaction_types,
      string_agg(booked_at::text, ',') AS booked_ats
    FROM ${batch}`;
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

/** The entries of a day's window are mostly of one date, which is sent once for all of them. */
async function readChainEntries(db: Db, batch: RawBuilder<unknown>, account: Account): Promise<ChainEntry[]> {
  const [columns] = await rowsOf(db)<
    ChainColumns & { readonly first_day: string; readonly last_day: string }
  >`
    SELECT ${CHAIN_COLUMNS}, min(booked_at)::date AS first_day, max(booked_at)::date AS last_day FROM ${batch}`;
  const { first_day: day, last_day: lastDay } = columns!;
  return day === lastDay ? chainEntries(columns!, () => day) : readEntries(db, batch, account);
}

function chainEntries(columns: ChainColumns, dayOf: (i: number) => BusinessDay): ChainEntry[] {
  if (columns.batch_nos === null) return [];
  const { credits, debits, balances, bookedMss } = split(columns);
  return columns.batch_nos.map((batchNo, i) => ({
    batchNo,
    credit: credits[i]! || null,
    debit: debits[i]! || null,
    balance: balances[i]!,
    bookedAt: dayOf(i),
    bookedMs: Number(bookedMss[i]),
  }));
}

const split = ({ credits, debits, balances, booked_mss }: ChainColumns) => ({
  credits: credits.split(','),
  debits: debits.split(','),
  balances: balances.split(','),
  bookedMss: booked_mss.split(','),
});

export async function listAccounts(db: Db, merchantNo: string): Promise<Account[]> {
  const rows = await rowsOf(db)<{ currency: string }>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT currency FROM held WHERE currency IS NOT NULL ORDER BY currency`;
  return rows.map(({ currency }) => ({ merchantNo, currency }));
}

/**
 * The body of a recursive query `held (currency)`: the currencies of the merchant's entries, and a null at the end.
 * Each is found by one jump along ledger_entry_in_time.
 */
export const heldCurrencies = (merchantNo: ValueOrSql): RawBuilder<unknown> => sql`
  (SELECT currency FROM ledger_entry
   WHERE merchant_no = ${merchantNo} AND vanished_at IS NULL ORDER BY currency LIMIT 1)
  UNION ALL
  SELECT (SELECT e.currency FROM ledger_entry e
    WHERE e.merchant_no = ${merchantNo} AND e.vanished_at IS NULL AND e.currency > held.currency
    ORDER BY e.currency LIMIT 1)
  FROM held WHERE held.currency IS NOT NULL`;

/** Whether an account has entries of a business day: reads along ledger_entry_in_time, whatever the zone. */
export const isHeldOn = (
  merchantNo: ValueOrSql,
  currency: RawBuilder<unknown>,
  day: RawBuilder<unknown>,
): RawBuilder<boolean> => sql<boolean>`EXISTS (
  SELECT FROM ledger_entry e
  WHERE e.merchant_no = ${merchantNo} AND e.currency = ${currency} AND e.vanished_at IS NULL AND e.booked_at::date = ${day}
    AND e.booked_ms BETWEEN (extract(epoch FROM ${day}) * 1000)::bigint - 86400000
      AND (extract(epoch FROM ${day}) * 1000)::bigint + 172800000
)`;

export const heldCurrenciesOf = (merchantNo: string, currency: string | null): RawBuilder<unknown> =>
  currency === null ? heldCurrencies(merchantNo) : sql`SELECT ${currency}::text COLLATE "C"`;

/** The newest entries in a window, the newest first; of one currency, or of all of them. */
export const newestEntriesIn = (
  db: Db,
  { merchantNo, currency }: { readonly merchantNo: string; readonly currency: string | null },
  { beginMs, endMs }: Window,
  countMax: number,
): Promise<LedgerEntry[]> => rowsOf(db)<LedgerEntry>`
    WITH RECURSIVE held (currency) AS (${heldCurrenciesOf(merchantNo, currency)})
    SELECT newest.* FROM held CROSS JOIN LATERAL (
      SELECT ${ENTRY} FROM ledger_entry e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
        AND e.booked_ms BETWEEN ${beginMs} AND ${endMs}
      ORDER BY e.booked_ms DESC LIMIT ${countMax}
    ) AS newest
    ORDER BY "bookedMs" DESC LIMIT ${countMax}`;

export async function newestEntryIn(db: Db, merchantNo: string, window: Window): Promise<LedgerEntry | null> {
  const [newest] = await newestEntriesIn(db, { merchantNo, currency: null }, window, 1);
  return newest ?? null;
}

/** A stored entry to reach to from a window: the newest one up to its end, or else the oldest one after it. */
export async function entryNear(
  db: Db,
  merchantNo: string,
  { endMs }: Window,
): Promise<Pick<LedgerEntry, 'batchNo' | 'bookedMs'> | null> {
  const before = await newestEntryIn(db, merchantNo, { beginMs: 0, endMs });
  if (before !== null) return before;
  const rows = await rowsOf(db)<Pick<LedgerEntry, 'batchNo' | 'bookedMs'>>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT oldest.* FROM held CROSS JOIN LATERAL (
      SELECT e.batch_no AS "batchNo", e.booked_ms AS "bookedMs" FROM ledger_entry e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
        AND e.booked_ms > ${endMs}
      ORDER BY e.booked_ms LIMIT 1
    ) AS oldest
    ORDER BY "bookedMs" LIMIT 1`;
  return rows[0] ?? null;
}

/** An entry of any merchant; null if none is stored. */
export async function anyEntry(db: Db): Promise<LedgerEntry | null> {
  const rows = await rowsOf(
    db,
  )<LedgerEntry>`SELECT ${ENTRY} FROM ledger_entry WHERE vanished_at IS NULL LIMIT 1`;
  return rows[0] ?? null;
}

export async function windowsHolding<
  Span extends { readonly window: Window; readonly currency?: string | null },
>(db: Db, merchantNo: string, spans: readonly Span[]): Promise<Span[]> {
  if (spans.length === 0) return [];
  const rows = await rowsOf(db)<{ nth: number }>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT span.nth::int AS nth FROM unnest(
      ${arrayLiteral(spans.map(({ window }) => window.beginMs))}::bigint[],
      ${arrayLiteral(spans.map(({ window }) => window.endMs))}::bigint[],
      ${arrayLiteral(spans.map(({ currency = null }) => currency))}::text[]
    ) WITH ORDINALITY AS span (begin_ms, end_ms, currency, nth)
    WHERE EXISTS (
      SELECT FROM held CROSS JOIN LATERAL (
        SELECT 1 FROM ledger_entry e
        WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
          AND e.booked_ms BETWEEN span.begin_ms AND span.end_ms LIMIT 1
      ) AS one
      WHERE span.currency IS NULL OR span.currency = held.currency
    )
    ORDER BY nth`;
  return rows.map(({ nth }) => spans[nth - 1]!);
}

/**
 * A stored entry's booked values as one line, and the same of an entry: equal if all of them are spelt alike. Two texts of as many
 * lines each are equal only if all entries are: a tab or a line break inside a value would be one too many.
 */
export const ENTRY_LINE = sql`concat_ws(E'\t', batch_no, currency, transaction_type, coalesce(credit::text, ''),
  coalesce(debit::text, ''), balance, booked_at, booked_ms)`;
export const lineOf = ({
  batchNo,
  currency,
  transactionType,
  credit,
  debit,
  balance,
  bookedAt,
  bookedMs,
}: LedgerEntry): string =>
  `${batchNo}\t${currency}\t${transactionType}\t${credit ?? ''}\t${debit ?? ''}\t${balance}\t${bookedAt}\t${bookedMs}`;

/** The columns of an entry, for a select. */
export const ENTRY_COLUMNS = [
  'batch_no as batchNo',
  'currency',
  'transaction_type as transactionType',
  'credit',
  'debit',
  'balance',
  'booked_at as bookedAt',
  'booked_ms as bookedMs',
] as const;

/** The same for a statement in text. */
export const ENTRY = sql`batch_no AS "batchNo", currency, transaction_type AS "transactionType", credit, debit, balance,
  booked_at AS "bookedAt", booked_ms AS "bookedMs"`;

/** A row of this alias as a JSON object with the fields of an entry. Amounts are text, as JSON numbers would lose digits. */
export const entryJson = (alias: string): RawBuilder<unknown> => {
  const column = (name: string) => sql.ref(`${alias}.${name}`);
  return sql`json_build_object('batchNo', ${column('batch_no')}, 'currency', ${column('currency')},
    'transactionType', ${column('transaction_type')}, 'credit', ${column('credit')}::text,
    'debit', ${column('debit')}::text, 'balance', ${column('balance')}::text,
    'bookedAt', to_char(${column('booked_at')}, 'YYYY-MM-DD HH24:MI:SS'), 'bookedMs', ${column('booked_ms')})`;
};

/**
 * Most entries taken from the span itself. Inside a break there are only entries of the same seconds as the two
 * next to it.
 */
export const ENTRIES_WITHIN_MAX = 2_000;

/**
 * Entries in time order: the last `background` before the window, up to `ENTRIES_WITHIN_MAX` in it, and the first
 * `background` after it. Three short walks along ledger_entry_in_time.
 */
export async function entriesAround(
  db: Db,
  { merchantNo, currency }: Account,
  { beginMs, endMs }: Window,
  background: number,
): Promise<LedgerEntry[]> {
  const walk = (where: RawBuilder<boolean>, order: 'asc' | 'desc', limit: number): Promise<LedgerEntry[]> =>
    db
      .selectFrom('ledger_entry')
      .select(ENTRY_COLUMNS)
      .where('merchant_no', '=', merchantNo)
      .where('currency', '=', currency)
      .where('vanished_at', 'is', null)
      .where(where)
      .orderBy('booked_ms', order)
      .orderBy('batch_no', order)
      .limit(limit)
      .execute();
  const before = await walk(sql`booked_ms < ${beginMs}`, 'desc', background);
  const within = await walk(
    sql`booked_ms >= ${beginMs} AND booked_ms <= ${endMs}`,
    'asc',
    ENTRIES_WITHIN_MAX,
  );
  const after = await walk(sql`booked_ms > ${endMs}`, 'asc', background);
  return [...before.reverse(), ...within, ...after];
}

export async function entriesByNumber(
  db: Db,
  merchantNo: string,
  batchNos: readonly string[],
): Promise<ReadonlyMap<string, LedgerEntry>> {
  if (batchNos.length === 0) return new Map();
  const rows = await db
    .selectFrom('ledger_entry')
    .select(ENTRY_COLUMNS)
    .where('merchant_no', '=', merchantNo)
    .where('batch_no', '=', sql<string>`ANY (${arrayLiteral(batchNos)}::text[])`)
    .where('vanished_at', 'is', null)
    .execute();
  return new Map(rows.map((entry) => [entry.batchNo, entry]));
}

const NEWEST_CHECKED = 50;

interface SecondsSeen {
  /** Whether newest stored timestamps have seconds; null if nothing is stored. */
  readonly hasSeconds: boolean | null;
  /** Of the entries asked about, how many are stored within the minute of their timestamp, with seconds; and one of them. */
  readonly cut: { readonly count: number; readonly batchNo: string; readonly bookedAt: string } | null;
}

export async function secondsSeen(
  db: Db,
  merchantNo: string,
  entries: readonly { readonly batchNo: string; readonly bookedAt: string }[],
): Promise<SecondsSeen> {
  const { has_seconds: hasSeconds, cut } = await rowOf(db)<{
    has_seconds: boolean | null;
    cut: SecondsSeen['cut'];
  }>`
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT (
      SELECT bool_or(date_part('second', newest.booked_at) <> 0) FROM held CROSS JOIN LATERAL (
        SELECT booked_at FROM ledger_entry e
        WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
        ORDER BY e.booked_ms DESC LIMIT ${sql.lit(NEWEST_CHECKED)}
      ) AS newest
    ) AS has_seconds, (
      SELECT json_build_object('count', count(*) OVER (), 'batchNo', e.batch_no, 'bookedAt', e.booked_at::text)
      FROM unnest(
        ${arrayLiteral(entries.map(({ batchNo }) => batchNo))}::text[],
        ${arrayLiteral(entries.map(({ bookedAt }) => bookedAt))}::timestamp[]
      ) AS came (batch_no, booked_at)
      JOIN ledger_entry e ON e.merchant_no = ${merchantNo} AND e.batch_no = came.batch_no
      WHERE e.booked_at > came.booked_at AND e.booked_at < came.booked_at + interval '1 minute'
      ORDER BY e.batch_no LIMIT 1
    ) AS cut`;
  return { hasSeconds, cut };
}
