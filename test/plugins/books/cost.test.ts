/** A night of few new entries costs as much as the days around them, whatever else the tables hold. */
import { noteDays } from '../../support/note-days.ts';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { matchBooks, type MatchReport } from '../../../src/plugins/books/match.ts';
import { unusedDatabase, type ServerDatabase } from '../../support/database.ts';
import { rowsLookedAt } from '../../store/rows-looked-at.ts';
import { entriesOf, NOW, RULES, startOn, writeLedger } from './random-books.ts';

let database: ServerDatabase;
beforeAll(async () => {
  database = await unusedDatabase();
  await fill('M1', { days: 1_500, ofDay: 10 });
  await fill('M2', { days: 1_500, ofDay: 10 });
});
afterAll(() => database.close());

const matched = (merchantNo: string) => matchBooks(database.db, { merchantNo, rules: RULES, now: NOW });

/** A ledger, and a book with the same entries: each amount is there once in a few weeks. From a start on the book has none. */
async function fill(
  merchantNo: string,
  { days, ofDay, start = null }: { days: number; ofDay: number; start?: number | null },
): Promise<MatchReport> {
  const { db } = database;
  await startOn(db, start, merchantNo);
  await sql`
    INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, balance, booked_at, booked_ms, first_seen_at)
    SELECT ${merchantNo}::text, 'L' || n, 'CNY', 'PAY', 10000 + n % 500, 0, at, extract(epoch FROM at)::bigint * 1000 - 28800000, ${NOW}
    FROM generate_series(0, ${days * ofDay}::int - 1) AS n, LATERAL (SELECT timestamp '2026-03-01' + make_interval(days => n / ${ofDay}::int) AS at) AS t`.execute(
    db,
  );
  await noteDays(db, merchantNo);
  if (start === null)
    await sql`
      INSERT INTO book_entry (merchant_no, book, number, currency, day, amount, reference_keys, reference, type, note, import_id)
      SELECT merchant_no, 'books', batch_no, currency, booked_at::date, credit, '{}', '', '', '', 1
      FROM ledger_entry WHERE merchant_no = ${merchantNo}`.execute(db);
  return matched(merchantNo);
}

/** How many rows a night reads in which an entry comes that takes a pair of equal amounts apart. */
const readOfNight = async (merchantNo: string, day: number, amount: number) => {
  await writeLedger(database.db, entriesOf([`NEW${day} ${day} ${amount}`]), merchantNo);
  return rowsLookedAt(database.db, async () => {
    expect(await matched(merchantNo)).toMatchObject({ isFull: false, undone: { byRule: 2 } });
  });
};

test('before the tables have statistics, and after', async () => {
  expect(await readOfNight('M2', 700, 10_000)).toBeLessThan(25_000);
  await sql`VACUUM ANALYZE`.execute(database.db);
  expect(await readOfNight('M2', 1_000, 10_000)).toBeLessThan(25_000);
});

test('a book that starts after the ledger', async () => {
  await fill('M3', { days: 100, ofDay: 200, start: 100 });
  await writeLedger(database.db, entriesOf(['NEW 101 7']), 'M3');
  const read = await rowsLookedAt(database.db, async () => {
    expect(await matched('M3')).toMatchObject({ isFull: false, entries: 601 });
  });
  expect(read).toBeLessThan(10_000);
});
