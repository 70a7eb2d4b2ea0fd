/** The lists that a person works through: amended entries, vanished entries, and entries that cannot be read. */
import { sql, type Selectable } from 'kysely';
import { EVERY_ACCOUNT, type AccountFilter } from '../ledger/account-filter.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { ofAccounts, ofCurrencies, ofMerchants } from './account-filter.ts';
import { ENTRY_COLUMNS, entryOf, type EntryColumns } from './entries.ts';
import { type Db, rowsOf } from './engine/database.ts';
import type { QuarantinedEntry } from './engine/schema.ts';

const LIST_ROWS_MAX = 10_000;

export interface PersonFilter extends AccountFilter {
  readonly runId?: number | undefined;
  readonly limit?: number | undefined;
}

export interface Amendment {
  readonly merchantNo: string;
  readonly before: LedgerEntry;
  readonly after: LedgerEntry;
  /** The version that was replaced; `after` is the next version. */
  readonly version: number;
  readonly supersededAt: Date;
  readonly runId: number | null;
}

export interface VanishedEntry {
  readonly merchantNo: string;
  readonly entry: LedgerEntry;
  readonly vanishedAt: Date;
}

export type QuarantineRow = Selectable<Omit<QuarantinedEntry, 'span'>>;

type AmendmentRow = EntryColumns & {
  readonly merchant_no: string;
  readonly version: number;
  readonly superseded_at: Date;
  readonly run_id: number | null;
  readonly after: Omit<EntryColumns, 'batch_no'>;
};

/**
 * Replaced contents of entries, each with the content that followed it, newest first. With `currencies`: those whose
 * old or new content is in one of them. Walks along ledger_entry_version_recent and queries each next content by its
 * key.
 */
export async function listAmendments(db: Db, filter: PersonFilter = EVERY_ACCOUNT): Promise<Amendment[]> {
  const content = sql`jsonb_build_object('currency', currency, 'transaction_type', transaction_type,
    'credit', credit::text, 'debit', debit::text, 'balance', balance::text,
    'booked_at', to_char(booked_at, 'YYYY-MM-DD HH24:MI:SS'), 'booked_ms', booked_ms)`;
  const rows = await rowsOf(db)<AmendmentRow>`
    SELECT old.*, next.content AS after
    FROM ledger_entry_version old CROSS JOIN LATERAL (
      SELECT ${content} AS content, currency FROM ledger_entry_version v
      WHERE v.merchant_no = old.merchant_no AND v.batch_no = old.batch_no AND v.version = old.version + 1
      UNION ALL
      SELECT ${content}, currency FROM ledger_entry e
      WHERE e.merchant_no = old.merchant_no AND e.batch_no = old.batch_no AND e.version = old.version + 1
    ) AS next
    WHERE ${ofMerchants(filter.merchants, 'old')}
      AND (${ofCurrencies(filter.currencies, 'old')} OR ${ofCurrencies(filter.currencies, 'next')})
      ${filter.runId === undefined ? sql`` : sql`AND old.run_id = ${filter.runId}`}
    ORDER BY old.superseded_at DESC, old.merchant_no, old.batch_no, old.version DESC
    LIMIT ${filter.limit ?? LIST_ROWS_MAX}`;
  return rows.map((row) => ({
    merchantNo: row.merchant_no,
    before: entryOf(row),
    after: entryOf({ ...row.after, batch_no: row.batch_no }),
    version: row.version,
    supersededAt: row.superseded_at,
    runId: row.run_id,
  }));
}

/**
 * Entries that the platform no longer shows, newest first. Uses ledger_entry_vanished, an index of vanished entries
 * only.
 */
export async function listVanished(
  db: Db,
  filter: Omit<PersonFilter, 'runId'> = EVERY_ACCOUNT,
): Promise<VanishedEntry[]> {
  const rows = await db
    .selectFrom('ledger_entry')
    .select(['merchant_no', 'vanished_at', ...ENTRY_COLUMNS])
    .where('vanished_at', 'is not', null)
    .where(ofAccounts(filter))
    .orderBy('vanished_at', 'desc')
    .orderBy('merchant_no')
    .orderBy('batch_no')
    .limit(filter.limit ?? LIST_ROWS_MAX)
    .execute();
  return rows.map((row) => ({
    merchantNo: row.merchant_no,
    entry: entryOf(row),
    vanishedAt: row.vanished_at!,
  }));
}

export const quarantineRows = (db: Db) =>
  db
    .selectFrom('quarantined_entry')
    .select([
      'id',
      'merchant_no',
      'batch_no',
      'raw',
      'reason',
      'occurrences',
      'fingerprint',
      'begin_ms',
      'end_ms',
      'first_seen_at',
      'run_id',
      'released_at',
      'acknowledged_at',
      'note',
    ]);

/** Rejected entries with their raw text, newest first. Without `all`: only those that the platform still sends. */
export function listQuarantine(
  db: Db,
  filter: Omit<PersonFilter, 'currencies'> & { readonly all?: boolean } = EVERY_ACCOUNT,
): Promise<QuarantineRow[]> {
  let query = quarantineRows(db)
    .where(ofMerchants(filter.merchants))
    .orderBy('id', 'desc')
    .limit(filter.limit ?? LIST_ROWS_MAX);
  if (filter.all !== true)
    query = query.where('released_at', 'is', null).where('acknowledged_at', 'is', null);
  if (filter.runId !== undefined) query = query.where('run_id', '=', filter.runId);
  return query.execute();
}

/** How many unreadable entries, which the platform still sends and no one has acknowledged, each merchant has that has any. */
export async function unreadableByMerchant(
  db: Db,
  merchants: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('quarantined_entry')
    .select(['merchant_no', (eb) => eb.fn.countAll<number>().as('count')])
    .where(ofMerchants(merchants))
    .where('released_at', 'is', null)
    .where('acknowledged_at', 'is', null)
    .groupBy('merchant_no')
    .execute();
  return new Map(rows.map((row) => [row.merchant_no, row.count]));
}

/** Of these merchants, those with unreadable entries that the platform still sends, acknowledged or not. */
export async function merchantsWithUnreadable(
  db: Db,
  merchants: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('quarantined_entry')
    .select('merchant_no')
    .distinct()
    .where(ofMerchants(merchants))
    .where('released_at', 'is', null)
    .execute();
  return new Set(rows.map((row) => row.merchant_no));
}

/**
 * Marks an unreadable entry as acknowledged, with a person's note. Its text is kept as it came. False where no open
 * one has that id.
 */
export async function acknowledgeUnreadable(db: Db, id: number, note: string, now: Date): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('quarantined_entry')
    .set({ acknowledged_at: now, note })
    .where('id', '=', id)
    .where('released_at', 'is', null)
    .where('acknowledged_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}
