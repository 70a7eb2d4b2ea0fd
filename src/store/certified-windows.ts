/**
 * Says which spans of the ledger are proven. All certified time is kept joined, one row for each merchant and what was
 * asked for, so this costs the same however long the history is.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Window } from '../ledger/entry.ts';
import { EVERY_CURRENCY } from './account-filter.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';

/**
 * Joins certified windows to the spans certified before. `windows` is a query of their `begin_ms` and `end_ms`. For the
 * statement that stores their certificates. Writes nothing if all of this was certified before.
 */
export function joinSpans(
  merchantNo: string,
  currency: string,
  windows: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    INSERT INTO certified_span AS held (merchant_no, currency, spans)
    SELECT ${merchantNo}, ${currency}, new.spans
    FROM (SELECT range_agg(int8range(begin_ms, end_ms, '[]')) AS spans FROM (${windows}) AS windows) AS new
    WHERE new.spans IS NOT NULL AND NOT EXISTS (
      SELECT FROM certified_span same
      WHERE same.merchant_no = ${merchantNo} AND same.currency = ${currency} AND same.spans @> new.spans
    )
    ON CONFLICT (merchant_no, currency) DO UPDATE SET spans = held.spans + excluded.spans`;
}

/** What is asked: the proven spans of a merchant inside a window; `currency` null for what is proven of all. */
export interface CertifiedAsked {
  readonly merchantNo: string;
  readonly within: Window;
  readonly currency: string | null;
}

/**
 * The spans inside `within` that are proven. A span is proven if it is certified, if no later reading of it failed,
 * and if no entry in it is absent. Certificates of all currencies always count. With `currency`, those of this
 * currency count too, and problems of other currencies do not matter; without it, a problem of any currency matters.
 * Sorted, without overlap.
 */
export async function certifiedWindows(
  db: Kysely<DB>,
  merchantNo: string,
  within: Window,
  currency: string | null = null,
): Promise<Window[]> {
  const [certified] = await certifiedWindowsOf(db, [{ merchantNo, within, currency }]);
  return certified!;
}

/** The same for many questions in one statement; the answers are in the order of the questions. */
export async function certifiedWindowsOf(
  db: Kysely<DB>,
  asked: readonly CertifiedAsked[],
): Promise<Window[][]> {
  const answers: Window[][] = asked.map(() => []);
  if (asked.length === 0) return answers;
  const { rows } = await sql<{ nth: number; beginMs: number; endMs: number }>`
    SELECT asked.nth::int AS nth, lower(proven) AS "beginMs", upper(proven) - 1 AS "endMs"
    FROM unnest(
      ${arrayLiteral(asked.map(({ merchantNo }) => merchantNo))}::text[],
      ${arrayLiteral(asked.map(({ currency }) => currency))}::text[],
      ${arrayLiteral(asked.map(({ within }) => within.beginMs))}::bigint[],
      ${arrayLiteral(asked.map(({ within }) => within.endMs))}::bigint[]
    ) WITH ORDINALITY AS asked (merchant_no, currency, begin_ms, end_ms, nth)
    CROSS JOIN LATERAL unnest(${PROVEN_SPANS}) AS proven
    ORDER BY nth, proven`.execute(db);
  for (const { nth, beginMs, endMs } of rows) answers[nth - 1]!.push({ beginMs, endMs });
  return answers;
}

/** What is proven of all currencies of each merchant inside `within`, in the order of the merchants. */
export const certifiedOfEach = (
  db: Kysely<DB>,
  merchants: readonly string[],
  within: Window,
): Promise<Window[][]> =>
  certifiedWindowsOf(
    db,
    merchants.map((merchantNo) => ({ merchantNo, within, currency: null })),
  );

/** What was certified when this was asked for; nothing where `currency` is null. */
const spansOf = (currency: RawBuilder<unknown>): RawBuilder<unknown> => sql`coalesce((
  SELECT held.spans FROM certified_span held
  WHERE held.merchant_no = asked.merchant_no AND held.currency = ${currency}
), '{}')`;

/** Spans that are not proven: their last reading failed, or entries in them are absent. Both tables have few such rows. */
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
