/** What an import writes in the tables of own books. Rows are sent in parts, and what the import has read is remembered in the database. */
import { sql } from 'kysely';
import { type AuditEvent, recordAuditEvent } from '../../../store/audit.ts';
import { arrayLiteral, rowOf, rowsOf, type Trx } from '../../../store/engine/database.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';
import type { BookRow } from '../types.ts';

/** One import of a merchant's book. */
export interface Importing {
  readonly merchantNo: string;
  readonly book: string;
  readonly id: number;
}

export type Days = readonly [first: BusinessDay, last: BusinessDay];

/** A pause of the source, not of the database, is no reason to end the transaction. */
const IDLE_MS_MAX = 600_000;

/**
 * Waits for other imports and the matching of the merchant, and puts the import on record; `finishImport` adds the figures. Until the
 * transaction ends, `book_read` has the entries that the import read and left as they are. Those with its number are what it wrote.
 */
export async function startImport(
  trx: Trx,
  { merchantNo, book }: Omit<Importing, 'id'>,
  { source, auditEvent, at }: { readonly source: string; readonly auditEvent: AuditEvent; readonly at: Date },
): Promise<Importing> {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`daybook books ${merchantNo}`}, 0)), set_config('jit', 'off', true),
    set_config('idle_in_transaction_session_timeout', ${String(IDLE_MS_MAX)}, true)`.execute(trx);
  await sql`CREATE TEMPORARY TABLE book_read (entry_id bigint PRIMARY KEY) ON COMMIT DROP`.execute(trx);
  const auditEventId = await recordAuditEvent(trx, auditEvent, at);
  const { id } = await rowOf(trx)<{ id: number }>`
    INSERT INTO book_import (merchant_no, book, source, content_sha256, audit_event_id, rows_read, added, changed, returned, withdrawn, unreadable)
    VALUES (${merchantNo}, ${book}, ${source}, '', ${auditEventId}, 0, 0, 0, 0, 0, 0) RETURNING id`;
  return { merchantNo, book, id };
}

export interface Taken {
  readonly added: number;
  readonly changed: number;
  readonly returned: number;
  /** Days of the rows; null if all are repeated. */
  readonly firstDay: BusinessDay | null;
  readonly lastDay: BusinessDay | null;
  /** Places, from 0, of rows whose number an earlier row has. They changed nothing. */
  readonly repeated: readonly number[];
}

const isRead = ({ id }: Importing) =>
  sql`(entry.import_id = ${id} OR EXISTS (SELECT FROM book_read WHERE entry_id = entry.id))`;

const markChanged = (merchantNo: string, days: ReturnType<typeof sql>) => sql`
  INSERT INTO book_day (merchant_no, currency, day) SELECT ${merchantNo}, * FROM (${days}) AS changed_day
  ON CONFLICT (merchant_no, currency, day) DO UPDATE SET is_changed = true WHERE NOT book_day.is_changed`;

/** Adds the entries that the book does not have, gives others their next version, and takes back those that were withdrawn. */
export function takeRows(trx: Trx, importing: Importing, rows: readonly BookRow[]): Promise<Taken> {
  const { merchantNo, book, id } = importing;
  const column = (of: (row: BookRow) => string | null): string => arrayLiteral(rows.map(of));
  return rowOf(trx)<Taken>`
    WITH given AS MATERIALIZED (
      SELECT row.*, known.*, CASE WHEN min(at) OVER (PARTITION BY number) < at OR is_read THEN 'repeated' WHEN id IS NULL THEN 'added'
        WHEN is_same THEN 'same' ELSE 'changed' END AS what
      FROM unnest(${column(({ number }) => number)}::text[], ${column(({ currency }) => currency)}::text[],
        ${column(({ day }) => day)}::date[], ${column(({ bookedAt }) => bookedAt)}::timestamptz[],
        ${column(({ amount }) => amount)}::numeric[], ${column(({ referenceKeys }) => referenceKeys.join(' '))}::text[],
        ${column(({ reference }) => reference)}::text[], ${column(({ type }) => type)}::text[], ${column(({ note }) => note)}::text[]
      ) WITH ORDINALITY AS row (number, currency, day, booked_at, amount, keys, reference, type, note, at)
      LEFT JOIN LATERAL (
        SELECT id, entry.currency AS old_currency, entry.day AS old_day, withdrawn_import_id IS NOT NULL AS was_withdrawn,
          (entry.currency, entry.day, entry.amount, entry.reference, entry.type, entry.note)
            = (row.currency, row.day, row.amount, row.reference, row.type, row.note)
            AND entry.booked_at IS NOT DISTINCT FROM row.booked_at AS is_same, ${isRead(importing)} AS is_read
        FROM book_entry AS entry WHERE merchant_no = ${merchantNo} AND book = ${book} AND entry.number = row.number LIMIT 1
      ) AS known ON true
    ), added AS (
      INSERT INTO book_entry (merchant_no, book, import_id, number, currency, day, booked_at, amount, reference_keys, reference, type, note)
      SELECT ${merchantNo}, ${book}, ${id}::bigint, number, currency, day, booked_at, amount, string_to_array(keys, ' '), reference, type, note
      FROM given WHERE what = 'added'
    ), changed AS (
      UPDATE book_entry AS entry SET version = version + 1, import_id = ${id}, withdrawn_import_id = NULL,
        earlier = coalesce(earlier, '[]') || jsonb_build_array(jsonb_build_object('version', version, 'importId', import_id,
          'currency', entry.currency, 'day', entry.day, 'bookedAt', entry.booked_at, 'amount', entry.amount::text,
          'reference', entry.reference, 'type', entry.type, 'note', entry.note)),
        currency = given.currency, day = given.day, booked_at = given.booked_at, amount = given.amount,
        reference_keys = string_to_array(keys, ' '), reference = given.reference, type = given.type, note = given.note
      FROM given WHERE entry.id = given.id AND what = 'changed'
    ), same AS (
      INSERT INTO book_read SELECT id FROM given WHERE what = 'same'
    ), returned AS (
      UPDATE book_entry AS entry SET withdrawn_import_id = NULL FROM given WHERE entry.id = given.id AND what = 'same' AND was_withdrawn
    ), marked AS (${markChanged(
      merchantNo,
      sql`SELECT currency, day FROM given WHERE what IN ('added', 'changed') OR what = 'same' AND was_withdrawn
        UNION SELECT old_currency, old_day FROM given WHERE what = 'changed'`,
    )})
    SELECT count(*) FILTER (WHERE what = 'added') AS added, count(*) FILTER (WHERE what = 'changed' AND NOT was_withdrawn) AS changed,
      count(*) FILTER (WHERE what <> 'repeated' AND was_withdrawn) AS returned,
      min(day) FILTER (WHERE what <> 'repeated') AS "firstDay", max(day) FILTER (WHERE what <> 'repeated') AS "lastDay",
      coalesce(array_agg((at - 1)::int ORDER BY at) FILTER (WHERE what = 'repeated'), '{}') AS repeated
    FROM given`;
}

/**
 * Withdraws the entries of these days that no row of the import names, and says how many there are and how many of these days the book
 * still holds.
 */
export async function withdrawMissing(
  trx: Trx,
  importing: Importing,
  [first, last]: Days,
): Promise<{ readonly withdrawn: number; readonly held: number }> {
  const { merchantNo, book, id } = importing;
  // Each account day of an entry is in book_day, and leads to the index by day.
  const held = sql`book_day.merchant_no = ${merchantNo} AND book_day.day BETWEEN ${first} AND ${last} AND entry.book = ${book}
    AND (entry.merchant_no, entry.currency, entry.day) = (book_day.merchant_no, book_day.currency, book_day.day)
    AND entry.withdrawn_import_id IS NULL`;
  const { withdrawn } = await rowOf(trx)<{ withdrawn: number }>`
    WITH gone AS (
      UPDATE book_entry AS entry SET withdrawn_import_id = ${id} FROM book_day
      WHERE ${held} AND NOT ${isRead(importing)}
        AND NOT EXISTS (SELECT FROM book_unreadable AS row WHERE row.import_id = ${id} AND row.number = entry.number)
      RETURNING entry.currency, entry.day
    ), marked AS (${markChanged(merchantNo, sql`SELECT DISTINCT currency, day FROM gone`)})
    SELECT count(*) AS withdrawn FROM gone`;
  const left = await rowOf(trx)<{ held: number }>`
    SELECT count(*) AS held FROM book_day JOIN book_entry AS entry ON ${held}`;
  return { withdrawn, ...left };
}

export interface UnreadableRow {
  readonly line: number;
  readonly reason: string;
  readonly raw: string;
  readonly number: string | null;
}

export async function addUnreadable(
  trx: Trx,
  { id }: Importing,
  rows: readonly UnreadableRow[],
): Promise<void> {
  const column = (of: (row: UnreadableRow) => string | number | null): string => arrayLiteral(rows.map(of));
  await sql`
    INSERT INTO book_unreadable (import_id, line, reason, raw, number)
    SELECT ${id}::bigint, * FROM unnest(${column(({ line }) => line)}::bigint[], ${column(({ reason }) => reason)}::text[],
      ${column(({ raw }) => raw)}::text[], ${column(({ number }) => number)}::text[])`.execute(trx);
}

export interface ImportCounts {
  readonly rowsRead: number;
  readonly added: number;
  readonly changed: number;
  readonly returned: number;
  readonly withdrawn: number;
  readonly unreadable: number;
}

/**
 * Completes the record of the import, and marks unreadable rows of earlier ones as answered: where this import read the same content or
 * all their days again, or the entry. Returns how many. `days` is null where it covers none.
 */
export async function finishImport(
  trx: Trx,
  importing: Importing,
  { sha256, days, ...counts }: ImportCounts & { readonly sha256: string; readonly days: Days | null },
): Promise<number> {
  const { id } = importing;
  const [first, last] = days ?? [null, null];
  await sql`
    UPDATE book_import SET content_sha256 = ${sha256}, first_day = ${first}, last_day = ${last}, rows_read = ${counts.rowsRead},
      added = ${counts.added}, changed = ${counts.changed}, returned = ${counts.returned}, withdrawn = ${counts.withdrawn},
      unreadable = ${counts.unreadable}
    WHERE id = ${id}`.execute(trx);
  const answered = await rowsOf(trx)`
    UPDATE book_unreadable AS row SET answered_import_id = ${id} FROM book_import AS earlier
    WHERE row.import_id = earlier.id AND row.answered_import_id IS NULL AND earlier.id < ${id}
      AND (earlier.merchant_no, earlier.book) = (${importing.merchantNo}, ${importing.book})
      AND (earlier.content_sha256 = ${sha256} OR earlier.first_day >= ${first} AND earlier.last_day <= ${last} OR EXISTS (
        SELECT FROM book_entry AS entry WHERE (entry.merchant_no, entry.book, entry.number) = (earlier.merchant_no, earlier.book, row.number)
          AND ${isRead(importing)}))
    RETURNING row.line`;
  return answered.length;
}
