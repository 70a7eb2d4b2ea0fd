/** Stores certificates, and says where the last reading failed. */
import { IS_SILENT } from './silent-accounts.ts';
import { sql, type RawBuilder } from 'kysely';
import { mergeWindows, subtractWindows } from '../ledger/window.ts';
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import { EVERY_CURRENCY, ofMerchants, storedCurrency } from './account-filter.ts';
import { arrayLiteral, type Db, type Trx, rowsOf } from './engine/database.ts';
import { HELD_ALREADY } from './engine/lease.ts';
import { sharedRead, withPlaces } from './engine/shared-statement.ts';
import { heldWriters } from './store-entries.ts';
import type { WindowToStore } from './compare-with-stored.ts';

/**
 * Largest value of the column. A larger total cannot be true; the problem text of the failed reading has it in full.
 */
const TOTAL_MAX = 2_147_483_647;

/**
 * Stores the rows of readings and removes the rows they replace. The readings are of one merchant and one currency (or
 * all of every one), and of windows that do not overlap.
 *
 * - A certified reading replaces every row inside its window, and its window is joined to the certified spans.
 * `cutFailedSpans` has to follow, as failed spans may be longer.
 * - A failed reading replaces the failed rows inside its window.
 * - A reading with the same figures as the stored row writes nothing.
 *
 * The rows inside a window are queried in a subquery with OFFSET 0, which the planner cannot turn into a join.
 */
export async function storeCertificates(trx: Trx, readings: readonly WindowToStore[]): Promise<void> {
  const [first] = readings;
  if (first === undefined) return;
  await sql`
    WITH held AS MATERIALIZED ${heldWriters([first], HELD_ALREADY)}, ${keptCertificates([readings], sql`held`)}
    SELECT`.execute(trx);
}

/**
 * The same for a WITH: of many writers, each with readings of one currency (or all of every one), which may be none. `held` names
 * the rows of those for whom they are stored: see `heldWriters`.
 */
