/** Fills a database with a few rows for each of very many accounts, and counts the rows that it sends. */
import { sql, type Kysely } from 'kysely';
import type { DB } from '../../src/store/engine/schema.ts';
import { NOW } from './support.ts';

const MERCHANTS = 40;
export const CURRENCIES = ['EUR', 'KWD', 'USD'] as const;
export const merchantOf = (n: number): string => `M${String(n).padStart(4, '0')}`;
export const FIRST_DAY = '2026-03-08';
export const LAST_DAY = '2026-03-09';

/** For each account: two days, each changed, broken, due and published, and an entry that was amended and vanished. */
export async function fillAccounts(db: Kysely<DB>): Promise<void> {
  const account = sql`
    SELECT 'M' || lpad(n::text, 4, '0') AS merchant_no, currency
    FROM generate_series(1, ${MERCHANTS}::int) n CROSS JOIN unnest(${[...CURRENCIES]}::text[]) AS currency`;
  const day = sql`
    SELECT account.*, day::date FROM (${account}) AS account CROSS JOIN
      generate_series(${FIRST_DAY}::date, ${LAST_DAY}::date, interval '1 day') AS day`;
  const entry = sql`merchant_no, 'B' || currency, 1, currency, '1', 1, 1, ${FIRST_DAY}::timestamp, 1`;
  const statements = [
    sql`INSERT INTO merchant (merchant_no, added_at)
      SELECT DISTINCT merchant_no, ${NOW}::timestamptz FROM (${account}) AS account`,
    sql`INSERT INTO certificate (merchant_no, day) SELECT DISTINCT merchant_no, day FROM (${day}) AS day`,
    sql`INSERT INTO account_day (merchant_no, currency, day, opening, credit_total, credit_count, debit_total,
        debit_count, closing, verdict, restarted)
      SELECT day.*, 0, 1, 1, 0, 0, 1, 'broken', true FROM (${day}) AS day`,
    sql`INSERT INTO continuity_break (merchant_no, currency, day, before_batch_no, expected_balance, found_balance,
        missing_net, hint, begin_ms, end_ms, found_at)
      SELECT day.*, 'B', 0, 1, 1, 'unexplained', 1, 2, ${NOW}::timestamptz FROM (${day}) AS day`,
    sql`INSERT INTO statement (merchant_no, currency, day, revision, opening, credit_total, credit_count, debit_total,
        debit_count, closing, verdict, break_count, row_count, byte_count, sha256, object_key, published_at)
      SELECT day.*, 1, 0, 1, 1, 0, 0, 1, 'broken', 1, 1, 1, repeat('0', 64),
        concat_ws('/', merchant_no, currency, day), ${NOW}::timestamptz FROM (${day}) AS day`,
    sql`INSERT INTO ledger_entry (merchant_no, batch_no, version, currency, transaction_type, credit, balance,
        booked_at, booked_ms, first_seen_at, vanished_at)
      SELECT ${entry}, ${NOW}::timestamptz, ${NOW}::timestamptz FROM (${account}) AS account`,
    sql`UPDATE ledger_entry SET version = 2`,
    sql`INSERT INTO ledger_entry_version (merchant_no, batch_no, version, currency, transaction_type, credit, balance,
        booked_at, booked_ms, superseded_at)
      SELECT ${entry}, ${NOW}::timestamptz FROM (${account}) AS account`,
  ];
  for (const statement of statements) await statement.execute(db);
}

export interface Counting {
  readonly db: Kysely<DB>;
  readonly rowsSent: () => number;
  readonly statements: () => number;
}

/** The same database, and how many rows it has sent and how many statements it was asked so far. */
export function counting(db: Kysely<DB>): Counting {
  let sent = 0;
  let asked = 0;
  return {
    rowsSent: () => sent,
    statements: () => asked,
    db: db.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: ({ result }) => {
        sent += result.rows.length;
        asked += 1;
        return Promise.resolve(result);
      },
    }),
  };
}
