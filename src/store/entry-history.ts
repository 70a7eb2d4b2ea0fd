/**
 * Finds everything stored under one batch number: its contents over time, what came unreadable, and the breaks next to
 * it.
 */
import { sql } from 'kysely';
import type { Chosen } from '../ledger/account-filter.ts';
import type { BreakHint, LedgerEntry, Account, BusinessDay } from '../ledger/entry.ts';
import { ofMerchants } from './account-filter.ts';
import { quarantineRows, type QuarantineRow } from './quarantine.ts';
import type { BreakRow } from './breaks/breaks.ts';
import { entryJson, ENTRY } from './entries.ts';
import { type Db, rowsOf, arrayLiteral } from './engine/database.ts';

/** Most entries found for one number. Each merchant may count on its own, so all of them may have this number. */
export const ENTRIES_FOUND_MAX = 20;
const ROWS_AROUND_MAX = 50;

const SEVERAL_ENTRIES: BreakHint[] = [
  'vanished-entry',
  'vanished-in-span',
  'amended-entry',
  'amended-in-span',
  'several-changes',
];

export interface EntryContent {
  readonly version: number;
  readonly entry: LedgerEntry;
  readonly seenAt: Date;
  /** The run that brought it; null for the first content, of which the run is not kept. */
  readonly runId: number | null;
}

export interface EntryHistory {
  readonly merchantNo: string;
  readonly contents: readonly EntryContent[];
  readonly vanishedAt: Date | null;
  /** Since when the entry is absent: readings do not hold it, and it is not yet believed to be gone. */
  readonly absentSince: Date | null;
}

/**
 * The entry of that number of each of these merchants, in their order, up to `ENTRIES_FOUND_MAX`. A content was first seen at the time when the content before it was replaced.
 */
export async function findEntries(db: Db, batchNo: string, merchants: Chosen): Promise<EntryHistory[]> {
  const rows = await entriesOfNumber(db, batchNo, merchants);
  if (rows.length === 0) return [];
  const having = ofMerchants(rows.map(({ merchantNo }) => merchantNo));
  const versions = await rowsOf(db)<
    Version & { merchantNo: string; supersededAt: Date; runId: number | null }
  >`
    SELECT merchant_no AS "merchantNo", version, ${entryJson('v')} AS entry, superseded_at AS "supersededAt", run_id AS "runId"
    FROM ledger_entry_version v WHERE ${having} AND batch_no = ${batchNo} ORDER BY version`;
  const absent = await rowsOf(db)<{ merchantNo: string; since: Date }>`
    SELECT merchant_no AS "merchantNo", absent_since AS since FROM absent_entry WHERE ${having} AND batch_no = ${batchNo}`;
  return rows.map(({ merchantNo, firstSeenAt, vanishedAt, ...current }) => {
    const replaced = versions.filter((one) => one.merchantNo === merchantNo);
    const contents = [...replaced, current].map(({ version, entry }, at) => ({
      version,
      entry,
      seenAt: replaced[at - 1]?.supersededAt ?? firstSeenAt,
      runId: replaced[at - 1]?.runId ?? null,
    }));
    const absentSince = absent.find((one) => one.merchantNo === merchantNo)?.since ?? null;
    return { merchantNo, contents, vanishedAt, absentSince };
  });
}

type Version = Pick<EntryContent, 'version' | 'entry'>;

function entriesOfNumber(db: Db, batchNo: string, merchants: Chosen) {
  return rowsOf(db)<Version & { merchantNo: string; firstSeenAt: Date; vanishedAt: Date | null }>`
    SELECT merchant_no AS "merchantNo", version, ${entryJson('e')} AS entry, first_seen_at AS "firstSeenAt",
      vanished_at AS "vanishedAt"
    FROM ledger_entry e WHERE ${ofMerchants(merchants)} AND batch_no = ${batchNo}
    ORDER BY merchant_no LIMIT ${ENTRIES_FOUND_MAX}`;
}

export const unreadableOfNumber = (db: Db, batchNo: string, merchants: Chosen): Promise<QuarantineRow[]> =>
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
  db: Db,
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