export function keptCertificates(
  readingsOfEach: readonly (readonly WindowToStore[])[],
  held: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    sent AS MATERIALIZED (
      SELECT held.merchant_no, held.at, held.run_id, sent.*, problem IS NULL AS certified,
        coalesce(sent.asked, ${sql.lit(EVERY_CURRENCY)}) AS currency
      FROM ${sentCertificates(readingsOfEach)} JOIN ${held} AS held USING (nth)
    ), inside AS (
      DELETE FROM sync_window WHERE ctid = ANY (ARRAY(
        SELECT old.ctid FROM sent CROSS JOIN LATERAL (
          SELECT w.ctid FROM sync_window w
          WHERE w.merchant_no = sent.merchant_no AND w.currency = coalesce(sent.asked, w.currency)
            AND (sent.certified OR w.certified_at IS NULL)
            AND w.begin_ms >= sent.begin_ms AND w.end_ms BETWEEN sent.begin_ms AND sent.end_ms
            AND (w.currency, w.begin_ms, w.end_ms) <> (sent.currency, sent.begin_ms, sent.end_ms)
          OFFSET 0
        ) AS old
      ))
    ), joined AS (
      INSERT INTO certified_span AS known (merchant_no, currency, spans)
      SELECT merchant_no, currency, new.spans FROM (
        SELECT merchant_no, currency, range_agg(int8range(begin_ms, end_ms, '[]')) AS spans
        FROM sent WHERE certified GROUP BY merchant_no, currency
      ) AS new
      WHERE NOT EXISTS (
        SELECT FROM certified_span same
        WHERE same.merchant_no = new.merchant_no AND same.currency = new.currency AND same.spans @> new.spans OFFSET 0
      )
      ON CONFLICT (merchant_no, currency) DO UPDATE SET spans = known.spans + excluded.spans
    ), stored AS (
    INSERT INTO sync_window (merchant_no, currency, begin_ms, end_ms, total, distinct_count, quarantined_count,
      requests, certified_at, problem, run_id)
    SELECT merchant_no, currency, begin_ms, end_ms, total, distinct_count, quarantined_count, requests,
      CASE WHEN certified THEN at END, problem, run_id
    FROM sent
    WHERE NOT EXISTS (
      SELECT FROM sync_window same
      WHERE same.merchant_no = sent.merchant_no AND same.currency = sent.currency
        AND same.begin_ms = sent.begin_ms AND same.end_ms = sent.end_ms
        AND same.proven_currencies = '{}'
        AND (same.total, same.distinct_count, same.quarantined_count, same.problem)
          IS NOT DISTINCT FROM (sent.total, sent.distinct_count, sent.quarantined_count, sent.problem)
      OFFSET 0
    )
    ON CONFLICT (merchant_no, currency, begin_ms, end_ms) DO UPDATE
      SET total = excluded.total, distinct_count = excluded.distinct_count, requests = excluded.requests,
        quarantined_count = excluded.quarantined_count, certified_at = excluded.certified_at,
        problem = excluded.problem, run_id = excluded.run_id, proven_currencies = excluded.proven_currencies
    )`;
}

function sentCertificates(readingsOfEach: readonly (readonly WindowToStore[])[]): RawBuilder<unknown> {
  const readings = withPlaces(readingsOfEach);
  const column = (value: (one: (typeof readings)[number]) => string | number | null) =>
    arrayLiteral(readings.map(value));
  const distinct = (entries: readonly LedgerEntry[]): number =>
    new Set(entries.map((entry) => entry.batchNo)).size;
  return sql`
    unnest(
      ${column(({ nth }) => nth)}::int[], ${column(({ currency }) => currency)}::text[],
      ${column(({ window }) => window.beginMs)}::bigint[], ${column(({ window }) => window.endMs)}::bigint[],
      ${column(({ reading }) => Math.min(reading.total, TOTAL_MAX))}::int[],
      ${column(({ reading }) => distinct(reading.entries))}::int[],
      ${column(({ reading }) => reading.unreadable.length)}::int[], ${column(({ reading }) => reading.requests)}::int[],
      ${column(({ reading }) => (reading.certified ? null : (reading.problem ?? 'not certified')))}::text[]
    ) AS sent (nth, asked, begin_ms, end_ms, total, distinct_count, quarantined_count, requests, problem)`;
}

/**
 * Cuts the window of a certified reading out of the failed spans that overlap it. Where only one currency was certified, a failed span of
 * all currencies also keeps the part inside the window; its row then names this currency as proven.
 */
export async function cutFailedSpans(
  trx: Trx,
  { merchantNo, window: { beginMs, endMs }, currency: certified }: Omit<WindowToStore, 'reading'>,
): Promise<void> {
  const currency = storedCurrency(certified);
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

interface UncertifiedWindow extends Window {
  readonly problem: string;
}

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

/**
 * By merchant, the spans inside `within` whose last reading was not certified, or in which entries are absent, with the
 * reason.
 */
export async function uncertifiedOfEach(
  db: Db,
  merchants: readonly string[],
  within: Window,
): Promise<ReadonlyMap<string, readonly UncertifiedWindow[]>> {
  const overlaps = sql`${ofMerchants(merchants)} AND begin_ms <= ${within.endMs} AND end_ms >= ${within.beginMs}`;
  const rows = await rowsOf(db)<
    Window & { merchantNo: string; problem: string | null; absent: number; isHeld: boolean }
  >`
    SELECT merchant_no AS "merchantNo", greatest(begin_ms, ${within.beginMs}) AS "beginMs",
      least(end_ms, ${within.endMs}) AS "endMs", problem, absent, "isHeld"
    FROM (
      SELECT merchant_no, begin_ms, end_ms, problem, 0 AS absent, false AS "isHeld" FROM sync_window
      WHERE certified_at IS NULL AND ${overlaps}
      UNION ALL
      SELECT merchant_no, begin_ms, end_ms, NULL, count(*), bool_and(held_since IS NOT NULL) FROM absent_entry
      WHERE ${overlaps} GROUP BY 1, 2, 3
      UNION ALL
      SELECT merchant_no, begin_ms, end_ms, currency || ' has no entry since ' || newest_day || ', for longer than ever before',
        0, false FROM silent_account
      WHERE ${IS_SILENT} AND ${overlaps}
    ) AS open
    ORDER BY 2, 3, problem IS NULL`;
  const windows = new Map<string, UncertifiedWindow[]>();
  for (const { merchantNo, beginMs, endMs, problem, absent, isHeld } of rows) {
    const missing =
      `${absent} stored ${absent === 1 ? 'entry was' : 'entries were'} missing when it was read last, and ` +
      (isHeld
        ? 'they are held: `daybook amendments` shows them'
        : 'a later run has to miss them too before they count as vanished');
    const window = { beginMs, endMs, problem: problem ?? missing };
    windows.set(merchantNo, [...(windows.get(merchantNo) ?? []), window]);
  }
  return windows;
}

export interface Span {
  readonly begin_ms: number;
  readonly end_ms: number;
}

const clip = (row: Span, within: Window): Window => ({
  beginMs: Math.max(row.begin_ms, within.beginMs),
  endMs: Math.min(row.end_ms, within.endMs),
});

interface CertifiedAsked {
  readonly merchantNo: string;
  readonly within: Window;
  readonly currency: string | null;
}

/**
 * The spans inside `within` that are proven. A span is proven if it is certified, if no later reading of it failed,
 * and if no entry in it is absent and no account too silent. Certificates of all currencies always count. With `currency`, those of this
 * currency count too, and problems of other currencies do not matter; without it, a problem of any currency matters.
 * Sorted, without overlap.
 */
export async function certifiedWindows(
  db: Db,
  merchantNo: string,
  within: Window,
  currency: string | null = null,
): Promise<Window[]> {
  const [certified] = await certifiedWindowsOf(db, [{ merchantNo, within, currency }]);
  return certified!;
}

export async function certifiedWindowsOf(db: Db, asked: readonly CertifiedAsked[]): Promise<Window[][]> {
  const answers: Window[][] = asked.map(() => []);
  if (asked.length === 0) return answers;
  const rows = await rowsOf(db)<{ nth: number; beginMs: number; endMs: number }>`
    SELECT asked.nth::int AS nth, lower(proven) AS "beginMs", upper(proven) - 1 AS "endMs"
    FROM unnest(
      ${arrayLiteral(asked.map(({ merchantNo }) => merchantNo))}::text[],
      ${arrayLiteral(asked.map(({ currency }) => currency))}::text[],
      ${arrayLiteral(asked.map(({ within }) => within.beginMs))}::bigint[],
      ${arrayLiteral(asked.map(({ within }) => within.endMs))}::bigint[]
    ) WITH ORDINALITY AS asked (merchant_no, currency, begin_ms, end_ms, nth)
    CROSS JOIN LATERAL unnest(${PROVEN_SPANS}) AS proven
    ORDER BY nth, proven`;
  for (const { nth, beginMs, endMs } of rows) answers[nth - 1]!.push({ beginMs, endMs });
  return answers;
}

export const certifiedOfEach = (db: Db, merchants: readonly string[], within: Window): Promise<Window[][]> =>
  certifiedWindowsOf(
    db,
    merchants.map((merchantNo) => ({ merchantNo, within, currency: null })),
  );

const spansOf = (currency: RawBuilder<unknown>): RawBuilder<unknown> => sql`coalesce((
  SELECT held.spans FROM certified_span held
  WHERE held.merchant_no = asked.merchant_no AND held.currency = ${currency}
), '{}')`;

/** Spans that are not proven: their last reading failed, entries in them are absent, or the account is silent for too long. The tables have few such rows. */
const OPEN_SPANS = sql`coalesce((
  SELECT range_agg(int8range(failed.begin_ms, failed.end_ms, '[]')) FROM sync_window failed
  WHERE failed.merchant_no = asked.merchant_no AND failed.certified_at IS NULL
    AND failed.begin_ms <= asked.end_ms AND failed.end_ms >= asked.begin_ms
    AND (asked.currency IS NULL OR (
      failed.currency IN (${EVERY_CURRENCY}, asked.currency) AND asked.currency <> ALL (failed.proven_currencies)
    ))
), '{}') + coalesce((
  SELECT range_agg(int8range(absent.begin_ms, absent.end_ms, '[]')) FROM absent_entry absent
  WHERE absent.merchant_no = asked.merchant_no AND absent.begin_ms <= asked.end_ms AND absent.end_ms >= asked.begin_ms
    AND (asked.currency IS NULL OR absent.currency = asked.currency)
), '{}') + coalesce((
  SELECT range_agg(int8range(silent.begin_ms, silent.end_ms, '[]')) FROM silent_account silent
  WHERE silent.merchant_no = asked.merchant_no AND silent.begin_ms <= asked.end_ms AND silent.end_ms >= asked.begin_ms
    AND ${IS_SILENT} AND (asked.currency IS NULL OR silent.currency = asked.currency)
), '{}')`;

/**
 * The proven spans, as a multirange, of a row `asked (merchant_no, currency, begin_ms, end_ms)`. A window whose end lies
 * before its begin has none.
 */
export const PROVEN_SPANS: RawBuilder<unknown> = sql`(
  (${spansOf(sql.lit(EVERY_CURRENCY))} + ${spansOf(sql`asked.currency`)})
    * int8range(asked.begin_ms, greatest(asked.end_ms + 1, asked.begin_ms))::int8multirange
    - (${OPEN_SPANS})
)`;

export interface SeenWindow extends Window {
  readonly currency: string | null;
  readonly total: number;
  readonly isDoubtful: boolean;
}

/** The windows that end inside the given one, in order. Goes along sync_window_end, so older ones cost nothing. */
export const seenWindows = sharedRead<Window & { readonly merchantNo: string }, SeenWindow>(
  {
    begin_ms: ['bigint', ({ beginMs }) => beginMs],
    end_ms: ['bigint', ({ endMs }) => endMs],
  },
  sql`
    SELECT w.begin_ms AS "beginMs", w.end_ms AS "endMs", nullif(currency, ${sql.lit(EVERY_CURRENCY)}) AS currency, total,
      certified_at IS NULL OR quarantined_count > 0 AS "isDoubtful"
    FROM sync_window w WHERE w.merchant_no = asked.merchant_no AND w.end_ms BETWEEN asked.begin_ms AND asked.end_ms
    ORDER BY w.end_ms`,
);
