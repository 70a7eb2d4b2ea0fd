/** Stores certificates, and says where the last reading failed. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { Window } from '../ledger/entry.ts';
import { mergeWindows, subtractWindows } from '../ledger/window.ts';
import { EVERY_CURRENCY, ofCurrency, storedCurrency } from './account-filter.ts';
import { joinSpan } from './certified-windows.ts';
import type { DB } from './engine/schema.ts';
import type { WindowToStore } from './window-reading.ts';

/**
 * Largest value of the column. A larger total cannot be true; the problem text of the failed reading has it in full.
 */
const TOTAL_MAX = 2_147_483_647;

/**
 * Stores the row of a reading and removes the rows it replaces.
 *
 * - A certified reading replaces every row inside its window, and its window is joined to the certified spans. It also
 * cuts its window out of failed spans that are longer.
 * - A failed reading replaces the failed rows inside its window.
 * - A reading with the same figures as the stored row writes nothing.
 */
export async function storeCertificate(trx: Transaction<DB>, toStore: WindowToStore): Promise<void> {
  const { merchantNo, window, reading, runId, now } = toStore;
  const currency = storedCurrency(toStore.currency);
  const superseded = reading.certified ? sql`true` : sql`certified_at IS NULL`;
  const distinctCount = new Set(reading.entries.map((entry) => entry.batchNo)).size;
  await sql`
    WITH inside AS (
      DELETE FROM sync_window
      WHERE merchant_no = ${merchantNo} AND ${ofCurrency(toStore.currency)} AND ${superseded}
        AND begin_ms BETWEEN ${window.beginMs} AND ${window.endMs} AND end_ms <= ${window.endMs}
        AND (currency, begin_ms, end_ms) <> (${currency}, ${window.beginMs}, ${window.endMs})
    )${reading.certified ? sql`, joined AS (${joinSpan(merchantNo, currency, window)})` : sql``}
    INSERT INTO sync_window (merchant_no, currency, begin_ms, end_ms, total, distinct_count, quarantined_count,
      requests, certified_at, problem, run_id)
    SELECT sent.* FROM (VALUES (${merchantNo}, ${currency}, ${window.beginMs}::bigint, ${window.endMs}::bigint,
      ${Math.min(reading.total, TOTAL_MAX)}::int, ${distinctCount}::int, ${reading.unreadable.length}::int, ${reading.requests}::int,
      ${reading.certified ? now : null}::timestamptz,
      ${reading.certified ? null : (reading.problem ?? 'not certified')}, ${runId}::bigint)
    ) AS sent (merchant_no, currency, begin_ms, end_ms, total, distinct_count, quarantined_count, requests,
      certified_at, problem, run_id)
    WHERE NOT EXISTS (
      SELECT FROM sync_window same
      WHERE same.merchant_no = ${merchantNo} AND same.currency = ${currency}
        AND same.begin_ms = ${window.beginMs} AND same.end_ms = ${window.endMs}
        AND same.proven_currencies = '{}'
        AND (same.total, same.distinct_count, same.quarantined_count, same.problem)
          IS NOT DISTINCT FROM (sent.total, sent.distinct_count, sent.quarantined_count, sent.problem)
    )
    ON CONFLICT (merchant_no, currency, begin_ms, end_ms) DO UPDATE
      SET total = excluded.total, distinct_count = excluded.distinct_count, requests = excluded.requests,
        quarantined_count = excluded.quarantined_count, certified_at = excluded.certified_at,
        problem = excluded.problem, run_id = excluded.run_id, proven_currencies = excluded.proven_currencies`.execute(
    trx,
  );
  if (reading.certified) await cutFailedSpans(trx, merchantNo, window, currency);
}

/**
 * Cuts the window out of the failed spans that overlap it. Where only one currency was certified, a failed span of
 * all currencies also keeps the part inside the window; its row then names this currency as proven.
 */
