/** Random histories of a merchant's ledger and own books, written into the tables as reading and importing leave them. */
import { daysOfNumber, noteDays } from '../../support/note-days.ts';
import { sql } from 'kysely';
import type { MatchRules } from '../../../src/ledger/own-books.ts';
import { rowsOf, type Db } from '../../../src/store/engine/database.ts';
import { recordAuditEvent } from '../../../src/store/audit.ts';

export const MERCHANT_NO = 'M1';
export const NOW = new Date('2026-05-01T00:00:00Z');

/** An entry of either side, small enough to be written by hand. `day` counts from the first one. */
export interface SmallEntry {
  readonly number: string;
  readonly day: number;
  /** `HH:mm:ss` in Shanghai. Left out: noon in the ledger, and the day alone in a book. */
  readonly time?: string | undefined;
  readonly amount: string;
  readonly currency?: string;
  readonly keys?: readonly string[];
}

export const dayOf = (day: number): string => new Date(Date.UTC(2026, 2, 1 + day)).toISOString().slice(0, 10);

/** Writes ledger entries. One with a number that is known is amended. */
export async function writeLedger(
  db: Db,
  entries: readonly SmallEntry[],
  merchantNo = MERCHANT_NO,
): Promise<void> {
  for (const { number, day, time = '12:00:00', amount, currency = 'CNY' } of entries) {
    const [credit, debit] = amount.startsWith('-') ? [null, amount.slice(1)] : [amount, null];
    const at = `${dayOf(day)} ${time}`;
    const before = (await daysOfNumber(db, number)).filter((one) => one.merchantNo === merchantNo);
    await noteDays(db, merchantNo, [dayOf(day), ...before.map((one) => one.day)]);
    await sql`
      INSERT INTO ledger_entry AS known (merchant_no, batch_no, currency, transaction_type, credit, debit, balance, booked_at, booked_ms,
        first_seen_at)
      VALUES (${merchantNo}, ${number}, ${currency}, 'PAY', ${credit}::numeric, ${debit}::numeric, 0, ${at}::timestamp,
        ${Date.parse(`${at}Z`) - 8 * 3_600_000}, ${NOW})
      ON CONFLICT (merchant_no, batch_no) DO UPDATE SET currency = excluded.currency, credit = excluded.credit, debit = excluded.debit,
        booked_at = excluded.booked_at, booked_ms = excluded.booked_ms, version = known.version + 1, vanished_at = NULL`.execute(
      db,
    );
  }
}

export async function vanish(db: Db, number: string, vanishedAt: Date | null = NOW): Promise<void> {
  for (const { merchantNo, day } of await daysOfNumber(db, number)) await noteDays(db, merchantNo, [day]);
  await sql`UPDATE ledger_entry SET vanished_at = ${vanishedAt} WHERE batch_no = ${number}`.execute(db);
}

/** The first day of the book from now on, as the latest import says. */
export const startOn = async (db: Db, day: number | null, merchantNo = MERCHANT_NO): Promise<void> => {
  const importId = await importOf(db, merchantNo);
  await sql`UPDATE book_import SET starts_on = ${day === null ? null : dayOf(day)}::date WHERE id = ${importId}`.execute(
    db,
  );
};

/** Writes own entries, as an import does. One with a number that is known is changed. */
export async function writeBook(
  db: Db,
  entries: readonly SmallEntry[],
  merchantNo = MERCHANT_NO,
): Promise<void> {
  const importId = await importOf(db, merchantNo);
  for (const { number, day, time, amount, currency = 'CNY', keys = [] } of entries) {
    const bookedAt = time === undefined ? null : `${dayOf(day)} ${time}+08`;
    await markDay(db, number);
    await sql`
      INSERT INTO book_entry AS known (merchant_no, book, number, currency, day, booked_at, amount, reference_keys, reference, type, note, import_id)
      VALUES (${merchantNo}, 'books', ${number}, ${currency}, ${dayOf(day)}::date, ${bookedAt}::timestamptz, ${amount}::numeric, ${[...keys]}::text[], ${keys.join(' ')},
        '', '', ${importId})
      ON CONFLICT (merchant_no, book, number) DO UPDATE SET currency = excluded.currency, day = excluded.day, booked_at = excluded.booked_at, amount = excluded.amount,
        reference_keys = excluded.reference_keys, version = known.version + 1, withdrawn_import_id = NULL`.execute(
      db,
    );
    await markDay(db, number);
  }
}

export async function withdraw(db: Db, number: string): Promise<void> {
  const importId = await importOf(db, MERCHANT_NO);
  await sql`UPDATE book_entry SET withdrawn_import_id = ${importId} WHERE number = ${number}`.execute(db);
  await markDay(db, number);
}

