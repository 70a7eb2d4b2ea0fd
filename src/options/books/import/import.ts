/**
 * Imports a merchant's own book. What the file holds is the book on the days that it covers: new entries are added, changed ones get
 * another version, and those that it does not hold any more are marked as withdrawn, all in one transaction or not at all. Rows are sent
 * in parts, and what the import has read is remembered in the database.
 */
import { sql, type RawBuilder } from 'kysely';
import type { BusinessDay } from '../../../ledger/entry.ts';
import { UsageError } from '../../../run/verdict/exit-codes.ts';
import { type AuditEvent, recordAuditEvent } from '../../../store/audit.ts';
import { arrayLiteral, type Db, rowOf, rowsOf, type Trx } from '../../../store/engine/database.ts';
import { lockBooks } from '../open.ts';
import type { BookRow } from './book-row.ts';
import type { Mapping } from './mapping.ts';
import { readRows, repeated, type ReadRows, type UnreadableRow } from './rows.ts';
import type { Source } from './sources.ts';
import type { Zones } from './values.ts';

/** So many unreadable rows are kept. More come of a mapping that does not fit. */
const UNREADABLE_MAX = 10_000;
/** An import may withdraw so many entries without being asked, or half of those on its days. */
const WITHDRAWN_UNASKED_MAX = 20;
const FIRST_UNREADABLE = 5;
const NOT_WITHDRAWN = 'rows without a readable number may be entries of the book, so no entry was withdrawn.';
/** A pause of the source, not of the database, is no reason to end the transaction. */
const IDLE_MS_MAX = 600_000;

export interface ImportRequest {
  readonly mapping: Mapping;
  readonly source: Source;
  readonly zones: Zones;
  /** First and last day that the file covers, where a person says so; else those of its first and last row. */
  readonly from: BusinessDay | undefined;
  readonly to: BusinessDay | undefined;
  /** Finds out what the import would do, and leaves nothing. */
  readonly isDryRun: boolean;
  readonly auditEvent: AuditEvent;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onProgress: (rowsRead: number) => void;
}

type Counts = Record<'rowsRead' | 'added' | 'changed' | 'returned' | 'withdrawn' | 'unreadable', number>;

export interface ImportReport extends Readonly<Counts> {
  /** Null for a dry run. */
  readonly importId: number | null;
  readonly unchanged: number;
  /** Days whose entries the file is taken to hold completely; null if none. */
  readonly firstDay: BusinessDay | null;
  readonly lastDay: BusinessDay | null;
  /** Unreadable rows of earlier imports that this one answers. */
  readonly answered: number;
  /** Why nothing is withdrawn, though the mapping asks for it; null if that is not so. */
  readonly notWithdrawn: string | null;
  readonly firstUnreadable: readonly Pick<UnreadableRow, 'line' | 'reason'>[];
}

/**
 * Imports what the source has. Throws `UsageError` where nothing of it can be read, or where it would withdraw most of the book and no
 * one said which days it covers; then nothing is stored.
 */
export async function importBook(db: Db, request: ImportRequest): Promise<ImportReport> {
  let report: ImportReport | null = null;
  const undo = new Error('a dry run leaves nothing');
  try {
    await db.transaction().execute(async (trx) => {
      report = await importIn(trx, request);
      if (request.isDryRun) throw undo;
    });
  } catch (error) {
    if (error !== undo) throw error;
    report = { ...report!, importId: null };
  }
  return report!;
}

type Covered = Readonly<Record<'firstDay' | 'lastDay', BusinessDay>>;

/** One import of a merchant's book, and what it came to so far. */
interface Importing {
  readonly id: number;
  readonly merchantNo: string;
  readonly book: string;
  readonly counts: Counts;
  /** First and last day of its rows; none as long as it has read none. */
  days: readonly BusinessDay[];
  /** Rows that do not say which entry they are. */
  nameless: number;
  readonly firstUnreadable: UnreadableRow[];
}

async function importIn(trx: Trx, request: ImportRequest): Promise<ImportReport> {
  const { mapping, source, signal, onProgress } = request;
  const importing = await startImport(trx, request);
  const { id, counts, firstUnreadable } = importing;
  let written = Promise.resolve();
  try {
    for await (const rows of readRows(source, mapping, request.zones)) {
      signal.throwIfAborted();
      await written;
      onProgress(counts.rowsRead);
      written = writeRows(trx, importing, rows);
      // The next rows are read meanwhile; a failure is thrown where it is waited for.
      written.catch(() => undefined);
    }
  } finally {
    await written;
  }
  if (counts.rowsRead > 0 && counts.rowsRead === counts.unreadable)
    throw new UsageError(`no row of ${source.name} can be read; ${fault(firstUnreadable)}`);
  const [firstDay, lastDay] = [request.from ?? importing.days[0], request.to ?? importing.days.at(-1)];
  const isCovering = mapping.covers === 'days' && firstDay !== undefined && firstDay <= (lastDay ?? '');
  const covered = isCovering && importing.nameless === 0 ? { firstDay, lastDay: lastDay! } : null;
  if (covered !== null) await withdrawMissing(trx, importing, request, covered);
  const answered = await finishImport(trx, importing, request, covered);
  return {
    ...{ importId: id, ...counts, firstDay: null, lastDay: null, ...covered, answered, firstUnreadable },
    unchanged: counts.rowsRead - counts.unreadable - counts.added - counts.changed - counts.returned,
    notWithdrawn: isCovering && covered === null ? NOT_WITHDRAWN : null,
  };
}

