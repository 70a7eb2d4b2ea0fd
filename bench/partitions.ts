/**
 * Measures ledger_entry divided by months against ledger_entry in one piece: inserting a night, and the two reads that
 * matter most. `node bench/partitions.ts [million entries]`, by default 5. Prints a table in Markdown.
 */
import '../src/plugins.ts';
import { sql, type Kysely } from 'kysely';
import type { DB } from '../src/store/engine/schema.ts';
import { median, timed } from './measure.ts';
import { startServer } from './server.ts';

const MILLIONS = Number(process.argv[2] ?? 5);
const MONTHS = 24;
const MERCHANTS = 500;
const ROUNDS = 3;
const TABLES = ['whole', 'parts'] as const;

/** Entries of all merchants, spread evenly over the time from one instant to another. */
const entries = (count: number, first: number, from: string, to: string) => sql`
  SELECT 'M' || lpad((n % ${MERCHANTS}::int)::text, 4, '0'), 'B' || (${first}::bigint + n), 'USD', 'PAY', 1, NULL::numeric, n,
    at, extract(epoch FROM at)::bigint * 1000, now(), 1, NULL::timestamptz
  FROM (
    SELECT n, (${from}::timestamp + (${to}::timestamp - ${from}::timestamp) * (n::float8 / ${count}::float8))::timestamp(0) AS at
    FROM generate_series(1, ${count}::bigint) AS n
  ) AS line`;

async function makeTables(db: Kysely<DB>): Promise<void> {
  await sql`CREATE TABLE whole (LIKE ledger_entry INCLUDING ALL)`.execute(db);
  await sql`CREATE TABLE parts (LIKE ledger_entry INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
    PARTITION BY RANGE (booked_ms)`.execute(db);
  // A key of a divided table has to name what it is divided by.
  await sql`ALTER TABLE parts ADD PRIMARY KEY (merchant_no, batch_no, booked_ms)`.execute(db);
  await sql`CREATE INDEX ON parts (merchant_no, currency, booked_ms, batch_no) WHERE vanished_at IS NULL`.execute(
    db,
  );
  await sql`CREATE INDEX ON parts (merchant_no, vanished_at) WHERE vanished_at IS NOT NULL`.execute(db);
  for (let month = 0; month <= MONTHS; month += 1) {
    const [from, to] = [month, month + 1].map((at) => Date.UTC(2024, at, 1));
    await sql`CREATE TABLE ${sql.id(`parts_${month}`)} PARTITION OF parts
      FOR VALUES FROM (${sql.lit(from!)}) TO (${sql.lit(to!)})`.execute(db);
  }
  for (const table of TABLES)
    await sql`INSERT INTO ${sql.id(table)}
      ${entries(MILLIONS * 1_000_000, 0, '2024-01-01', '2026-01-01')}`.execute(db);
  await sql`VACUUM ANALYZE`.execute(db);
}

/** 20 new entries of each merchant. */
const night = (table: string, round: number) => sql`
  INSERT INTO ${sql.id(table)}
  ${entries(MERCHANTS * 20, 1_000_000_000 + round * 1_000_000, '2026-01-02', '2026-01-03')}`;

/** A merchant's batch numbers as a window brings them: which are stored, and with which content? */
const comparison = (table: string, merchant: string, bound: ReturnType<typeof sql>) => sql`
  SELECT count(held.balance) FROM (
    SELECT merchant_no, batch_no, booked_ms FROM whole
    WHERE merchant_no = ${merchant} AND currency = 'USD' AND vanished_at IS NULL ORDER BY booked_ms DESC LIMIT 1000
  ) AS sent LEFT JOIN LATERAL (
    SELECT * FROM ${sql.id(table)} e WHERE e.merchant_no = sent.merchant_no AND e.batch_no = sent.batch_no ${bound} OFFSET 0
  ) AS held ON true`;

const chain = (table: string, merchant: string) => sql`
  SELECT * FROM ${sql.id(table)} WHERE merchant_no = ${merchant} AND currency = 'USD' AND vanished_at IS NULL
    AND booked_ms >= ${Date.UTC(2025, 11, 20)}::bigint ORDER BY booked_ms, batch_no`;

const server = await startServer();
try {
  const { db } = await server.freshDatabase();
  await makeTables(db);
  const merchants = Array.from({ length: 40 }, (_, n) => `M${String(n).padStart(4, '0')}`);
  const ofMerchants = (query: (merchant: string) => ReturnType<typeof sql>) => () =>
    merchants.reduce(async (before, merchant) => {
      await before;
      await query(merchant).execute(db);
    }, Promise.resolve());
  const work = (table: string, round: number) => ({
    [`a night of ${(MERCHANTS * 20).toLocaleString('en')} new entries`]: () =>
      night(table, round).execute(db),
    'the chain’s read, 40 merchants, 12 days': ofMerchants((one) => chain(table, one)),
    'the comparison, 40 merchants, 1,000 batch numbers': ofMerchants((one) => comparison(table, one, sql``)),
    'the same, with the month known': ofMerchants((one) =>
      comparison(table, one, sql`AND e.booked_ms = sent.booked_ms`),
    ),
  });
  const found = new Map<string, Record<string, number[]>>();
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const table of TABLES)
      for (const [what, run] of Object.entries(work(table, round))) {
        const ms = await timed(run);
        const row = found.get(what) ?? { whole: [], parts: [] };
        found.set(what, row);
        // The first round only fills the caches.
        if (round > 0) row[table]!.push(ms);
      }
  const cell = (ms: readonly number[]) => `${Math.round(median(ms)).toLocaleString('en')} ms`;
  process.stdout.write(
    `| ${MILLIONS} million entries, ${MONTHS} months | one table | by months |\n|---|---|---|\n`,
  );
  for (const [what, { whole, parts }] of found)
    process.stdout.write(`| ${what} | ${cell(whole!)} | ${cell(parts!)} |\n`);
} finally {
  await server.stop();
}
