/** How far the ledger is proven: which spans a certified reading covers, and where the last reading failed. */
import { sql, type Kysely, type Transaction } from 'kysely';
import { mergeWindows, subtractWindows } from '../ledger/window.ts';
import type { Window } from '../ledger/entry.ts';
import type { DB } from './schema.ts';
import type { WindowToStore } from './window-reading.ts';

/** Largest value of the column: a total beyond it is made up, and the problem of its failed reading tells it in full. */
const TOTAL_MAX = 2_147_483_647;
/** Stored where every currency was read. */
const EVERY_CURRENCY = '';

/**
 * Puts the reading's row in place of those it supersedes. Certified: every row inside its window, and the part inside
 * of failed spans that reach beyond it. Failed: failed rows inside. Same figures again write nothing.
 */
export async function storeCertificate(trx: Transaction<DB>, toStore: WindowToStore): Promise<void> {
  const { merchantNo, window, reading, runId, now } = toStore;
  const currency = toStore.currency ?? EVERY_CURRENCY;
  const ofCurrency = currency === EVERY_CURRENCY ? sql`true` : sql`currency = ${currency}`;
  const superseded = reading.certified ? sql`true` : sql`certified_at IS NULL`;
  const distinctCount = new Set(reading.entries.map((entry) => entry.batchNo)).size;
  await sql`
    WITH inside AS (
      DELETE FROM sync_window
      WHERE merchant_no = ${merchantNo} AND ${ofCurrency} AND ${superseded}
        AND begin_ms BETWEEN ${window.beginMs} AND ${window.endMs} AND end_ms <= ${window.endMs}
        AND (currency, begin_ms, end_ms) <> (${currency}, ${window.beginMs}, ${window.endMs})
    )
    INSERT INTO sync_window (merchant_no, currency, begin_ms, end_ms, total, distinct_count, quarantined_count,
      requests, certified_at, problem, run_id)
    SELECT sent.* FROM (VALUES (${merchantNo}, ${currency}, ${window.beginMs}::bigint, ${window.endMs}::bigint,
      ${Math.min(reading.total, TOTAL_MAX)}::int, ${distinctCount}::int, ${reading.rejected.length}::int, ${reading.requests}::int,
      ${reading.certified ? now : null}::timestamptz,
      ${reading.certified ? null : (reading.problem ?? 'not certified')}, ${runId}::bigint)
    ) AS sent (merchant_no, currency, begin_ms, end_ms, total, distinct_count, quarantined_count, requests,
      certified_at, problem, run_id)
    WHERE NOT EXISTS (
      SELECT FROM sync_window same
      WHERE same.merchant_no = ${merchantNo} AND same.currency = ${currency}
        AND same.begin_ms = ${window.beginMs} AND same.end_ms = ${window.endMs}
        AND (same.total, same.distinct_count, same.quarantined_count, same.problem)
          IS NOT DISTINCT FROM (sent.total, sent.distinct_count, sent.quarantined_count, sent.problem)
    )
    ON CONFLICT (merchant_no, currency, begin_ms, end_ms) DO UPDATE
      SET total = excluded.total, distinct_count = excluded.distinct_count, requests = excluded.requests,
        quarantined_count = excluded.quarantined_count, certified_at = excluded.certified_at,
        problem = excluded.problem, run_id = excluded.run_id`.execute(trx);
  if (reading.certified) await cutFailedSpans(trx, merchantNo, window, ofCurrency);
}

/** Failed spans that reach beyond the window keep only what lies outside it. */
async function cutFailedSpans(
  trx: Transaction<DB>,
  merchantNo: string,
  window: Window,
  ofCurrency: ReturnType<typeof sql>,
): Promise<void> {
  await sql`
    WITH cut AS (
      DELETE FROM sync_window
      WHERE merchant_no = ${merchantNo} AND certified_at IS NULL AND ${ofCurrency}
        AND begin_ms <= ${window.endMs} AND end_ms >= ${window.beginMs}
      RETURNING *
    ), rest AS (
      SELECT cut.*, begin_ms AS rest_begin_ms, ${window.beginMs - 1}::bigint AS rest_end_ms FROM cut
      UNION ALL
      SELECT cut.*, ${window.endMs + 1}::bigint, end_ms FROM cut
    )
    INSERT INTO sync_window (merchant_no, currency, begin_ms, end_ms, total, distinct_count, quarantined_count,
      requests, certified_at, problem, run_id)
    SELECT DISTINCT ON (currency, rest_begin_ms, rest_end_ms) merchant_no, currency, rest_begin_ms, rest_end_ms, total,
      distinct_count, quarantined_count, requests, NULL::timestamptz, problem, run_id
    FROM rest WHERE rest_begin_ms <= rest_end_ms
    ON CONFLICT (merchant_no, currency, begin_ms, end_ms) DO UPDATE
      SET certified_at = NULL, problem = excluded.problem, run_id = excluded.run_id`.execute(trx);
}

export interface UncertifiedWindow extends Window {
  readonly problem: string;
}

/**
 * Spans within the window that are proven: certified, and not read without certificate since. With `currency`, proofs
 * of that currency alone count too. Sorted, without overlap.
 */
export async function certifiedWindows(
  db: Kysely<DB>,
  merchantNo: string,
  within: Window,
  currency?: string,
): Promise<Window[]> {
  const rows = await overlapping(db, merchantNo, within, currency);
  const spans = (certified: boolean) =>
    rows.filter((row) => (row.problem === null) === certified).map((row) => clip(row, within));
  return subtractWindows(mergeWindows(spans(true)), spans(false));
}

/** Spans within the window whose last reading could not be certified, with the reason. */
export async function uncertifiedWindows(
  db: Kysely<DB>,
  merchantNo: string,
  within: Window,
): Promise<UncertifiedWindow[]> {
  const { rows } = await sql<{ begin_ms: number; end_ms: number; problem: string }>`
    SELECT begin_ms, end_ms, problem FROM sync_window
    WHERE merchant_no = ${merchantNo} AND certified_at IS NULL
      AND begin_ms <= ${within.endMs} AND end_ms >= ${within.beginMs}
    ORDER BY begin_ms, end_ms`.execute(db);
  return rows.map((row) => ({ ...clip(row, within), problem: row.problem }));
}

interface SpanRow {
  readonly begin_ms: number;
  readonly end_ms: number;
  readonly problem: string | null;
}

const clip = (row: SpanRow, within: Window): Window => ({
  beginMs: Math.max(row.begin_ms, within.beginMs),
  endMs: Math.min(row.end_ms, within.endMs),
});

async function overlapping(db: Kysely<DB>, merchantNo: string, within: Window, currency = EVERY_CURRENCY) {
  return db
    .selectFrom('sync_window')
    .select(['begin_ms', 'end_ms', 'problem'])
    .where('merchant_no', '=', merchantNo)
    .where('currency', 'in', [EVERY_CURRENCY, currency])
    .where('begin_ms', '<=', within.endMs)
    .where('end_ms', '>=', within.beginMs)
    .execute();
}
