/**
 * Finds everything stored under one batch number: its contents over time, what came unreadable, and the breaks next to
 * it.
 */
import { sql, type Selectable } from 'kysely';
import type { Chosen } from '../ledger/account-filter.ts';
import type { BreakHint, LedgerEntry, Account, BusinessDay } from '../ledger/entry.ts';
import { ofMerchants } from './account-filter.ts';
import { quarantineRows, type QuarantineRow } from './amendments.ts';
import type { BreakRow } from './breaks/breaks.ts';
import { entryOf, type EntryColumns } from './entries.ts';
import { type Db, rowsOf, arrayLiteral } from './engine/database.ts';
import type { LedgerEntry as EntryTable, LedgerEntryVersion } from './engine/schema.ts';
import { everyMerchant } from './shared-entries.ts';
import type { ContentChange } from '../ledger/common-change.ts';
import { balanceSteps, type BalanceStep } from '../ledger/moved-balances.ts';

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

type EntryRow = Selectable<EntryTable>;
type VersionRow = Selectable<LedgerEntryVersion>;

/**
 * The entry of that number of each of these merchants, in their order, up to `ENTRIES_FOUND_MAX`. There is no index by number alone, as it would cost every entry stored: where all merchants are meant, each is jumped to
 * and read along the primary key instead.
 */
export async function findEntries(db: Db, batchNo: string, merchants: Chosen): Promise<EntryHistory[]> {
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

async function entriesOfNumber(db: Db, batchNo: string, merchants: Chosen): Promise<EntryRow[]> {
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
  return rowsOf(db)<EntryRow>`
    WITH RECURSIVE merchants (merchant_no) AS (${everyMerchant})
    SELECT found.* FROM merchants CROSS JOIN LATERAL (
      SELECT * FROM ledger_entry e
      WHERE e.merchant_no = merchants.merchant_no AND e.batch_no = ${batchNo} LIMIT 1
    ) AS found
    LIMIT ${ENTRIES_FOUND_MAX}`;
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

type Row = Omit<PastContent, 'since'> & { readonly firstSeenAt: Date; readonly vanishedAt: Date | null } & {
  /** When the content before this one was replaced; null for the first. */
  readonly replacedAt: Date | null;
};

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
  const content = (table: string) => sql`${sql.ref(`${table}.version`)},
    ${sql.ref(`${table}.currency`)}, ${sql.ref(`${table}.transaction_type`)}, ${sql.ref(`${table}.credit`)},
    ${sql.ref(`${table}.debit`)}, ${sql.ref(`${table}.balance`)}, ${sql.ref(`${table}.booked_at`)},
    ${sql.ref(`${table}.booked_ms`)}`;
  const rows = await rowsOf(db)<Row>`
    WITH asked (batch_no) AS MATERIALIZED (SELECT unnest(${arrayLiteral(batchNos)}::text[])), held AS MATERIALIZED (
      SELECT e.* FROM asked CROSS JOIN LATERAL (
        SELECT * FROM ledger_entry WHERE merchant_no = ${merchantNo} AND batch_no = asked.batch_no OFFSET 0
      ) AS e
    ), contents AS (
      SELECT held.batch_no, ${content('held')}, NULL::timestamptz AS superseded_at, held.first_seen_at, held.vanished_at
      FROM held
      UNION ALL
      SELECT held.batch_no, ${content('old')}, old.superseded_at, held.first_seen_at, held.vanished_at
      FROM held CROSS JOIN LATERAL (
        SELECT * FROM ledger_entry_version
        WHERE merchant_no = ${merchantNo} AND batch_no = held.batch_no OFFSET 0
      ) AS old
      WHERE held.version > 1
    )
    SELECT batch_no AS "batchNo", version, currency, transaction_type AS "transactionType", credit, debit, balance,
      booked_at AS "bookedAt", booked_ms AS "bookedMs", booked_at::date AS day, first_seen_at AS "firstSeenAt",
      vanished_at AS "vanishedAt", lag(superseded_at) OVER (PARTITION BY batch_no ORDER BY version) AS "replacedAt"
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
): Promise<HealedBreak[]> => rowsOf(db)<HealedBreak>`
    SELECT id, begin_ms AS "beginMs", end_ms AS "endMs", after_batch_no AS "afterBatchNo",
      before_batch_no AS "beforeBatchNo"
    FROM continuity_break
    WHERE merchant_no = ${merchantNo} AND currency = ${currency}
      AND day BETWEEN ${day}::date AND ${day}::date + ${DAYS_AFTER_MAX}::int
      AND status = 'healed' AND closed_at BETWEEN ${from} AND ${to}
    ORDER BY id LIMIT ${HEALED_BREAKS_MAX}`;

/** Only entries this close before the first balance that moved are checked. */
const BEFORE_MAX = 10;

export interface MovedBalances {
  readonly merchantNo: string;
  readonly kind: 'late' | 'vanished' | 'amended';
  readonly entry: LedgerEntry;
  readonly moved: number;
}

/** Balances that moved without an entry found to have moved them are left out. */
export async function movedBalancesOf(
  db: Db,
  merchantNo: string,
  runId: number,
  changes: readonly ContentChange[],
): Promise<MovedBalances[]> {
  const found: MovedBalances[] = [];
  for (const step of balanceSteps(changes)) {
    const mover = step.isOwn
      ? { kind: 'amended' as const, entry: step.first }
      : await moverOf(db, merchantNo, runId, step);
    if (mover !== null) found.push({ merchantNo, ...mover, moved: step.moved });
  }
  return found;
}

/**
 * The nearest entry before the step that came or went in this run, and has its amount. Goes along ledger_entry_in_time
 * and ledger_entry_vanished_in_time.
 */
async function moverOf(
  db: Db,
  merchantNo: string,
  runId: number,
  { currency, first, by }: BalanceStep,
): Promise<Pick<MovedBalances, 'kind' | 'entry'> | null> {
  const before = sql`e.merchant_no = ${merchantNo} AND e.currency = ${currency} AND e.booked_ms <= ${first.bookedMs}
    AND e.batch_no <> ${first.batchNo}`;
  const rows = await rowsOf(db)<EntryColumns & { readonly kind: 'late' | 'vanished' }>`
    WITH began AS (SELECT started_at AS at FROM run WHERE id = ${runId}),
    near AS (
      (SELECT e.*, 'late' AS kind FROM ledger_entry AS e WHERE ${before} AND e.vanished_at IS NULL
        ORDER BY e.booked_ms DESC LIMIT ${BEFORE_MAX})
      UNION ALL
      (SELECT e.*, 'vanished' FROM ledger_entry AS e WHERE ${before} AND e.vanished_at IS NOT NULL
        ORDER BY e.booked_ms DESC LIMIT ${BEFORE_MAX})
    )
    SELECT batch_no, kind, currency, transaction_type, credit::text, debit::text, balance::text,
      to_char(booked_at, 'YYYY-MM-DD HH24:MI:SS') AS booked_at, booked_ms
    FROM near, began
    WHERE CASE kind WHEN 'late' THEN first_seen_at >= began.at ELSE vanished_at >= began.at END
      AND coalesce(credit, -debit) = CASE kind WHEN 'late' THEN 1 ELSE -1 END * ${by}::numeric
    ORDER BY near.booked_ms DESC LIMIT 1`;
  const [row] = rows;
  return row === undefined ? null : { kind: row.kind, entry: entryOf(row) };
}
