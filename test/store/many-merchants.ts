/** Fills a database with what nights leave of very many merchants. */
import { sql, type Kysely } from 'kysely';
import type { DB } from '../../src/store/engine/schema.ts';
import { DAY, NOW } from './support.ts';

const DAY_MS = 86_400_000;

/**
 * The n-th merchant has ten certified days up to yesterday, less the last n % 4, and a good reading, but for every
 * ninth. `troubled`: every fifth has an open range of days before them, every seventh a changed day, every eleventh a
 * break, every 13th an unreadable entry, every 17th a failed window, every 19th a notice with the merchant after it,
 * every 23rd a comparison of older days. Otherwise all have their ten days and a good reading, and nothing is open.
 */
export async function fillMerchants(
  db: Kysely<DB>,
  { merchants, troubled }: { readonly merchants: number; readonly troubled: boolean },
): Promise<void> {
  const numbered = (n: ReturnType<typeof sql>) =>
    sql`'M' || lpad((${n})::text, greatest(4, length((${n})::text)), '0')`;
  const every = (nth: number) =>
    sql`(SELECT ${numbered(sql`n`)} AS merchant_no, n FROM generate_series(1, ${merchants}::int) n
      WHERE n % ${sql.lit(nth)} = 0) AS m`;
  const left = troubled ? sql`n % 4` : sql`0`;
  const statements = [
    sql`INSERT INTO merchant (merchant_no, added_at, joined_at)
      SELECT merchant_no, ${NOW}::timestamptz, ${NOW}::timestamptz FROM ${every(1)}`,
    sql`INSERT INTO certificate (merchant_no, day, begin_ms, through_ms, total, entries, unreadable, requests, read_at, chained)
      SELECT merchant_no, (to_timestamp(at / 1000) AT TIME ZONE 'UTC')::date, at, at + ${DAY_MS - 1}::bigint, 1, 1, 0, 1,
        ${NOW}::timestamptz, true
      FROM ${every(1)} CROSS JOIN LATERAL generate_series(0, 9 - ${left}) AS nth
      CROSS JOIN LATERAL (SELECT ${DAY.endMs + 1 - 10 * DAY_MS}::bigint + nth * ${DAY_MS}::bigint AS at) AS place`,
    sql`INSERT INTO run (command, slot, holder, started_at, finished_at, exit_code)
      VALUES ('nightly', '2026-03-10T01:30', 'test', ${NOW}::timestamptz, ${NOW}::timestamptz, 0)`,
    sql`INSERT INTO run_merchant (merchant_no, run_id, exit_code, reads, figures, finished_at)
      SELECT merchant_no, run.id, 0, true, '{"checked": ["zone"], "requests": 2}', ${NOW}::timestamptz
      FROM run, ${every(1)} WHERE ${troubled ? sql`n % 9 <> 0` : sql`true`}`,
  ];
  const troubles = [
    sql`INSERT INTO request (asked_by, what, number, merchant_no, from_day, to_day, requested_at)
      SELECT 'run', 'read', nextval('request_number'), merchant_no, '2026-01-01'::date + n % 9, '2026-01-20', ${NOW}::timestamptz FROM ${every(5)}`,
    sql`INSERT INTO account_day (merchant_no, currency, day, opening, credit_total, credit_count, debit_total, debit_count, closing, verdict)
      SELECT merchant_no, 'USD', '2026-03-03', 0, 0, 0, 0, 0, 0, 'continuous' FROM ${every(7)}`,
    sql`UPDATE certificate SET chained = false FROM ${every(7)} WHERE certificate.merchant_no = m.merchant_no AND day = '2026-03-03'`,
    sql`INSERT INTO continuity_break (merchant_no, currency, day, before_batch_no, expected_balance, found_balance,
        missing_net, hint, begin_ms, end_ms, found_at)
      SELECT merchant_no, 'USD', '2026-03-05', 'B', 0, 1, 1, 'unexplained', ${DAY.endMs - 4 * DAY_MS}::bigint,
        ${DAY.endMs - 4 * DAY_MS}::bigint, ${NOW}::timestamptz FROM ${every(11)}`,
    sql`INSERT INTO quarantined_entry (merchant_no, raw, reason, fingerprint, span, first_seen_at)
      SELECT merchant_no, '{}', 'no amount', merchant_no, '{[1,2)}', ${NOW}::timestamptz FROM ${every(13)}`,
    sql`INSERT INTO certificate (merchant_no, day, begin_ms, through_ms, total, entries, unreadable, requests, read_at, problem)
      SELECT merchant_no, '2026-03-09', ${DAY.beginMs}, ${DAY.endMs}, 1, 0, 0, 1, ${NOW}::timestamptz, 'one page of two came'
      FROM ${every(17)} ON CONFLICT (merchant_no, day) DO UPDATE SET problem = excluded.problem`,
    sql`INSERT INTO event (merchant_no, kind, subject, data, at, run_id)
      SELECT merchant_no, 'shared', 'USD 2026-03-05 ' || ${numbered(sql`n + 1`)}, jsonb_build_object('currency', 'USD',
        'day', '2026-03-05', 'otherMerchantNo', ${numbered(sql`n + 1`)}, 'figures', '{"count": 1, "batchNos": ["B"]}'::jsonb),
        ${NOW}::timestamptz, run.id FROM run, ${every(19)}`,
    sql`INSERT INTO ledger_cursor (merchant_no, currency, checked_from, checked_to, checked_total, is_held, checked_at, round_read,
        round_of, round_began_at, round_through_ms, page_order)
      SELECT merchant_no, '', '2026-01-01', '2026-02-01', n, n % 2 = 0, ${NOW}::timestamptz, 1, n, ${NOW}::timestamptz,
        0, 'oldest first'
      FROM ${every(23)}`,
  ];
  for (const statement of [...statements, ...(troubled ? troubles : [])]) await statement.execute(db);
}
