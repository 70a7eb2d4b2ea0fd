/**
 * A database of a million entries from before 0053 is migrated: nothing of it is lost, changed, or reported twice.
 *
 * @module-tag long
 */
import { sql, type Kysely } from 'kysely';
import { expect, test } from 'vitest';
import { migrate } from '../../src/store/engine/migrations.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { databaseBefore } from '../support/database.ts';
import { fillEvents, fillTasks, insertRows } from './rows-before.ts';

const ENTRIES = 1_000_000;
const MERCHANTS = 10;
const DAYS = 500;

/** Ten merchants, 500 days, 200 entries a day; every hundredth entry was amended, every thousandth has vanished. */
async function fillLedger(db: Kysely<DB>): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // Without triggers, and without the rows that these refer to.
    await sql`SET LOCAL session_replication_role = replica`.execute(trx);
    for (let merchant = 0; merchant < MERCHANTS; merchant += 1)
      await sql`INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, balance, booked_at,
        booked_ms, first_seen_at, version, vanished_at)
      SELECT ${`M${merchant}`}, 'B' || n, 'USD', 'T', n % 997 + 0.25, n, booked, extract(epoch FROM booked) * 1000, now(),
        CASE WHEN n % 100 = 0 THEN 2 ELSE 1 END, CASE WHEN n % 1000 = 7 THEN now() END
      FROM generate_series(1, ${sql.lit(ENTRIES / MERCHANTS)}) AS n,
        LATERAL (SELECT timestamp '2024-01-01' + (n % ${sql.lit(DAYS)}) * interval '1 day' + n % 86399 * interval '1 s') AS at (booked)`.execute(
        trx,
      );
    await sql`INSERT INTO ledger_entry_version (merchant_no, batch_no, version, currency, transaction_type, credit, balance,
        booked_at, booked_ms, superseded_at)
      SELECT merchant_no, batch_no, 1, currency, transaction_type, credit + 1, balance, booked_at, booked_ms, now()
      FROM ledger_entry WHERE version = 2`.execute(trx);
    await sql`INSERT INTO day_entries (merchant_no, currency, day, fingerprint, figured_fingerprint)
      SELECT merchant_no, currency, booked_at::date, sum(booked_ms), sum(booked_ms)
      FROM ledger_entry GROUP BY 1, 2, 3`.execute(trx);
    const figures = { opening: '0', credit_total: '1', credit_count: 1, debit_total: '0', debit_count: 0 };
    const days = Array.from({ length: DAYS }, (_, day) => new Date(Date.UTC(2024, 0, 1 + day)));
    const day = (date: Date): string => date.toISOString().slice(0, 10);
    await insertRows(
      trx,
      'statement',
      days.map((date) => ({
        ...{ merchant_no: 'M1', currency: 'USD', day: day(date), revision: 1, sha256: 's', byte_count: 7 },
        ...{ ...figures, row_count: 1, object_key: day(date), closing: '1', verdict: 'continuous' },
        ...{ break_count: 0, published_at: date, run_id: 1 },
      })),
    );
  });
}

/** Each table that no migration since renames, as the number of its rows and a hash of all of them. */
async function contentsOf(db: Kysely<DB>): Promise<Record<string, unknown>> {
  const { rows } = await sql<{ entries: string; versions: string; days: string; statements: string }>`SELECT
      (SELECT count(*) || ' ' || sum(hashtextextended(one::text, 0)::numeric) FROM ledger_entry one) AS entries,
      (SELECT count(*) || ' ' || sum(hashtextextended(one::text, 0)::numeric) FROM ledger_entry_version one) AS versions,
      (SELECT count(*) || ' ' || sum(hashtextextended(one::text, 0)::numeric) FROM day_entries one) AS days,
      (SELECT count(*) || ' ' || sum(hashtextextended(concat_ws(' ', merchant_no, currency, day, revision, sha256,
        published_at, object_key, opening, closing, verdict), 0)::numeric) FROM statement one) AS statements`.execute(
    db,
  );
  return rows[0]!;
}

const numberOf = async (db: Kysely<DB>, what: ReturnType<typeof sql<{ number: string }>>): Promise<number> =>
  Number((await what.execute(db)).rows[0]!.number);

test('a million entries, open backfills and unreported events: all is there once', async () => {
  const { db } = await databaseBefore('0053');
  await fillEvents(db);
  // Both name a run 1.
  await sql`SET session_replication_role = replica; DELETE FROM run; SET session_replication_role = DEFAULT`.execute(
    db,
  );
  await fillTasks(db);
  await fillLedger(db);
  const before = await contentsOf(db);

  expect(await migrate(db)).not.toEqual([]);
  expect(await contentsOf(db)).toEqual(before);
  expect(String(before['entries'])).toMatch(/^1000000 /);
  expect(await numberOf(db, sql`SELECT count(*) AS number FROM task`)).toBe(15);
  expect(await numberOf(db, sql`SELECT count(*) AS number FROM event WHERE reported_at IS NULL`)).toBe(7);
  expect(await numberOf(db, sql`SELECT count(*) AS number FROM event WHERE reported_at IS NOT NULL`)).toBe(4);
  expect(await migrate(db)).toEqual([]);
}, 300_000);
