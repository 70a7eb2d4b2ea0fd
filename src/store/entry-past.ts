/** Reads how entries changed over time: every content, since when, and whether the platform still shows the entry. */
import { sql, type Kysely } from 'kysely';
import type { Account, BusinessDay, LedgerEntry } from '../ledger/entry.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';

/** Most entries that one call may ask for. */
export const ENTRIES_ASKED_MAX = 1_000;

/** A content that an entry has or had. */
export interface PastContent extends LedgerEntry {
  readonly version: number;
  readonly day: BusinessDay;
  /** When it was first seen with this content. */
  readonly since: Date;
}

export interface EntryPast {
  /** Oldest first; the last one is the current one. */
  readonly contents: readonly PastContent[];
  /** Null while the platform shows the entry. */
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
  db: Kysely<DB>,
  merchantNo: string,
  batchNos: readonly string[],
): Promise<ReadonlyMap<string, EntryPast>> {
  if (batchNos.length > ENTRIES_ASKED_MAX)
    throw new Error(`${batchNos.length} entries asked for at once, ${ENTRIES_ASKED_MAX} at most`);
  const content = (table: string) => sql`${sql.ref(`${table}.version`)},
    ${sql.ref(`${table}.currency`)}, ${sql.ref(`${table}.transaction_type`)}, ${sql.ref(`${table}.credit`)},
    ${sql.ref(`${table}.debit`)}, ${sql.ref(`${table}.balance`)}, ${sql.ref(`${table}.booked_at`)},
    ${sql.ref(`${table}.booked_ms`)}`;
  const { rows } = await sql<Row>`
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
    FROM contents ORDER BY batch_no, version`.execute(db);
  const pasts = new Map<string, { contents: PastContent[]; vanishedAt: Date | null }>();
  for (const { firstSeenAt, vanishedAt, replacedAt, ...one } of rows) {
    const past = pasts.get(one.batchNo) ?? { contents: [], vanishedAt };
    pasts.set(one.batchNo, past);
    past.contents.push({ ...one, since: replacedAt ?? firstSeenAt });
  }
  return pasts;
}

/** A healed break and where it was. */
export interface HealedBreak {
  readonly id: number;
  readonly beginMs: number;
  readonly endMs: number;
  readonly afterBatchNo: string | null;
  readonly beforeBatchNo: string;
}

/** Most healed breaks that are checked for one account day. */
const HEALED_BREAKS_MAX = 1_000;
/**
 * A break is stored under the day of the entry after it. Breaks are searched for up to this many days after the day
 * asked about.
 */
const DAYS_AFTER_MAX = 31;

/** Breaks of the day and of the days after it that healed between `from` and `to`. Uses continuity_break_account. */
export async function healedBreaks(
  db: Kysely<DB>,
  { merchantNo, currency }: Account,
  day: BusinessDay,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<HealedBreak[]> {
  const { rows } = await sql<HealedBreak>`
    SELECT id, begin_ms AS "beginMs", end_ms AS "endMs", after_batch_no AS "afterBatchNo",
      before_batch_no AS "beforeBatchNo"
    FROM continuity_break
    WHERE merchant_no = ${merchantNo} AND currency = ${currency}
      AND day BETWEEN ${day}::date AND ${day}::date + ${DAYS_AFTER_MAX}::int
      AND status = 'healed' AND closed_at BETWEEN ${from} AND ${to}
    ORDER BY id LIMIT ${HEALED_BREAKS_MAX}`.execute(db);
  return rows;
}
