/**
 * A past that many merchants have in common: on each day a credit and a debit of as much, so that it ends on a balance of
 * 0, from which the sandbox's ledgers begin. Entries of any number of days follow from this, for the platform and for
 * daybook's database alike.
 */
import '../src/plugins.ts';
import { sql, type Kysely } from 'kysely';
import { addDays, daysFromTo, dayWindow } from '../src/ledger/business-day.ts';
import type { DB } from '../src/store/engine/schema.ts';
import type { PastPlatform } from './processes.ts';
import { ZONE } from './scenario.ts';
import { markPublished } from './seed.ts';
import type { WireRow } from './wire-row.ts';

export const PAST_ENTRIES_A_DAY = 2;
const AMOUNT = 100;
const CREDIT_HOUR = 9;
const DEBIT_HOUR = 15;
const HOUR_MS = 3_600_000;

export interface PastEntry {
  readonly bookedMs: number;
  /** As the platform shows it, for any merchant. */
  readonly row: (merchantNo: string) => WireRow;
}

/** The entries of each merchant, oldest first. */
export const pastEntries = ({ scenario, days }: PastPlatform): PastEntry[] =>
  daysFromTo(addDays(scenario.from, -days), addDays(scenario.from, -1)).flatMap((day) => {
    const { beginMs } = dayWindow(day, ZONE);
    const entry = (nth: number, hour: number, isCredit: boolean): PastEntry => ({
      bookedMs: beginMs + hour * HOUR_MS,
      row: (merchantNo) => ({
        batchNo: `P${merchantNo}-${day}-${nth}`,
        currency: 'USD',
        busiType: 'SETTLE',
        inAmount: isCredit ? AMOUNT : null,
        outAmount: isCredit ? null : AMOUNT,
        vailAmount: isCredit ? AMOUNT : 0,
        busiDate: `${day} ${String(hour).padStart(2, '0')}:00:00`,
      }),
    });
    return [entry(1, CREDIT_HOUR, true), entry(2, DEBIT_HOUR, false)];
  });

/**
 * Stores the past of all merchants in the database as its nights would have left it: entries, certificates, figures, rows
 * of what was published, runs, and the last check older days. Manifests are stored without their text.
 */
export async function seedPast(db: Kysely<DB>, { scenario, days }: PastPlatform): Promise<void> {
  const lastDay = addDays(scenario.from, -1);
  // Night after night, as rows come in time.
  const nights = sql`generate_series(${lastDay}::timestamp - make_interval(days => ${days - 1}::int),
    ${lastDay}::timestamp, '1 day') AS night (at) CROSS JOIN merchant
    CROSS JOIN LATERAL (SELECT at::date AS day, extract(epoch FROM at AT TIME ZONE ${ZONE})::bigint * 1000 AS begin_ms,
      'merchant=' || merchant_no || '/date=' || at::date || '/' AS folder) AS its`;
  await sql`
    INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, debit, balance, booked_at,
      booked_ms, first_seen_at)
    SELECT merchant_no, 'P' || merchant_no || '-' || day || '-' || nth, 'USD', 'SETTLE', credit, debit, balance,
      at + make_interval(hours => hour), begin_ms + hour * ${HOUR_MS}::bigint, now()
    FROM ${nights} CROSS JOIN (VALUES (1, ${AMOUNT}::int, NULL, ${AMOUNT}::int, ${CREDIT_HOUR}::int),
      (2, NULL, ${AMOUNT}::int, 0, ${DEBIT_HOUR}::int)) AS entry (nth, credit, debit, balance, hour)`.execute(
    db,
  );
  await sql`
    INSERT INTO certificate (merchant_no, day, begin_ms, through_ms, total, entries, unreadable, requests, read_at, changes)
    SELECT merchant_no, day, begin_ms, begin_ms + 86399999, ${PAST_ENTRIES_A_DAY}::int, ${PAST_ENTRIES_A_DAY}::int, 0, 1, now(), 1
    FROM ${nights}`.execute(db);
  await sql`
    INSERT INTO account_day (merchant_no, currency, day, opening, credit_total, credit_count, debit_total, debit_count,
      closing, verdict, last_batch_no, last_booked_ms, restarted, revision, published_version)
    SELECT merchant_no, 'USD', day, 0, ${AMOUNT}::int, 1, ${AMOUNT}::int, 1, 0, 'continuous',
      'P' || merchant_no || '-' || day || '-2', begin_ms + ${DEBIT_HOUR * HOUR_MS}::bigint,
      row_number() OVER (PARTITION BY merchant_no ORDER BY day) = 1, 1, 1
    FROM ${nights} ORDER BY day`.execute(db);
  await markPublished(db);
  await seedPublished(db, nights);
  await sql`
    INSERT INTO run (command, holder, from_day, to_day, started_at, finished_at, exit_code, figures)
    SELECT 'nightly', 'bench:1:-', at::date, at::date, at, at, 0, '{}'
    FROM (SELECT DISTINCT at FROM ${nights}) AS night ORDER BY night.at`.execute(db);
  await sql`
    INSERT INTO run_merchant (merchant_no, run_id, exit_code, reads, holder, figures, finished_at)
    SELECT merchant_no, run.id, 0, true, holder, '{}', finished_at FROM run CROSS JOIN merchant
    ORDER BY run.id`.execute(db);
  const checked = (days - 1) * PAST_ENTRIES_A_DAY;
  await sql`
    INSERT INTO ledger_cursor (merchant_no, currency, checked_from, checked_to, checked_total, is_held, checked_at, round_read,
      round_of, round_began_at, round_through_ms, page_order, by_figures)
    SELECT merchant_no, '', ${addDays(scenario.from, -days)}::date, ${addDays(lastDay, -1)}::date, ${checked}::int, true,
      now(), 0, ${checked}::int, now(), 0, 'oldest first', ${checked}::int
    FROM merchant`.execute(db);
  await sql`VACUUM (ANALYZE)`.execute(db);
}

/** Rows of the statements, summaries and manifests of these nights, and of their files as they were read back. */
async function seedPublished(db: Kysely<DB>, nights: ReturnType<typeof sql>): Promise<void> {
  const sha256 = '0'.repeat(64);
  const statementKey = sql`folder || merchant_no || '_USD_' || day || '.r1.csv'`;
  const summaryKey = sql`folder || merchant_no || '_' || day || '_summary.r1.csv'`;
  await sql`
    INSERT INTO statement (merchant_no, currency, day, revision, sha256, byte_count, row_count, object_key, opening,
      credit_total, credit_count, debit_total, debit_count, closing, verdict, break_count, published_at)
    SELECT merchant_no, 'USD', day, 1, ${sha256}, 300, ${PAST_ENTRIES_A_DAY}::int, ${statementKey}, 0, ${AMOUNT}::int, 1,
      ${AMOUNT}::int, 1, 0, 'continuous', 0, now()
    FROM ${nights}`.execute(db);
  await sql`
    INSERT INTO artifact (merchant_no, day, object_key, kind, revision, sha256, byte_count, published_at, epoch, content,
      stored_sha256, stored_bytes)
    SELECT merchant_no, day, object_key, kind, 1, ${sha256}, 2, now(), 1, CASE kind WHEN 'manifest' THEN '{}' END, ${sha256}, 300
    FROM ${nights} CROSS JOIN LATERAL (VALUES
      (${statementKey}, 'file'), (${summaryKey}, 'summary'), (folder || 'manifest.json', 'manifest')
    ) AS one (object_key, kind)`.execute(db);
}
