/** What an import reads and writes in the tables of own books. Everything is sent in parts, and no part grows with the book. */
import { sql } from 'kysely';
import { arrayLiteral, rowOf, rowsOf, type Trx } from '../../../store/engine/database.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';
import type { BookRow } from '../types.ts';

/** A book of a merchant. */
export interface Book {
  readonly merchantNo: string;
  readonly book: string;
}

/** A pause of the source, not of the database, is no reason to end the transaction. */
const IDLE_MS_MAX = 600_000;
const FETCHED_ROWS = 20_000;

/** Waits for other imports and the matching of the merchant, until the transaction's end. */
export async function lockBooks(trx: Trx, merchantNo: string): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`daybook books ${merchantNo}`}, 0))`.execute(trx);
}

/** Statements of this transaction find their rows one by one along an index, however large the book is. */
export async function prepareTransaction(trx: Trx): Promise<void> {
  await sql`SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true),
    set_config('idle_in_transaction_session_timeout', ${String(IDLE_MS_MAX)}, true)`.execute(trx);
}

export interface KnownEntry {
  readonly id: number;
  /** Which of the asked rows it is, from 0. */
  readonly at: number;
  readonly isSame: boolean;
  readonly isWithdrawn: boolean;
  readonly currency: string;
  readonly day: BusinessDay;
}

const column = <Row>(rows: readonly Row[], of: (row: Row) => string | number | null): string =>
  arrayLiteral(rows.map(of));

const contentOf = (rows: readonly BookRow[], ids: readonly number[] = []) => sql`unnest(
  ${arrayLiteral(ids)}::bigint[], ${column(rows, ({ number }) => number)}::text[], ${column(rows, ({ currency }) => currency)}::text[],
  ${column(rows, ({ day }) => day)}::date[], ${column(rows, ({ bookedAt }) => bookedAt)}::timestamptz[],
  ${column(rows, ({ amount }) => amount)}::numeric[], ${column(rows, ({ referenceKeys }) => referenceKeys.join(' '))}::text[],
  ${column(rows, ({ reference }) => reference)}::text[], ${column(rows, ({ type }) => type)}::text[],
  ${column(rows, ({ note }) => note)}::text[])`;
const NAMES = sql`entry_id, number, currency, day, booked_at, amount, keys, reference, type, note`;

/** Adds the rows whose numbers the book does not have, and returns the ids of those and the entries with the numbers of the others. */
export async function addUnknown(
  trx: Trx,
  { merchantNo, book }: Book,
  importId: number,
  rows: readonly BookRow[],
): Promise<{ readonly added: readonly number[]; readonly known: readonly KnownEntry[] }> {
  const found = await rowsOf(trx)<KnownEntry & { readonly isAdded: boolean }>`
    WITH given AS MATERIALIZED (
      SELECT g.*, known.* FROM ${contentOf(rows)} WITH ORDINALITY AS g (${NAMES}, ord)
      LEFT JOIN LATERAL (
        SELECT id, e.currency AS known_currency, e.day AS known_day, withdrawn_import_id IS NOT NULL AS is_withdrawn,
          (e.currency, e.day, e.amount, e.reference, e.type, e.note) = (g.currency, g.day, g.amount, g.reference, g.type, g.note)
            AND e.booked_at IS NOT DISTINCT FROM g.booked_at AS is_same
        FROM book_entry AS e WHERE merchant_no = ${merchantNo} AND book = ${book} AND e.number = g.number LIMIT 1) AS known ON true),
    added AS (
      INSERT INTO book_entry (merchant_no, book, import_id, number, currency, day, booked_at, amount, reference_keys, reference, type, note)
      SELECT ${merchantNo}, ${book}, ${importId}::bigint, number, currency, day, booked_at, amount, string_to_array(keys, ' '), reference, type, note
      FROM given WHERE id IS NULL RETURNING id)
    SELECT id, false AS "isAdded", (ord - 1)::int AS at, is_same AS "isSame", is_withdrawn AS "isWithdrawn", known_currency AS currency,
      known_day AS day
    FROM given WHERE id IS NOT NULL
    UNION ALL SELECT id, true, 0, true, false, '', NULL FROM added`;
  return {
    added: found.filter(({ isAdded }) => isAdded).map(({ id }) => id),
    known: found.filter(({ isAdded }) => !isAdded),
  };
}

/** The ids of the entries with these numbers. */
export async function idsOfNumbers(
  trx: Trx,
  { merchantNo, book }: Book,
  numbers: readonly string[],
): Promise<number[]> {
  const rows = await rowsOf(trx)<{ id: number }>`
    SELECT known.id FROM unnest(${arrayLiteral(numbers)}::text[]) AS g (number) CROSS JOIN LATERAL (
      SELECT id FROM book_entry WHERE merchant_no = ${merchantNo} AND book = ${book} AND book_entry.number = g.number LIMIT 1) AS known`;
  return rows.map(({ id }) => id);
}

/** Gives entries the content of their rows (`at`), as their next version. What they were before is kept. */
export async function changeEntries(
  trx: Trx,
  importId: number,
  entries: readonly KnownEntry[],
  rows: readonly BookRow[],
): Promise<void> {
  if (entries.length === 0) return;
  const content = contentOf(
    entries.map(({ at }) => rows[at]!),
    entries.map(({ id }) => id),
  );
  await sql`
    UPDATE book_entry AS e SET version = e.version + 1, import_id = ${importId}::bigint,
      earlier = coalesce(e.earlier, '[]') || jsonb_build_array(jsonb_build_object('version', e.version, 'importId', e.import_id,
        'currency', e.currency, 'day', e.day, 'bookedAt', e.booked_at, 'amount', e.amount::text, 'reference', e.reference,
        'type', e.type, 'note', e.note)),
      currency = g.currency, day = g.day, booked_at = g.booked_at, amount = g.amount, reference_keys = string_to_array(g.keys, ' '),
      reference = g.reference, type = g.type, note = g.note
    FROM ${content} AS g (${NAMES})
    WHERE e.id = g.entry_id`.execute(trx);
}

/** Marks entries as withdrawn by an import, or, with null, as held again. */
export async function markWithdrawn(
  trx: Trx,
  importId: number | null,
  ids: readonly number[],
): Promise<void> {
  for (let from = 0; from < ids.length; from += FETCHED_ROWS)
    await sql`UPDATE book_entry SET withdrawn_import_id = ${importId}::bigint
      WHERE id = ANY(${arrayLiteral(ids.slice(from, from + FETCHED_ROWS))}::bigint[])`.execute(trx);
}

export interface HeldEntry {
  readonly id: number;
  readonly currency: string;
  readonly day: BusinessDay;
}

/** The entries of the book on these days that are not withdrawn, in parts. */
export async function* heldEntries(
  trx: Trx,
  { merchantNo, book }: Book,
  [firstDay, lastDay]: readonly [BusinessDay, BusinessDay],
): AsyncGenerator<readonly HeldEntry[]> {
  const currencies = await rowsOf(trx)<{ currency: string }>`
    WITH RECURSIVE one (currency) AS (
      SELECT min(currency) FROM book_entry WHERE merchant_no = ${merchantNo} AND withdrawn_import_id IS NULL
      UNION ALL SELECT (SELECT min(currency) FROM book_entry
        WHERE merchant_no = ${merchantNo} AND withdrawn_import_id IS NULL AND currency > one.currency) FROM one WHERE currency IS NOT NULL)
    SELECT currency FROM one WHERE currency IS NOT NULL`;
  const named = sql.lit(arrayLiteral(currencies.map(({ currency }) => currency)));
  await sql`DECLARE book_held NO SCROLL CURSOR FOR SELECT id, currency, day FROM book_entry
    WHERE merchant_no = ${sql.lit(merchantNo)} AND currency = ANY(${named}::text[]) AND book = ${sql.lit(book)}
      AND day BETWEEN ${sql.lit(firstDay)} AND ${sql.lit(lastDay)} AND withdrawn_import_id IS NULL`.execute(
    trx,
  );
  for (;;) {
    const part = await rowsOf(trx)<HeldEntry>`FETCH ${sql.raw(String(FETCHED_ROWS))} FROM book_held`;
    if (part.length === 0) break;
    yield part;
  }
  await sql`CLOSE book_held`.execute(trx);
}

/** Notes that own entries of these account days changed, given as `currency day`. */
export async function markDays(trx: Trx, merchantNo: string, days: ReadonlySet<string>): Promise<void> {
  const all = [...days].map((day) => day.split(' '));
  if (all.length === 0) return;
  await sql`
    INSERT INTO book_day (merchant_no, currency, day)
    SELECT ${merchantNo}, * FROM unnest(${column(all, ([currency]) => currency!)}::text[], ${column(all, ([, day]) => day!)}::date[])
    ON CONFLICT (merchant_no, currency, day) DO UPDATE SET is_changed = true`.execute(trx);
}

export interface UnreadableRow {
  readonly line: number;
  readonly reason: string;
  readonly raw: string;
  readonly number: string | null;
}

export async function addUnreadable(
  trx: Trx,
  importId: number,
  rows: readonly UnreadableRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await sql`
    INSERT INTO book_unreadable (import_id, line, reason, raw, number)
    SELECT ${importId}::bigint, * FROM unnest(${column(rows, ({ line }) => line)}::bigint[], ${column(rows, ({ reason }) => reason)}::text[],
      ${column(rows, ({ raw }) => raw)}::text[], ${column(rows, ({ number }) => number)}::text[])`.execute(
    trx,
  );
}

export interface ImportRow extends Book {
  readonly id: number;
  readonly sha256: string;
  /** Null where it covers no day. */
  readonly days: readonly [BusinessDay, BusinessDay] | null;
}

/**
 * Marks unreadable rows of earlier imports of the book as answered: where this import read the same content or all their days again, or
 * read the entry (`isRead`). Returns how many.
 */
export async function answerUnreadable(
  trx: Trx,
  { merchantNo, book, id, sha256, days }: ImportRow,
  isRead: (entryId: number) => boolean,
): Promise<number> {
  const open = await rowsOf(trx)<{
    importId: number;
    line: number;
    isAgain: boolean;
    entryId: number | null;
  }>`
    SELECT u.import_id AS "importId", u.line, e.id AS "entryId",
      i.content_sha256 = ${sha256} OR coalesce(i.first_day >= ${days?.[0] ?? null}::date AND i.last_day <= ${days?.[1] ?? null}::date, false) AS "isAgain"
    FROM book_import AS i JOIN book_unreadable AS u ON u.import_id = i.id AND u.answered_import_id IS NULL
    LEFT JOIN book_entry AS e ON e.merchant_no = i.merchant_no AND e.book = i.book AND e.number = u.number
    WHERE i.merchant_no = ${merchantNo} AND i.book = ${book} AND i.id < ${id}`;
  const answered = open.filter(({ isAgain, entryId }) => isAgain || (entryId !== null && isRead(entryId)));
  if (answered.length > 0)
    await sql`UPDATE book_unreadable AS u SET answered_import_id = ${id}
      FROM unnest(${column(answered, ({ importId }) => importId)}::bigint[], ${column(answered, ({ line }) => line)}::bigint[]) AS g (import_id, line)
      WHERE u.import_id = g.import_id AND u.line = g.line`.execute(trx);
  return answered.length;
}

/** Puts an import on record before its rows; `finishImport` adds the figures. */
export const startImport = async (
  trx: Trx,
  { merchantNo, book }: Book,
  source: string,
  auditEventId: number,
): Promise<number> =>
  (
    await rowOf(trx)<{ id: number }>`
      INSERT INTO book_import (merchant_no, book, source, content_sha256, audit_event_id, rows_read, added, changed, returned, withdrawn, unreadable)
      VALUES (${merchantNo}, ${book}, ${source}, '', ${auditEventId}, 0, 0, 0, 0, 0, 0) RETURNING id`
  ).id;

export interface ImportCounts {
  readonly rowsRead: number;
  readonly added: number;
  readonly changed: number;
  readonly returned: number;
  readonly withdrawn: number;
  readonly unreadable: number;
}

export async function finishImport(
  trx: Trx,
  { id, sha256, days }: ImportRow,
  counts: ImportCounts,
): Promise<void> {
  await sql`
    UPDATE book_import SET content_sha256 = ${sha256}, first_day = ${days?.[0] ?? null}, last_day = ${days?.[1] ?? null},
      rows_read = ${counts.rowsRead}, added = ${counts.added}, changed = ${counts.changed}, returned = ${counts.returned},
      withdrawn = ${counts.withdrawn}, unreadable = ${counts.unreadable}
    WHERE id = ${id}`.execute(trx);
}
