/** Entries that were amended or vanished: the lists that a person works through, and what changed together in a run. */
import { sql } from 'kysely';
import { EVERY_ACCOUNT, type AccountFilter } from '../ledger/account-filter.ts';
import { commonChange, MANY_MIN, type CommonChange, type ContentChange } from '../ledger/common-change.ts';
import type { BusinessDay, LedgerEntry } from '../ledger/entry.ts';
import { balanceSteps, type BalanceStep } from '../ledger/moved-balances.ts';
import { ofAccounts, ofCurrencies, ofMerchants } from './account-filter.ts';
import { ENTRY_COLUMNS, entryJson } from './entries.ts';
import { type Db, rowOf, rowsOf } from './engine/database.ts';

/** Most rows of a list for a person. */
export const LIST_ROWS_MAX = 10_000;

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

/**
 * Replaced contents of entries, each with the content that followed it, newest first. With `currencies`: those whose
 * old or new content is in one of them. Walks along ledger_entry_version_recent and queries each next content by its
 * key.
 */
export const listAmendments = (db: Db, filter: PersonFilter = EVERY_ACCOUNT) =>
  rowsOf(db)<Amendment>`
    SELECT old.merchant_no AS "merchantNo", ${entryJson('old')} AS before, next.content AS after, old.version,
      old.superseded_at AS "supersededAt", old.run_id AS "runId"
    FROM ledger_entry_version old CROSS JOIN LATERAL (
      SELECT ${entryJson('v')} AS content, currency FROM ledger_entry_version v
      WHERE v.merchant_no = old.merchant_no AND v.batch_no = old.batch_no AND v.version = old.version + 1
      UNION ALL
      SELECT ${entryJson('e')}, currency FROM ledger_entry e
      WHERE e.merchant_no = old.merchant_no AND e.batch_no = old.batch_no AND e.version = old.version + 1
    ) AS next
    WHERE ${ofMerchants(filter.merchants, 'old')}
      AND (${ofCurrencies(filter.currencies, 'old')} OR ${ofCurrencies(filter.currencies, 'next')})
      ${filter.runId === undefined ? sql`` : sql`AND old.run_id = ${filter.runId}`}
    ORDER BY old.superseded_at DESC, old.merchant_no, old.batch_no, old.version DESC
    LIMIT ${filter.limit ?? LIST_ROWS_MAX}`;

/**
 * Entries that the platform no longer shows, newest first. Uses ledger_entry_vanished, an index of vanished entries
 * only.
 */
export async function listVanished(
  db: Db,
  filter: Omit<PersonFilter, 'runId'> = EVERY_ACCOUNT,
): Promise<{ readonly merchantNo: string; readonly entry: LedgerEntry; readonly vanishedAt: Date }[]> {
  const rows = await db
    .selectFrom('ledger_entry')
    .select(['merchant_no as merchantNo', 'vanished_at as vanishedAt', ...ENTRY_COLUMNS])
    .where('vanished_at', 'is not', null)
    .where(ofAccounts(filter))
    .orderBy('vanished_at', 'desc')
    .orderBy('merchant_no')
    .orderBy('batch_no')
    .limit(filter.limit ?? LIST_ROWS_MAX)
    .execute();
  return rows.map(({ merchantNo, vanishedAt, ...entry }) => ({ merchantNo, entry, vanishedAt: vanishedAt! }));
}

/** Most amendments of a run that are compared. A change of all entries shows in fewer. */
const COMPARED_MAX = 1_000;