const fault = ([first]: readonly UnreadableRow[]): string =>
  `line ${first!.line}: ${first!.reason} Check the mapping. Nothing was stored.`;

/**
 * Waits for other imports and the matching of the merchant, and puts the import on record; `finishImport` adds the figures. Until the
 * transaction ends, `book_read` has the entries that the import read and left as they are. Those with its number are what it wrote.
 */
async function startImport(trx: Trx, request: ImportRequest): Promise<Importing> {
  const { merchant: merchantNo, book } = request.mapping;
  await lockBooks(trx, merchantNo);
  await sql`SELECT set_config('jit', 'off', true),
    set_config('idle_in_transaction_session_timeout', ${String(IDLE_MS_MAX)}, true)`.execute(trx);
  await sql`CREATE TEMPORARY TABLE book_read (entry_id bigint PRIMARY KEY) ON COMMIT DROP`.execute(trx);
  const auditEventId = await recordAuditEvent(trx, request.auditEvent, request.now());
  const { id } = await rowOf(trx)<{ id: number }>`
    INSERT INTO book_import (merchant_no, book, source, content_sha256, audit_event_id, rows_read, added, changed, returned, withdrawn, unreadable)
    VALUES (${merchantNo}, ${book}, ${request.source.name}, '', ${auditEventId}, 0, 0, 0, 0, 0, 0) RETURNING id`;
  const counts = { rowsRead: 0, added: 0, changed: 0, returned: 0, withdrawn: 0, unreadable: 0 };
  return { id, merchantNo, book, counts, days: [], nameless: 0, firstUnreadable: [] };
}

/** Writes some rows. Throws `UsageError` once too many cannot be read. */
async function writeRows(trx: Trx, importing: Importing, { entries, unreadable }: ReadRows): Promise<void> {
  const { id, counts, days, firstUnreadable: first } = importing;
  const taken = await takeRows(trx, importing, entries);
  const refused = [...unreadable, ...taken.repeated.map((at) => repeated(entries[at]!))];
  for (const key of ['added', 'changed', 'returned'] as const) counts[key] += taken[key];
  counts.rowsRead += entries.length + unreadable.length;
  counts.unreadable += refused.length;
  const sorted = [...days, ...taken.days].sort();
  importing.days = [...sorted.slice(0, 1), ...sorted.slice(-1)];
  importing.nameless += refused.filter(({ number }) => number === null).length;
  first.push(...refused.sort((a, b) => a.line - b.line).slice(0, FIRST_UNREADABLE - first.length));
  if (counts.unreadable > UNREADABLE_MAX)
    throw new UsageError(`over ${UNREADABLE_MAX.toLocaleString('en')} rows cannot be read; ${fault(first)}`);
  if (refused.length === 0) return;
  const column = (of: (row: UnreadableRow) => string | number | null): string =>
    arrayLiteral(refused.map(of));
  await sql`
    INSERT INTO book_unreadable (import_id, line, reason, raw, number)
    SELECT ${id}::bigint, * FROM unnest(${column(({ line }) => line)}::bigint[], ${column(({ reason }) => reason)}::text[],
      ${column(({ raw }) => raw)}::text[], ${column(({ number }) => number)}::text[])`.execute(trx);
}

interface Taken extends Readonly<Pick<Counts, 'added' | 'changed' | 'returned'>> {
  /** First and last day of the rows that are not repeated. */
  readonly days: readonly BusinessDay[];
  /** Places, from 0, of rows whose number an earlier row has. They changed nothing. */
  readonly repeated: readonly number[];
}

const isRead = ({ id }: Importing) =>
  sql`(entry.import_id = ${id} OR EXISTS (SELECT FROM book_read WHERE entry_id = entry.id))`;

const markChanged = (merchantNo: string, days: RawBuilder<unknown>) => sql`
  INSERT INTO book_day (merchant_no, currency, day) SELECT ${merchantNo}, * FROM (${days}) AS changed_day
  ON CONFLICT (merchant_no, currency, day) DO UPDATE SET is_changed = true WHERE NOT book_day.is_changed`;