const markDay = (db: Db, number: string) =>
  sql`
  INSERT INTO book_day (merchant_no, currency, day) SELECT merchant_no, currency, day FROM book_entry WHERE number = ${number}
  ON CONFLICT (merchant_no, currency, day) DO UPDATE SET is_changed = true`.execute(db);

async function importOf(db: Db, merchantNo: string): Promise<number> {
  const [known] = await rowsOf(db)<{
    id: number;
  }>`SELECT max(id) AS id FROM book_import WHERE merchant_no = ${merchantNo} HAVING max(id) IS NOT NULL`;
  if (known !== undefined) return known.id;
  const auditEventId = await recordAuditEvent(
    db,
    { by: 'Ada', command: 'books import', subject: 'x.csv' },
    NOW,
  );
  const [made] = await rowsOf(db)<{ id: number }>`
    INSERT INTO book_import (merchant_no, book, source, content_sha256, audit_event_id, rows_read, added, changed, returned, withdrawn, unreadable)
    VALUES (${merchantNo}, 'books', 'x.csv', '', ${auditEventId}, 0, 0, 0, 0, 0, 0) RETURNING id`;
  return made!.id;
}

export interface State {
  /** Each match as its rule, its difference and its entries. */
  readonly matches: readonly string[];
  /** Entries that are in none. */
  readonly unmatched: readonly string[];
  readonly days: readonly string[];
}

/** What is matched and what the figures are, whatever the numbers of the rows. */
export async function stateOf(db: Db): Promise<State> {
  const matches = await rowsOf(db)<{ text: string }>`
    SELECT book_match.rule || CASE WHEN bool_and(entry.rule = book_match.rule) THEN ' ' ELSE ' in other rules ' END || trim_scale(difference) || ' ' || coalesce(difference_type, '-') || ' ' || complete_on || ': ' ||
      string_agg(coalesce('L' || entry.batch_no, 'B' || book_entry.number), ' ' ORDER BY entry.batch_no, book_entry.number) AS text
    FROM book_match JOIN book_match_entry AS entry ON match_id = book_match.id LEFT JOIN book_entry ON book_entry.id = book_entry_id
    GROUP BY book_match.id ORDER BY 1`;
  const unmatched = await rowsOf(db)<{ text: string }>`
    SELECT coalesce('L' || entry.batch_no, 'B' || book_entry.number) || CASE WHEN named IS NULL THEN '' ELSE ' named' END AS text
    FROM book_match_entry AS entry LEFT JOIN book_entry ON book_entry.id = book_entry_id WHERE match_id IS NULL ORDER BY 1`;
  const days = await rowsOf(db)<{ text: string }>`
    SELECT currency || ' ' || day || ' ' || concat_ws(' ', trim_scale(ledger_total), trim_scale(book_total), trim_scale(ledger_open),
      trim_scale(book_open), trim_scale(difference)) AS text
    FROM book_day WHERE (ledger_total, book_total, ledger_open, book_open, difference) <> (0, 0, 0, 0, 0) ORDER BY 1`;
  const texts = (rows: readonly { text: string }[]) => rows.map(({ text }) => text);
  return { matches: texts(matches), unmatched: texts(unmatched), days: texts(days) };
}

/** The rules that the settings have by default, with a tolerance. */
export const RULES: MatchRules = {
  rules: ['reference', 'same-time', 'same-day', 'near-day', 'sum', 'tolerance'],
  days: 3,
  sumEntriesMax: 6,
  tolerances: new Map([['CNY', { max: '0.5', type: 'fee' }]]),
};

/** `B1 2 10.00 L1`, or `B1 2@09:30:00 10.00`: number, day, time, amount, and what it names. */
export const entriesOf = (texts: readonly string[]): SmallEntry[] =>
  texts.map((text) => {
    const [number, dayAndTime, amount, ...keys] = text.split(' ');
    const [day, time] = dayAndTime!.split('@');
    return { number: number!, day: Number(day), time, amount: amount!, keys };
  });

/** A command's settings for a database in which such books are matched by `RULES`. */
export const booksEnv = (databaseUrl: string) => ({
  DATABASE_URL: databaseUrl,
  DAYBOOK_NOW: NOW.toISOString(),
  PLATFORM_BASE_URL: 'http://127.0.0.1:1',
  PLATFORM_TIME_ZONE: 'Asia/Shanghai',
  BOOKS_TOLERANCES: '{"CNY":{"max":"0.5","type":"fee"}}',
});