export interface MerchantCommonChange extends CommonChange {
  readonly merchantNo: string;
  readonly of: number;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

export interface ChangesTogether {
  readonly common: MerchantCommonChange | null;
  readonly moved: readonly MovedBalances[];
}

/** What this run found to have changed for the merchant's entries together. `amended`: how many amendments it found. */
export async function changesTogether(
  db: Db,
  merchantNo: string,
  { runId, amended }: { readonly runId: number; readonly amended: number },
): Promise<ChangesTogether> {
  const amendments =
    amended === 0
      ? []
      : await listAmendments(db, { merchants: [merchantNo], currencies: null, runId, limit: COMPARED_MAX });
  const moved = await movedBalancesOf(db, merchantNo, runId, amendments);
  if (moved.length > 0) return { common: null, moved };
  const found = commonChange(amendments);
  if (found === null) return { common: await vanishedTogether(db, merchantNo, runId), moved };
  const days = amendments.map(({ before }) => before.bookedAt.slice(0, 10)).sort();
  const common = { merchantNo, ...found, of: amendments.length, from: days[0]!, to: days.at(-1)! };
  return { common, moved };
}

interface VanishedCounts {
  readonly gone: number;
  /** Those whose content another number has now. */
  readonly renumbered: number;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly currencies: readonly string[];
  /** The currencies of which the platform still shows an entry of that time or later. */
  readonly laterIn: readonly string[];
}

/**
 * Entries that are absent, or vanished in this run. Goes by ledger_entry_vanished, absent_entry's key and
 * ledger_entry_in_time.
 */
async function vanishedTogether(
  db: Db,
  merchantNo: string,
  runId: number,
): Promise<MerchantCommonChange | null> {
  const { gone, renumbered, from, to, currencies, laterIn } = await rowOf(db)<VanishedCounts>`
    WITH gone AS MATERIALIZED (
      SELECT e.* FROM ledger_entry AS e
      WHERE e.merchant_no = ${merchantNo} AND e.vanished_at >= (SELECT started_at FROM run WHERE id = ${runId})
      UNION ALL
      SELECT e.* FROM absent_entry AS a JOIN ledger_entry AS e USING (merchant_no, batch_no)
      WHERE a.merchant_no = ${merchantNo} AND e.vanished_at IS NULL
      LIMIT ${COMPARED_MAX}
    )
    SELECT count(*) AS gone, count(twin.is_there) AS renumbered, min(booked_at)::date AS from, max(booked_at)::date AS to,
      array_agg(DISTINCT gone.currency) AS currencies,
      ARRAY (
        SELECT account.currency
        FROM (SELECT DISTINCT currency FROM account_day WHERE merchant_no = ${merchantNo}) AS account CROSS JOIN LATERAL (
          SELECT FROM ledger_entry AS e
          WHERE e.merchant_no = ${merchantNo} AND e.currency = account.currency AND e.vanished_at IS NULL
            AND e.booked_ms >= (SELECT min(booked_ms) FROM gone)
            AND NOT EXISTS (SELECT FROM absent_entry AS a WHERE (a.merchant_no, a.batch_no) = (e.merchant_no, e.batch_no))
          LIMIT 1
        ) AS later
      ) AS "laterIn"
    FROM gone LEFT JOIN LATERAL (
      SELECT true AS is_there FROM ledger_entry AS e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = gone.currency AND e.booked_ms = gone.booked_ms
        AND e.vanished_at IS NULL AND e.batch_no <> gone.batch_no AND e.balance = gone.balance
        AND (e.credit, e.debit) IS NOT DISTINCT FROM (gone.credit, gone.debit)
        AND e.first_seen_at > gone.first_seen_at
      LIMIT 1
    ) AS twin ON true`;
  if (gone < MANY_MIN) return null;
  const found = { merchantNo, of: gone, from, to };
  if (renumbered >= gone / 2)
    return {
      ...found,
      count: renumbered,
      what: 'have another number now, with the same content: they were renumbered',
    };
  if (currencies.some((currency) => laterIn.includes(currency))) return null;
  const what =
    laterIn.length === 0
      ? 'are no longer shown, and nothing of that time or later is: an older state is answered'
      : `are no longer shown, and nothing in ${currencies.join(', ')} of that time or later is, though it is in ${laterIn.join(', ')}`;
  return { ...found, count: gone, what };
}

/** Only entries this close before the first balance that moved are checked. */
const BEFORE_MAX = 10;

export interface MovedBalances {
  readonly merchantNo: string;
  readonly kind: 'late' | 'vanished' | 'amended';
  readonly entry: LedgerEntry;
  readonly moved: number;
}

/** Balances that moved without an entry found to have moved them are left out. */
async function movedBalancesOf(
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
  const [mover] = await rowsOf(db)<Pick<MovedBalances, 'kind' | 'entry'>>`
    WITH began AS (SELECT started_at AS at FROM run WHERE id = ${runId}),
    near AS (
      (SELECT e.*, 'late' AS kind FROM ledger_entry AS e WHERE ${before} AND e.vanished_at IS NULL
        ORDER BY e.booked_ms DESC LIMIT ${BEFORE_MAX})
      UNION ALL
      (SELECT e.*, 'vanished' FROM ledger_entry AS e WHERE ${before} AND e.vanished_at IS NOT NULL
        ORDER BY e.booked_ms DESC LIMIT ${BEFORE_MAX})
    )
    SELECT kind, ${entryJson('near')} AS entry
    FROM near, began
    WHERE CASE kind WHEN 'late' THEN first_seen_at >= began.at ELSE vanished_at >= began.at END
      AND coalesce(credit, -debit) = CASE kind WHEN 'late' THEN 1 ELSE -1 END * ${by}::numeric
    ORDER BY near.booked_ms DESC LIMIT 1`;
  return mover ?? null;
}