/** Adds the entries that the book does not have, gives others their next version, and takes back those that were withdrawn. */
function takeRows(trx: Trx, importing: Importing, rows: readonly BookRow[]): Promise<Taken> {
  const { merchantNo, book, id } = importing;
  const column = (of: (row: BookRow) => string | null): string => arrayLiteral(rows.map(of));
  return rowOf(trx)<Taken>`
    WITH given AS MATERIALIZED (
      SELECT row.*, known.*, CASE WHEN min(at) OVER (PARTITION BY number COLLATE "C") < at OR is_read THEN 'repeated' WHEN id IS NULL THEN 'added'
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
      array_remove(ARRAY[min(day) FILTER (WHERE what <> 'repeated'), max(day) FILTER (WHERE what <> 'repeated')], NULL)::text[] AS days,
      coalesce(array_agg((at - 1)::int ORDER BY at) FILTER (WHERE what = 'repeated'), '{}') AS repeated
    FROM given`;
}

/** Withdraws the entries of these days that no row of the import names. Throws `UsageError` where that is most of them, unasked. */
async function withdrawMissing(trx: Trx, importing: Importing, request: ImportRequest, covered: Covered) {
  const { merchantNo, book, id, counts } = importing;
  const { firstDay, lastDay } = covered;
  // Each account day of an entry is in book_day, and leads to the index by day.
  const isHeld = sql`book_day.merchant_no = ${merchantNo} AND book_day.day BETWEEN ${firstDay} AND ${lastDay} AND entry.book = ${book}
    AND (entry.merchant_no, entry.currency, entry.day) = (book_day.merchant_no, book_day.currency, book_day.day)
    AND entry.withdrawn_import_id IS NULL`;
  const { withdrawn, held } = await rowOf(trx)<{ withdrawn: number; held: number | null }>`
    WITH gone AS (
      UPDATE book_entry AS entry SET withdrawn_import_id = ${id} FROM book_day
      WHERE ${isHeld} AND entry.import_id <> ${id} AND NOT EXISTS (SELECT FROM book_read WHERE entry_id = entry.id)
        AND NOT EXISTS (SELECT FROM book_unreadable AS row WHERE row.import_id = ${id} AND row.number = entry.number)
      RETURNING entry.currency, entry.day
    ), marked AS (${markChanged(merchantNo, sql`SELECT DISTINCT currency, day FROM gone`)})
    SELECT count(*) AS withdrawn, CASE WHEN count(*) > ${WITHDRAWN_UNASKED_MAX} THEN
      (SELECT count(*) FROM book_day JOIN book_entry AS entry ON ${isHeld}) END AS held FROM gone`;
  counts.withdrawn = withdrawn;
  const isAsked = request.from !== undefined && request.to !== undefined;
  if (!isAsked && held !== null && withdrawn > held / 2)
    throw new UsageError(
      `${request.source.name} lacks ${withdrawn.toLocaleString('en')} of the ${held.toLocaleString('en')} entries that the book ${book} ` +
        `has from ${firstDay} to ${lastDay}. Nothing was stored. If the file is complete, name its days with --from and --to.`,
    );
}

/**
 * Completes the record of the import, and marks unreadable rows of earlier ones as answered: where this import read the same content or
 * all their days again, or the entry. Returns how many.
 */
async function finishImport(trx: Trx, importing: Importing, request: ImportRequest, covered: Covered | null) {
  const { id, merchantNo, book, counts, days } = importing;
  const sha256 = request.source.sha256();
  const { firstDay, lastDay } = covered ?? { firstDay: null, lastDay: null };
  await sql`
    UPDATE book_import SET content_sha256 = ${sha256}, first_day = ${firstDay}, last_day = ${lastDay}, rows_read = ${counts.rowsRead},
      added = ${counts.added}, changed = ${counts.changed}, returned = ${counts.returned}, withdrawn = ${counts.withdrawn},
      unreadable = ${counts.unreadable}, starts_on = coalesce(${request.mapping.from ?? null}::date, least(${firstDay ?? days[0] ?? null}::date,
        (SELECT starts_on FROM book_import WHERE (merchant_no, book) = (${merchantNo}, ${book}) AND id < ${id} ORDER BY id DESC LIMIT 1)))
    WHERE id = ${id}`.execute(trx);
  const answered = await rowsOf(trx)`
    UPDATE book_unreadable AS row SET answered_import_id = ${id} FROM book_import AS earlier
    WHERE row.import_id = earlier.id AND row.answered_import_id IS NULL AND earlier.id < ${id}
      AND (earlier.merchant_no, earlier.book) = (${merchantNo}, ${book})
      AND (earlier.content_sha256 = ${sha256} OR earlier.first_day >= ${firstDay} AND earlier.last_day <= ${lastDay} OR EXISTS (
        SELECT FROM book_entry AS entry WHERE (entry.merchant_no, entry.book, entry.number) = (earlier.merchant_no, earlier.book, row.number)
          AND ${isRead(importing)}))
    RETURNING row.line`;
  return answered.length;
}
