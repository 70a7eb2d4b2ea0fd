/** Fills a database with a consistent ledger by SQL alone, for measures that need stored entries and no platform. */
import { sql, type Kysely } from 'kysely';
import type { DB } from '../src/store/schema.ts';

export interface Seed {
  readonly merchantNo: string;
  readonly entries: number;
  /** Business days (UTC) the entries are spread over evenly, ending with `lastDay`. */
  readonly days: number;
  readonly lastDay: string;
}

/** Inserts the entries, in USD, three of four seconds alone and the rest in ties, and certificates for all days. */
export async function seedLedger(db: Kysely<DB>, seed: Seed): Promise<void> {
  const { merchantNo, entries, days, lastDay } = seed;
  const perDay = Math.ceil(entries / days);
  await sql`
    INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, debit, balance, booked_at,
      booked_ms, first_seen_at)
    SELECT ${merchantNo}, 'S' || lpad(((n * 7919) % 100000007)::text, 9, '0') || '-' || n, 'USD', 'PAY',
      CASE WHEN net >= 0 THEN (net / 100.0)::numeric(20, 2) END,
      CASE WHEN net < 0 THEN (-net / 100.0)::numeric(20, 2) END,
      ((100000000 + sum(net) OVER (ORDER BY n)) / 100.0)::numeric(20, 2),
      booked_at, extract(epoch FROM booked_at)::bigint * 1000, now()
    FROM (
      SELECT n, (n * 104729) % 200000 - 99950 AS net,
        ${lastDay}::timestamp - make_interval(days => ${days - 1}::int - (n / ${perDay}::int)::int)
          + make_interval(secs => floor((n % ${perDay}::int) * 86399.0 / ${perDay}::int)) AS booked_at
      FROM generate_series(0, ${entries - 1}::bigint) AS n
    ) AS line`.execute(db);
  await sql`
    INSERT INTO sync_window (merchant_no, currency, begin_ms, end_ms, total, distinct_count, requests, certified_at)
    SELECT ${merchantNo}, '', extract(epoch FROM day)::bigint * 1000, extract(epoch FROM day)::bigint * 1000 + 86399999,
      ${perDay}, ${perDay}, ${Math.ceil(perDay / 100)}, now()
    FROM generate_series(${lastDay}::timestamp - make_interval(days => ${days - 1}::int), ${lastDay}::timestamp,
      '1 day') AS day`.execute(db);
  await sql`
    INSERT INTO changed_day
    SELECT ${merchantNo}, 'USD', day::date FROM generate_series(${lastDay}::timestamp
      - make_interval(days => ${days - 1}::int), ${lastDay}::timestamp, '1 day') AS day`.execute(db);
  await sql`ANALYZE ledger_entry`.execute(db);
}
