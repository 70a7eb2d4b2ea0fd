/** Stores what pages read of a past of many merchants and of one large day, as nights would have left it. */
import '../src/plugins.ts';
import { sql, type Kysely } from 'kysely';
import { dayWindow } from '../src/ledger/business-day.ts';
import type { BusinessDay } from '../src/ledger/entry.ts';
import type { DB } from '../src/store/engine/schema.ts';
import { ZONE } from './scenario.ts';
import { markPublished } from './seed.ts';

export interface PagesPast {
  readonly merchants: number;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  /** Entries of the last day of `LARGE`. */
  readonly largeDay: number;
}

export const LARGE = 'LARGE';
export const merchantNo = (nth: number): string => `M${String(nth).padStart(6, '0')}`;
const SHA256 = '0'.repeat(64);

export async function seedPages(db: Kysely<DB>, past: PagesPast): Promise<void> {
  const { merchants, from, to } = past;
  const names = sql`SELECT 'M' || lpad(nth::text, 6, '0') AS merchant_no FROM generate_series(1, ${merchants}::int) AS nth
    UNION ALL SELECT ${LARGE}`;
  // Day after day, as rows come in time.
  const days = sql`generate_series(${from}::timestamp, ${to}::timestamp, '1 day') AS night (at) CROSS JOIN (${names}) AS own
    CROSS JOIN LATERAL (SELECT at::date AS day) AS its`;
  await sql`
    INSERT INTO certificate (merchant_no, day, begin_ms, through_ms, total, entries, unreadable, requests, read_at, chained)
    SELECT merchant_no, day, begin_ms, begin_ms + 86399999, 1, 1, 0, 1, now(), true
    FROM ${days} CROSS JOIN LATERAL (SELECT extract(epoch FROM day::timestamp AT TIME ZONE ${ZONE})::bigint * 1000 AS begin_ms) AS place`.execute(
    db,
  );
  // Each on a connection of its own.
  const accountDays = sql`
    INSERT INTO account_day (merchant_no, currency, day, opening, credit_total, credit_count, debit_total, debit_count,
      closing, verdict, revision, published_version)
    SELECT merchant_no, 'USD', day, 1000.00, 12345.67, 1, 12345.67, 0, 1000.00, 'continuous', 1, 1
    FROM ${days}`;
  const statements = sql`
    INSERT INTO statement (merchant_no, currency, day, revision, sha256, byte_count, row_count, object_key, opening,
      credit_total, credit_count, debit_total, debit_count, closing, verdict, break_count, published_at)
    SELECT merchant_no, 'USD', day, 1, ${SHA256}, 300, 1, 'merchant=' || merchant_no || '/date=' || day || '/x.r1.csv', 1000.00,
      12345.67, 1, 12345.67, 0, 1000.00, 'continuous', 0, at
    FROM ${days}`;
  await Promise.all([accountDays.execute(db), statements.execute(db)]);
  await seedRevisions(db);
  await seedLargeDay(db, past);
  await markPublished(db);
  await sql`VACUUM (ANALYZE)`.execute(db);
}

/** One statement in 200 was revised, and somebody had downloaded every second of these. */
async function seedRevisions(db: Kysely<DB>): Promise<void> {
  await sql`
    INSERT INTO statement (merchant_no, currency, day, revision, sha256, byte_count, row_count, object_key, opening,
      credit_total, credit_count, debit_total, debit_count, closing, verdict, break_count, published_at, supersedes)
    SELECT merchant_no, currency, day, 2, sha256, byte_count, row_count, replace(object_key, 'r1', 'r2'), opening,
      credit_total, credit_count, debit_total, debit_count, closing, verdict, break_count, published_at + interval '2 days', 1
    FROM statement WHERE hashtext(object_key) % 200 = 0`.execute(db);
  await sql`
    INSERT INTO audit_event (at, by_whom, command, subject)
    SELECT published_at + interval '1 day', 'local', 'statements get', object_key
    FROM statement WHERE revision = 1 AND hashtext(object_key) % 400 = 0`.execute(db);
}

/** One day of `LARGE`: credits of 0.01, some twelve a second. */
async function seedLargeDay(db: Kysely<DB>, { to, largeDay }: PagesPast): Promise<void> {
  const { beginMs } = dayWindow(to, ZONE);
  await sql`
    INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, balance, booked_at, booked_ms,
      first_seen_at)
    SELECT ${LARGE}, 'L' || lpad(nth::text, 12, '0'), 'USD', 'COLLECT', 0.01, 1000 + nth * 0.01,
      ${to}::timestamp + make_interval(secs => second), ${beginMs}::bigint + second * 1000, now()
    FROM generate_series(1, ${largeDay}::int) AS nth
    CROSS JOIN LATERAL (SELECT (nth - 1)::bigint * 86400 / ${largeDay}::bigint AS second) AS its`.execute(db);
  await sql`
    UPDATE account_day SET opening = 1000, credit_total = ${largeDay}::numeric / 100, credit_count = ${largeDay}::int,
      debit_total = 0, closing = 1000 + ${largeDay}::numeric / 100
    WHERE merchant_no = ${LARGE} AND day = ${to}`.execute(db);
  await sql`
    UPDATE certificate SET total = ${largeDay}::int, entries = ${largeDay}::int, changes = changes + 1
    WHERE merchant_no = ${LARGE} AND day = ${to}`.execute(db);
}