async function cutFailedSpans(
  trx: Transaction<DB>,
  merchantNo: string,
  { beginMs, endMs }: Window,
  currency: string,
): Promise<void> {
  const isCut =
    currency === EVERY_CURRENCY
      ? sql`true`
      : sql`(currency = ${currency}
          OR (currency = ${EVERY_CURRENCY} AND NOT ${currency} = ANY (proven_currencies)))`;
  const inside =
    currency === EVERY_CURRENCY
      ? sql``
      : sql`UNION ALL
        SELECT cut.*, greatest(begin_ms, ${beginMs}), least(end_ms, ${endMs}), proven_currencies || ${currency}::text
        FROM cut WHERE currency = ${EVERY_CURRENCY}`;
  await sql`
    WITH cut AS (
      DELETE FROM sync_window
      WHERE merchant_no = ${merchantNo} AND certified_at IS NULL AND ${isCut}
        AND begin_ms <= ${endMs} AND end_ms >= ${beginMs}
      RETURNING *
    ), rest AS (
      SELECT cut.*, begin_ms AS rest_begin_ms, ${beginMs - 1}::bigint AS rest_end_ms, proven_currencies AS proven
      FROM cut
      UNION ALL
      SELECT cut.*, ${endMs + 1}::bigint, end_ms, proven_currencies FROM cut
      ${inside}
    )
    INSERT INTO sync_window (merchant_no, currency, begin_ms, end_ms, total, distinct_count, quarantined_count,
      requests, certified_at, problem, run_id, proven_currencies)
    SELECT DISTINCT ON (currency, rest_begin_ms, rest_end_ms) merchant_no, currency, rest_begin_ms, rest_end_ms, total,
      distinct_count, quarantined_count, requests, NULL::timestamptz, problem, run_id, proven
    FROM rest WHERE rest_begin_ms <= rest_end_ms
    ON CONFLICT (merchant_no, currency, begin_ms, end_ms) DO UPDATE
      SET certified_at = NULL, problem = excluded.problem, run_id = excluded.run_id,
        proven_currencies = excluded.proven_currencies`.execute(trx);
}

export interface UncertifiedWindow extends Window {
  readonly problem: string;
}

/** A reading of a span, as far as it says what is proven. */
export interface ReadSpan extends Span {
  readonly currency: string;
  readonly problem: string | null;
  readonly proven_currencies: readonly string[];
}

/** What `certifiedWindows` says, from the rows of readings and of absent entries that overlap the window. Pure. */
export function provenSpans(
  rows: readonly ReadSpan[],
  waiting: readonly Span[],
  within: Window,
  currency: string | null,
): Window[] {
  const certified = rows.filter((row) => row.problem === null && isAbout(row.currency, currency));
  const failed = rows.filter(
    (row) => row.problem !== null && (currency === null || !row.proven_currencies.includes(currency)),
  );
  const clipped = (spans: readonly Span[]) => spans.map((span) => clip(span, within));
  return subtractWindows(mergeWindows(clipped(certified)), clipped([...failed, ...waiting]));
}

/** Whether a certificate proves the given currency; without a currency, whether it proves all of them. */
const isAbout = (proven: string, currency: string | null): boolean =>
  proven === EVERY_CURRENCY || proven === currency;

/** The spans inside `within` whose last reading was not certified, or in which entries are absent, with the reason. */
export async function uncertifiedWindows(
  db: Kysely<DB>,
  merchantNo: string,
  within: Window,
): Promise<UncertifiedWindow[]> {
  const { rows } = await sql<Span & { problem: string }>`
    SELECT begin_ms, end_ms, problem FROM sync_window
    WHERE merchant_no = ${merchantNo} AND certified_at IS NULL
      AND begin_ms <= ${within.endMs} AND end_ms >= ${within.beginMs}`.execute(db);
  const waiting = (await waitingWindows(db, merchantNo, within)).map((span) => ({
    ...span,
    problem:
      `${span.absent} stored ${span.absent === 1 ? 'entry was' : 'entries were'} missing when it was read last, and a ` +
      'later run has to miss them too before they count as vanished',
  }));
  return [...rows, ...waiting]
    .map((row) => ({ ...clip(row, within), problem: row.problem }))
    .sort((a, b) => a.beginMs - b.beginMs || a.endMs - b.endMs);
}

export interface Span {
  readonly begin_ms: number;
  readonly end_ms: number;
}

const clip = (row: Span, within: Window): Window => ({
  beginMs: Math.max(row.begin_ms, within.beginMs),
  endMs: Math.min(row.end_ms, within.endMs),
});

/**
 * Planned windows that have absent entries, with their number. The table holds only what the last readings left open.
 */
async function waitingWindows(
  db: Kysely<DB>,
  merchantNo: string,
  within: Window,
): Promise<(Span & { readonly absent: number })[]> {
  const { rows } = await sql<Span & { absent: number }>`
    SELECT begin_ms, end_ms, count(*) AS absent FROM absent_entry
    WHERE merchant_no = ${merchantNo} AND begin_ms <= ${within.endMs} AND end_ms >= ${within.beginMs}
    GROUP BY begin_ms, end_ms`.execute(db);
  return rows;
}
