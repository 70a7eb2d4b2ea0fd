/** Writes a small book and its ledger into the tables, and reads the matches that were made of them. */
import { noteDays } from '../../../support/note-days.ts';
import { sql } from 'kysely';
import { recordAuditEvent } from '../../../../src/store/audit.ts';
import { arrayLiteral, rowOf, rowsOf, type Db } from '../../../../src/store/engine/database.ts';
import type { Piece } from './oracle.ts';

const NOW = new Date('2026-05-01T00:00:00Z');

/** `2026-03-01` and the days after it, of a day's number. */
const dayText = (day: number): string => new Date(Date.UTC(2026, 2, 1 + day)).toISOString().slice(0, 10);

/** Its time, by a clock that shows UTC. */
const timeText = ({ day, second }: Piece): string =>
  `${dayText(day)} ${new Date((second ?? 0) * 1_000).toISOString().slice(11, 19)}`;

/** Stores the entries of both sides as reading and importing leave them. Amounts have two decimals. */
export async function storePieces(db: Db, merchantNo: string, pieces: readonly Piece[]): Promise<void> {
  const ledger = pieces.filter(({ side }) => side === 'ledger');
  const book = pieces.filter(({ side }) => side === 'book');
  const column = (of: readonly Piece[], value: (piece: Piece) => string | number) =>
    arrayLiteral(of.map(value));
  await sql`
    INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, debit, balance, booked_at, booked_ms,
      first_seen_at)
    SELECT ${merchantNo}, number, currency, 'PAY', CASE WHEN units >= 0 THEN units * 0.01 END,
      CASE WHEN units < 0 THEN -units * 0.01 END, 0, at, extract(epoch FROM at) * 1000, ${NOW}
    FROM unnest(${column(ledger, ({ number }) => number)}::text[], ${column(ledger, ({ currency }) => currency)}::text[],
      ${column(ledger, ({ units }) => units)}::numeric[], ${column(ledger, timeText)}::timestamp[])
      AS sent (number, currency, units, at)`.execute(db);
  await noteDays(db, merchantNo);
  const event = await recordAuditEvent(db, { by: 'Ada', command: 'books import', subject: 'test' }, NOW);
  const { id } = await rowOf(db)<{ id: number }>`
    INSERT INTO book_import (merchant_no, book, source, content_sha256, audit_event_id, rows_read, added, changed, returned, withdrawn, unreadable)
    VALUES (${merchantNo}, 'books', 'test', '', ${event}, 0, 0, 0, 0, 0, 0) RETURNING id`;
  await sql`
    INSERT INTO book_entry (merchant_no, book, number, currency, day, booked_at, amount, reference_keys, reference, type, note, import_id)
    SELECT ${merchantNo}, 'books', number, currency, day, nullif(at, '')::timestamptz, units * 0.01, string_to_array(names, ' '), names, '', '', ${id}
    FROM unnest(${column(book, ({ number }) => number)}::text[], ${column(book, ({ currency }) => currency)}::text[],
      ${column(book, ({ units }) => units)}::numeric[], ${column(book, ({ day }) => dayText(day))}::date[],
      ${column(book, (piece) => (piece.second === null ? '' : `${timeText(piece)}Z`))}::text[],
      ${column(book, ({ names }) => names.join(' '))}::text[]) AS sent (number, currency, units, day, at, names)`.execute(
    db,
  );
  await sql`
    INSERT INTO book_day (merchant_no, currency, day)
    SELECT DISTINCT merchant_no, currency, day FROM book_entry WHERE merchant_no = ${merchantNo}
    ON CONFLICT DO NOTHING`.execute(db);
}

export interface StoredMatch {
  readonly rule: string;
  /** Exact decimals. */
  readonly difference: string;
  readonly completeOn: string;
  /** Batch numbers and own numbers, in order. */
  readonly numbers: readonly string[];
}

/** The matches of a merchant, in the order of their numbers. */
export const matchesOf = (db: Db, merchantNo: string): Promise<StoredMatch[]> => rowsOf(db)<StoredMatch>`
  SELECT m.rule, m.difference::text, m.complete_on::text AS "completeOn",
    array_agg(coalesce(e.batch_no, own.number) ORDER BY coalesce(e.batch_no, own.number) COLLATE "C") AS numbers
  FROM book_match AS m JOIN book_match_entry AS e ON e.match_id = m.id LEFT JOIN book_entry AS own ON own.id = e.book_entry_id
  WHERE m.merchant_no = ${merchantNo} GROUP BY m.id ORDER BY 4`;
