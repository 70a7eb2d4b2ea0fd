/** Fills a database with a consistent ledger by SQL, for measures that need stored entries and no platform. */
import '../src/plugins.ts';
import { sql, type Kysely } from 'kysely';
import type { DB } from '../src/store/engine/schema.ts';
import { ZONE } from './scenario.ts';

export interface Seed {
  readonly merchantNo: string;
  readonly entries: number;
  /** How many business days, the last one `lastDay`. The entries are spread evenly over them. */
  readonly days: number;
  readonly lastDay: string;
  /** The balance after the last entry, in cents. */
  readonly closingCents?: number;
}

const CLOSING_CENTS = 100_000_000;

/** Inserts the entries, in USD, with certificates. Every day counts as changed. */
export async function seedLedger(db: Kysely<DB>, seed: Seed): Promise<void> {
  const { merchantNo, entries, days, lastDay, closingCents = CLOSING_CENTS } = seed;
  const perDay = Math.ceil(entries / days);
  await sql`
    INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, debit, balance, booked_at,
      booked_ms, first_seen_at)
    SELECT ${merchantNo}, 'S' || lpad(((n * 7919) % 100000007)::text, 9, '0') || '-' || n, 'USD', 'PAY',
      CASE WHEN net >= 0 THEN (net / 100.0)::numeric(20, 2) END,
      CASE WHEN net < 0 THEN (-net / 100.0)::numeric(20, 2) END,
      ((${closingCents}::bigint - still_to_come) / 100.0)::numeric(20, 2),
      booked_at, extract(epoch FROM booked_at AT TIME ZONE ${ZONE})::bigint * 1000, now()
    FROM (
      SELECT n, net, booked_at, coalesce(sum(net) OVER (ORDER BY n DESC ROWS BETWEEN UNBOUNDED PRECEDING
        AND 1 PRECEDING), 0) AS still_to_come
      FROM (
        SELECT n, (n * 104729) % 200000 - 99950 AS net,
          ${lastDay}::timestamp - make_interval(days => ${days - 1}::int - (n / ${perDay}::int)::int)
            + make_interval(secs => floor((n % ${perDay}::int) * 86399.0 / ${perDay}::int)) AS booked_at
        FROM generate_series(0, ${entries - 1}::bigint) AS n
      ) AS line
    ) AS chained ORDER BY n`.execute(db);
  const seededDays = sql`generate_series(${lastDay}::timestamp - make_interval(days => ${days - 1}::int),
    ${lastDay}::timestamp, '1 day')`;
  await sql`
    INSERT INTO certificate (merchant_no, day, begin_ms, through_ms, total, entries, unreadable, requests, read_at, changes)
    SELECT ${merchantNo}, day::date, begin_ms, begin_ms + 86399999, ${perDay}, ${perDay}, 0, ${Math.ceil(perDay / 100)}, now(), 1
    FROM ${seededDays} AS day
      CROSS JOIN LATERAL (SELECT extract(epoch FROM day AT TIME ZONE ${ZONE})::bigint * 1000 AS begin_ms)`.execute(
    db,
  );
  await sql`VACUUM (ANALYZE) ledger_entry`.execute(db);
}

/** Adds figures and statements for those days, as if they had been reconciled and published long ago. */
export async function seedPublishedDays(
  db: Kysely<DB>,
  { merchantNo }: Pick<Seed, 'merchantNo'>,
): Promise<void> {
  await sql`
    INSERT INTO account_day (merchant_no, currency, day, opening, credit_total, credit_count, debit_total, debit_count,
      closing, verdict, last_batch_no, last_booked_ms, restarted, revision, published_version)
    SELECT merchant_no, currency, day, closing - credits + debits, credits, credit_count, debits, debit_count, closing,
      'continuous', last_batch_no, last_booked_ms, row_number() OVER (ORDER BY day) = 1, 1, 1
    FROM (
      SELECT merchant_no, currency, booked_at::date AS day, coalesce(sum(credit), 0) AS credits,
        count(credit) AS credit_count, coalesce(sum(debit), 0) AS debits, count(debit) AS debit_count,
        (array_agg(balance ORDER BY booked_ms DESC))[1] AS closing,
        (array_agg(batch_no ORDER BY booked_ms DESC))[1] AS last_batch_no, max(booked_ms) AS last_booked_ms
      FROM ledger_entry WHERE merchant_no = ${merchantNo} GROUP BY 1, 2, 3
    ) AS folded`.execute(db);
  await sql`
    INSERT INTO statement (merchant_no, currency, day, revision, sha256, byte_count, row_count, object_key, opening,
      credit_total, credit_count, debit_total, debit_count, closing, verdict, break_count, published_at)
    SELECT merchant_no, currency, day, 1, repeat('0', 64), 0, credit_count + debit_count, 'seeded', opening,
      credit_total, credit_count, debit_total, debit_count, closing, verdict, 0, now()
    FROM account_day`.execute(db);
  await markPublished(db);
  await sql`VACUUM (ANALYZE)`.execute(db);
}

/** All stored days count as chained and published as they are. */
export async function markPublished(db: Kysely<DB>): Promise<void> {
  await sql`UPDATE certificate SET chained = true, compared = true`.execute(db);
  await sql`UPDATE account_day SET published_version = version`.execute(db);
}