export const ENTRIES_ASKED_MAX = 1_000;

export interface PastContent extends LedgerEntry {
  readonly version: number;
  readonly day: BusinessDay;
  readonly since: Date;
}

export interface EntryPast {
  readonly contents: readonly PastContent[];
  readonly vanishedAt: Date | null;
}

interface Row extends Omit<PastContent, 'since'>, Pick<EntryPast, 'vanishedAt'> {
  readonly firstSeenAt: Date;
  /** When the content before this one was replaced; null for the first. */
  readonly replacedAt: Date | null;
}

const CONTENT = sql`batch_no, version, currency, transaction_type, credit, debit, balance, booked_at, booked_ms`;

/**
 * The past of each entry, by batch number. Numbers that this database does not know are left out. Each is queried
 * by primary key.
 */
export async function pastOfEntries(
  db: Db,
  merchantNo: string,
  batchNos: readonly string[],
): Promise<ReadonlyMap<string, EntryPast>> {
  if (batchNos.length > ENTRIES_ASKED_MAX)
    throw new Error(`${batchNos.length} entries asked for at once, ${ENTRIES_ASKED_MAX} at most`);
  const rows = await rowsOf(db)<Row>`
    WITH asked (batch_no) AS MATERIALIZED (SELECT unnest(${arrayLiteral(batchNos)}::text[])), held AS MATERIALIZED (
      SELECT e.* FROM asked CROSS JOIN LATERAL (
        SELECT * FROM ledger_entry WHERE merchant_no = ${merchantNo} AND batch_no = asked.batch_no OFFSET 0
      ) AS e
    ), contents AS (
      SELECT ${CONTENT}, NULL::timestamptz AS superseded_at, first_seen_at, vanished_at FROM held
      UNION ALL
      SELECT old.*, held.first_seen_at, held.vanished_at
      FROM held CROSS JOIN LATERAL (
        SELECT ${CONTENT}, superseded_at FROM ledger_entry_version
        WHERE merchant_no = ${merchantNo} AND batch_no = held.batch_no OFFSET 0
      ) AS old
      WHERE held.version > 1
    )
    SELECT ${ENTRY}, version, booked_at::date AS day, first_seen_at AS "firstSeenAt", vanished_at AS "vanishedAt",
      lag(superseded_at) OVER (PARTITION BY batch_no ORDER BY version) AS "replacedAt"
    FROM contents ORDER BY batch_no, version`;
  const pasts = new Map<string, { contents: PastContent[]; vanishedAt: Date | null }>();
  for (const { firstSeenAt, vanishedAt, replacedAt, ...one } of rows) {
    const past = pasts.get(one.batchNo) ?? { contents: [], vanishedAt };
    pasts.set(one.batchNo, past);
    past.contents.push({ ...one, since: replacedAt ?? firstSeenAt });
  }
  return pasts;
}

export interface HealedBreak {
  readonly id: number;
  readonly beginMs: number;
  readonly endMs: number;
  readonly afterBatchNo: string | null;
  readonly beforeBatchNo: string;
}

const HEALED_BREAKS_MAX = 1_000;
/**
 * A break is stored under the day of the entry after it. Breaks are searched for up to this many days after the day
 * asked about.
 */
const DAYS_AFTER_MAX = 31;

export const healedBreaks = (
  db: Db,
  { merchantNo, currency }: Account,
  day: BusinessDay,
  { from, to }: { readonly from: Date; readonly to: Date },
) => rowsOf(db)<HealedBreak>`
    SELECT id, begin_ms AS "beginMs", end_ms AS "endMs", after_batch_no AS "afterBatchNo",
      before_batch_no AS "beforeBatchNo"
    FROM continuity_break
    WHERE merchant_no = ${merchantNo} AND currency = ${currency}
      AND day BETWEEN ${day}::date AND ${day}::date + ${DAYS_AFTER_MAX}::int
      AND status = 'healed' AND closed_at BETWEEN ${from} AND ${to}
    ORDER BY id LIMIT ${HEALED_BREAKS_MAX}`;
