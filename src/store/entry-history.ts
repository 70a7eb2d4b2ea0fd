/**
 * Finds everything stored under one batch number: its contents over time, what came unreadable, and the breaks next to
 * it.
 */
import { sql, type Kysely, type Selectable } from 'kysely';
import type { Chosen } from '../ledger/account-filter.ts';
import type { BreakHint, LedgerEntry } from '../ledger/entry.ts';
import { ofMerchants } from './account-filter.ts';
import { quarantineRows, type QuarantineRow } from './amendments.ts';
import type { BreakRow } from './breaks/breaks.ts';
import { entryOf } from './entry-columns.ts';
import type { DB, LedgerEntry as EntryTable, LedgerEntryVersion } from './engine/schema.ts';
import { everyMerchant } from './shared-entries.ts';

/** Most entries found for one number. Each merchant may count on its own, so all of them may have this number. */
export const ENTRIES_FOUND_MAX = 20;
/** Most rows of each kind shown next to an entry; the lists show all. */
const ROWS_AROUND_MAX = 50;

const SEVERAL_ENTRIES: BreakHint[] = [
  'vanished-entry',
  'vanished-in-span',
  'amended-entry',
  'amended-in-span',
  'several-changes',
];

/** The content that an entry had from a certain reading on. */
export interface EntryContent {
  readonly version: number;
  readonly entry: LedgerEntry;
  readonly seenAt: Date;
  /** The run that brought it; null for the first content, of which the run is not kept. */
  readonly runId: number | null;
}

export interface EntryHistory {
  readonly merchantNo: string;
  /** Oldest first; the last one is the current one. */
  readonly contents: readonly EntryContent[];
  /** When it was found that the platform no longer shows the entry; null while it does. */
  readonly vanishedAt: Date | null;
  /** Since when the entry is absent: readings do not hold it, and it is not yet believed to be gone. */
  readonly absentSince: Date | null;
}

type EntryRow = Selectable<EntryTable>;
type VersionRow = Selectable<LedgerEntryVersion>;

/**
 * The entry of that number of each of these merchants, in their order, up to `ENTRIES_FOUND_MAX`. There is no index by number alone, as it would cost every entry stored: where all merchants are meant, each is jumped to
 * and read along the primary key instead.
 */
export async function findEntries(
  db: Kysely<DB>,
  batchNo: string,
  merchants: Chosen,
): Promise<EntryHistory[]> {
  const rows = await entriesOfNumber(db, batchNo, merchants);
  if (rows.length === 0) return [];
  const having = rows.map((row) => row.merchant_no);
  const versions = await db
    .selectFrom('ledger_entry_version')
    .selectAll()
    .where(ofMerchants(having))
    .where('batch_no', '=', batchNo)
    .orderBy('version')
    .execute();
  const absent = await db
    .selectFrom('absent_entry')
    .select(['merchant_no', 'absent_since'])
    .where(ofMerchants(having))
    .where('batch_no', '=', batchNo)
    .execute();
  return rows.map((row) => ({
    merchantNo: row.merchant_no,
    contents: contentsOf(
      row,
      versions.filter((version) => version.merchant_no === row.merchant_no),
    ),
    vanishedAt: row.vanished_at,
    absentSince: absent.find((one) => one.merchant_no === row.merchant_no)?.absent_since ?? null,
  }));
}

async function entriesOfNumber(db: Kysely<DB>, batchNo: string, merchants: Chosen): Promise<EntryRow[]> {
  if (merchants !== null) {
    return db
      .selectFrom('ledger_entry')
      .selectAll()
      .where(ofMerchants(merchants))
      .where('batch_no', '=', batchNo)
      .orderBy('merchant_no')
      .limit(ENTRIES_FOUND_MAX)
      .execute();
  }
  const { rows } = await sql<EntryRow>`
    WITH RECURSIVE merchants (merchant_no) AS (${everyMerchant})
    SELECT found.* FROM merchants CROSS JOIN LATERAL (
      SELECT * FROM ledger_entry e
      WHERE e.merchant_no = merchants.merchant_no AND e.batch_no = ${batchNo} LIMIT 1
    ) AS found
    LIMIT ${ENTRIES_FOUND_MAX}`.execute(db);
  return rows;
}

/** A content was first seen at the time when the content before it was replaced. */
function contentsOf(row: EntryRow, superseded: readonly VersionRow[]): EntryContent[] {
  return [...superseded, row].map((content, at) => ({
    version: content.version,
    entry: entryOf(content),
    seenAt: superseded[at - 1]?.superseded_at ?? row.first_seen_at,
    runId: superseded[at - 1]?.run_id ?? null,
  }));
}

/** Unreadable entries with that number, newest first, released and acknowledged ones included. */
export const unreadableOfNumber = (
  db: Kysely<DB>,
  batchNo: string,
  merchants: Chosen,
): Promise<QuarantineRow[]> =>
  quarantineRows(db)
    .where('batch_no', '=', batchNo)
    .where(ofMerchants(merchants))
    .orderBy('id', 'desc')
    .limit(ROWS_AROUND_MAX)
    .execute();

/**
 * Breaks, open or closed, right before or right after the merchant's entry, breaks whose hint names the entry, and breaks
 * in whose span a content lies that the entry no longer has, where their hint speaks of several such entries.
 */
export const adjacentBreaks = (
  db: Kysely<DB>,
  { merchantNo, contents, vanishedAt }: EntryHistory,
  batchNo: string,
): Promise<BreakRow[]> =>
  db
    .selectFrom('continuity_break')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .where((eb) =>
      eb.or([
        eb('after_batch_no', '=', batchNo),
        eb('before_batch_no', '=', batchNo),
        eb('hint_batch_no', '=', batchNo),
        ...(vanishedAt === null ? contents.slice(0, -1) : contents).map(({ entry }) =>
          eb.and([
            eb('hint', 'in', SEVERAL_ENTRIES),
            eb('hint_batch_no', 'is', null),
            eb('currency', '=', entry.currency),
            eb('begin_ms', '<=', entry.bookedMs),
            eb('end_ms', '>=', entry.bookedMs),
          ]),
        ),
      ]),
    )
    .orderBy('id', 'desc')
    .limit(ROWS_AROUND_MAX)
    .execute();
