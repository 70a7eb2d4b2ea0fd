/**
 * Matches own books with a ledger of the same size, and then the new entries of one night: in that book, and in one of a tenth of
 * the size.
 */
import { sql } from 'kysely';
import { recordAuditEvent } from '../../src/store/audit.ts';
import { matchBooks } from '../../src/plugins/books/match.ts';
import { count, median, timed, withDatabase, type Bench, type Measure } from '../measure.ts';
import type { BenchDatabase } from '../server.ts';

const MERCHANT_NO = 'BENCH-BOOKS';
const ENTRIES_A_DAY = 2_000;
const FULL_MS_MAX = 60_000;
const RULES = {
  rules: ['reference', 'same-time', 'same-day', 'near-day', 'sum', 'tolerance'],
  days: 3,
  sumEntriesMax: 6,
  tolerances: new Map([['USD', { max: '0.50', type: 'fee' }]]),
} as const;

/**
 * Entries with these numbers on both sides. Each second own entry names its batch, each fifth amount is a usual price, one in a hundred is
 * missing on a side, one in fifty is booked a day later.
 */
async function fill(
  { db }: BenchDatabase,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const now = new Date('2026-03-31T00:00:00Z');
  const auditEventId = await recordAuditEvent(
    db,
    { by: 'bench', command: 'books import', subject: 'x' },
    now,
  );
  const numbers = sql`generate_series(${from}::int, ${to}::int - 1) AS n`;
  const amount = sql`CASE WHEN n % 5 = 0 THEN (10 + n % 37)::numeric ELSE (1 + abs(hashint4(n)) % 900000)::numeric / 100 END`;
  const day = sql`(date '2020-01-01' + n / ${ENTRIES_A_DAY}::int)`;
  await sql`
    INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, balance, booked_at, booked_ms, first_seen_at)
    SELECT ${MERCHANT_NO}, 'B' || lpad(n::text, 12, '0'), 'USD', 'PAY', ${amount}, 0, ${day} + time '12:00',
      extract(epoch FROM ${day} + time '04:00')::bigint * 1000, ${now} FROM ${numbers} WHERE n % 100 <> 7`.execute(
    db,
  );
  await sql`
    WITH made AS (
      INSERT INTO book_import (merchant_no, book, source, content_sha256, audit_event_id, rows_read, added, changed, returned, withdrawn, unreadable)
      VALUES (${MERCHANT_NO}, 'books', 'x', '', ${auditEventId}, 0, 0, 0, 0, 0, 0) RETURNING id
    )
    INSERT INTO book_entry (merchant_no, book, number, currency, day, amount, reference_keys, reference, type, note, import_id)
    SELECT ${MERCHANT_NO}, 'books', n, 'USD', ${day} + CASE WHEN n % 50 = 3 THEN 1 ELSE 0 END, ${amount},
      CASE WHEN n % 2 = 0 THEN ARRAY['B' || lpad(n::text, 12, '0')] ELSE '{}' END, '', '', '', made.id
    FROM ${numbers}, made WHERE n % 100 <> 11`.execute(db);
  await sql`
    INSERT INTO book_day (merchant_no, currency, day)
    SELECT DISTINCT ${MERCHANT_NO}, 'USD', day FROM book_entry WHERE import_id = (SELECT max(id) FROM book_import)
    ON CONFLICT (merchant_no, currency, day) DO UPDATE SET is_changed = true`.execute(db);
}

/** Matches a book from nothing, then several nights with new entries. Returns the times. */
const timesOf = (bench: Bench, entries: number, fresh: number): Promise<{ full: number; night: number }> =>
  withDatabase(bench, async (database) => {
    const match = () =>
      timed(() => matchBooks(database.db, { merchantNo: MERCHANT_NO, rules: RULES, now: new Date() }));
    await fill(database, { from: 0, to: entries });
    await database.settle();
    const full = await match();
    const nights: number[] = [];
    for (let night = 0; night < 3; night++) {
      const from = entries + night * fresh;
      await fill(database, { from, to: from + fresh });
      await sql`VACUUM ANALYZE book_match_entry`.execute(database.db);
      await database.settle();
      nights.push(await match());
    }
    return { full, night: median(nights) };
  });

export const books: Measure = {
  name: 'books',
  isLong: true,
  measure: async (bench) => {
    const entries = bench.short ? 40_000 : 1_000_000;
    const fresh = entries / 100;
    const large = await timesOf(bench, entries, fresh);
    const small = await timesOf(bench, entries / 10, fresh);
    return [
      {
        what: `matching ${count(entries)} entries with as many of an own book`,
        figure: large.full,
        limit: FULL_MS_MAX,
        limitIs: 'a minute',
        unit: 'ms',
        ratio: large.full / FULL_MS_MAX,
        target: { atMost: 1 },
      },
      {
        what: `matching ${count(fresh)} new entries in that book`,
        figure: large.night,
        limit: small.night,
        limitIs: 'the same in a book of a tenth of the size',
        unit: 'ms',
        ratio: large.night / small.night,
        target: { atMost: 1.3 },
      },
    ];
  },
};
