/**
 * Imports a merchant's own book. What the file holds is the book in the span of time that it covers: new entries are added, changed ones get
 * another version, and those that it does not hold any more are marked as withdrawn, all in one transaction or not at all. Rows are sent
 * in parts, and what the import has read is remembered in the database.
 */
import { sql, type RawBuilder } from 'kysely';
import { dayWindow } from '../../../ledger/business-day.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';
import { UsageError } from '../../../run/verdict/exit-codes.ts';
import { recordAuditEvent } from '../../../store/audit.ts';
import { arrayLiteral, type Db, rowOf, rowsOf, type Trx } from '../../../store/engine/database.ts';
import { rehearse } from '../../../store/engine/rehearsal.ts';
import { lockBooks } from '../open.ts';
import { NONE, type Counts, type ImportRequest, type Importing } from './importing.ts';
import { aboveLimitReason, addTo, ImportWaits, keepWaiting, takeSecondPerson } from './second-person.ts';
import { movedStart } from './start.ts';
import { readRows, repeated, type BookRow, type UnreadableRow } from './rows.ts';
import { createSpan, type Span } from './span.ts';
import { referenceKeysOf } from './values.ts';

/** So many unreadable rows are kept. More come of a mapping that does not fit. */
const UNREADABLE_MAX = 10_000;
/** An import may withdraw so many entries without being asked, or half of those on its days. */
const WITHDRAWN_UNASKED_MAX = 20;
const FIRST_UNREADABLE = 5;
const NOT_WITHDRAWN = 'rows without a readable number may be entries of the book, so no entry was withdrawn.';
/** A pause of the source, not of the database, is no reason to end the transaction. */
const IDLE_MS_MAX = 600_000;

export interface ImportReport extends Readonly<Counts> {
  /** Null for a dry run. */
  readonly importId: number | null;
  /** Days of the book's zone from the first row to the last, or those that a person named; null where the file withdraws nothing. */
  readonly firstDay: BusinessDay | null;
  readonly lastDay: BusinessDay | null;
  /** The zone of these days. */
  readonly zone: string;
  /** Entries of these days that the file does not name, and that lie before its first time or after its last: they stay. */
  readonly kept: number;
  /** Unreadable rows of earlier imports that this one answers. */
  readonly answered: number;
  /** Why it needs a second person, as a sentence; null where it needs none. */
  readonly aboveLimit: string | null;
  /** How the start of the book moves, and what that adds, as a sentence; null where it stays. */
  readonly moved: string | null;
  /** Why nothing is withdrawn, though the mapping asks for it; null if that is not so. */
  readonly notWithdrawn: string | null;
  readonly firstUnreadable: readonly Pick<UnreadableRow, 'line' | 'reason'>[];
}

/**
 * Imports what the source has. Throws `UsageError` where nothing of it can be read, or where it would withdraw most of the book and no
 * one said which days it covers; then nothing is stored.
 */
export async function importBook(db: Db, request: ImportRequest): Promise<ImportReport> {
  const work = (of: Db) => of.transaction().execute((trx) => importIn(trx, request));
  if (request.isDryRun === true) return rehearse(db, work);
  try {
    return await work(db);
  } catch (error) {
    if (error instanceof ImportWaits) await keepWaiting(db, request, error);
    throw error;
  }
}

async function importIn(trx: Trx, request: ImportRequest): Promise<ImportReport> {
  const { mapping, source, zones, currencies, signal, onProgress } = request;
  const importing = await startImport(trx, request);
  const { id, counts, unreadable } = importing;
  let written = Promise.resolve();
  try {
    for await (const rows of readRows(source, { mapping, zones, currencies })) {
      signal?.throwIfAborted();
      await written;
      onProgress?.(counts.rowsRead);
      written = writeRows(importing, rows);
      // The next rows are read meanwhile; a failure is thrown where it is waited for.
      written.catch(() => undefined);
    }
  } finally {
    await written;
  }
  if (counts.rowsRead > 0 && counts.rowsRead === unreadable.length)
    throw unfit(`no row of ${source.name} can be read`, unreadable);
  // A row that does not say which entry it is may be any.
  const isNamed = unreadable.every(({ number }) => number !== null);
  const span = mapping.covers === 'days' ? importing.span.held(request) : null;
  if (span !== null) assertZoneKnown(importing);
  const covered = isNamed ? span : null;
  const kept = covered === null ? 0 : await withdrawMissing(importing, covered);
  const answered = await finishImport(importing, covered);
  const moved = await movedStart(importing);
  const aboveLimit = await aboveLimitReason(importing);
  if (aboveLimit !== null && request.isDryRun !== true) await takeSecondPerson(importing, aboveLimit);
  return {
    importId: request.isDryRun === true ? null : id,
    ...counts,
    ...{ answered, kept, zone: zones.own, aboveLimit, moved },
    ...{ firstDay: covered?.firstDay ?? null, lastDay: covered?.lastDay ?? null },
    notWithdrawn: span !== null && !isNamed ? NOT_WITHDRAWN : null,
    firstUnreadable: unreadable.slice(0, FIRST_UNREADABLE),
  };
}

/** Days that a person names are of the book's zone; where rows say that it is another one than the platform's, the mapping has to name it. */
function assertZoneKnown({ request, isElsewhere }: Importing): void {
  if (!isElsewhere || (request.from === undefined && request.to === undefined)) return;
  throw new UsageError(
    `--from and --to name days of the book's zone, and times of ${request.source.name} have the offset of another zone than the ` +
      "platform's. Name the book's zone in the mapping, for example `zone: Europe/London`. Nothing was stored.",
  );
}

const unfit = (problem: string, [first]: Importing['unreadable']): UsageError =>
  new UsageError(`${problem}; line ${first!.line}: ${first!.reason} Check the mapping. Nothing was stored.`);

/**
 * Waits for other imports and the matching of the merchant, and puts the import on record; `finishImport` adds the figures. Until the
 * transaction ends, `book_read` has the entries that the import read and left as they are. Those with its number are what it wrote.
 */
async function startImport(trx: Trx, request: ImportRequest): Promise<Importing> {
  const { merchant: merchantNo, book } = request.mapping;
  await lockBooks(trx, merchantNo, request.lockMs);
  await sql`SELECT set_config('jit', 'off', true),
    set_config('idle_in_transaction_session_timeout', ${String(IDLE_MS_MAX)}, true)`.execute(trx);
  await sql`CREATE TEMPORARY TABLE book_read (entry_id bigint PRIMARY KEY) ON COMMIT DROP`.execute(trx);
  const auditEventId = await recordAuditEvent(trx, request.auditEvent, request.now());
  const { id } = await rowOf(trx)<{ id: number }>`
    INSERT INTO book_import (merchant_no, book, source, content_sha256, audit_event_id, rows_read, added, changed, returned, withdrawn, unreadable)
    VALUES (${merchantNo}, ${book}, ${request.source.name}, '', ${auditEventId}, 0, 0, 0, 0, 0, 0) RETURNING id`;
  const unreadable: Omit<UnreadableRow, 'raw'>[] = [];
  return {
    trx,
    request,
    id,
    auditEventId,
    approvalAbove: request.approvalAbove ?? new Map<string, string>(),
    merchantNo,
    book,
    counts: { ...NONE },
    days: new Set<BusinessDay>(),
    added: new Map<string, string>(),
    span: createSpan(request.zones.own),
    isElsewhere: false,
    unreadable,
  };
}

/** Writes some rows. Throws `UsageError` once too many cannot be read. */
async function writeRows(importing: Importing, rows: readonly (BookRow | UnreadableRow)[]): Promise<void> {
  const { trx, id, counts, days, unreadable } = importing;
  const entries = rows.filter((row) => 'source' in row);
  const refused = rows.filter((row) => 'reason' in row);
  for (const [at, what] of (await takeRows(importing, entries)).entries()) {
    const entry = entries[at]!;
    if (what === 'repeated') refused.push(repeated(entry));
    else {
      days.add(entry.day);
      importing.span.add(entry);
      if (entry.isElsewhere === true) importing.isElsewhere = true;
      counts[what] += 1;
      if (what === 'added' || what === 'returned') addTo(importing, entry);
    }
  }
  for (const { raw, ...row } of refused.sort((a, b) => a.line - b.line)) unreadable.push(row);
  counts.rowsRead += rows.length;
  counts.unreadable = unreadable.length;
  if (unreadable.length > UNREADABLE_MAX)
    throw unfit(`over ${UNREADABLE_MAX.toLocaleString('en')} rows cannot be read`, unreadable);
  const stored = refused.map((row) => ({ ...row, import_id: id }));
  if (stored.length > 0) await trx.insertInto('book_unreadable').values(stored).execute();
}

const isRead = ({ id }: Importing) =>
  sql`(entry.import_id = ${id} OR EXISTS (SELECT FROM book_read WHERE entry_id = entry.id))`;

const markChanged = (merchantNo: string, days: RawBuilder<unknown>) => sql`
  INSERT INTO book_day (merchant_no, currency, day) SELECT ${merchantNo}, * FROM (${days}) AS changed_day
  ON CONFLICT (merchant_no, currency, day) DO UPDATE SET is_changed = true WHERE NOT book_day.is_changed`;

/**
 * Adds the entries that the book does not have, gives others their next version, and takes back those that were withdrawn. Says of each
 * row what came of it; of one whose number an earlier row has, nothing.
 */
async function takeRows(
  importing: Importing,
  rows: readonly BookRow[],
): Promise<(keyof Counts | 'repeated')[]> {
  const { trx, merchantNo, book, id } = importing;
  if (rows.length === 0) return [];
  const column = (of: (row: BookRow) => string | null): string => arrayLiteral(rows.map(of));
  const { taken } = await rowOf(trx)<{ taken: string }>`
    WITH given AS MATERIALIZED (
      SELECT row.*, known.*, CASE WHEN min(at) OVER (PARTITION BY number COLLATE "C") < at OR is_read THEN 'repeated' WHEN id IS NULL THEN 'added'
        WHEN is_same THEN 'unchanged' ELSE 'changed' END AS what
      FROM unnest(${column(({ number }) => number)}::text[], ${column(({ currency }) => currency)}::text[],
        ${column(({ day }) => day)}::date[], ${column(({ bookedAt }) => bookedAt)}::timestamptz[],
        ${column(({ amount }) => amount)}::numeric[], ${column(({ reference }) => referenceKeysOf(reference).join(' '))}::text[],
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
      INSERT INTO book_read SELECT id FROM given WHERE what = 'unchanged'
    ), returned AS (
      UPDATE book_entry AS entry SET withdrawn_import_id = NULL FROM given WHERE entry.id = given.id AND what = 'unchanged' AND was_withdrawn
    ), marked AS (${markChanged(
      merchantNo,
      sql`SELECT currency, day FROM given WHERE what IN ('added', 'changed') OR what = 'unchanged' AND was_withdrawn
        UNION SELECT old_currency, old_day FROM given WHERE what = 'changed'`,
    )})
    SELECT string_agg(CASE WHEN was_withdrawn AND what <> 'repeated' THEN 'returned' ELSE what END, ' ' ORDER BY at) AS taken FROM given`;
  return taken.split(' ') as (keyof Counts)[];
}

/**
 * Withdraws the entries of this span that no row of the import names. Returns how many others of its days are not named and stay. Throws
 * `UsageError` where most would be withdrawn, unasked.
 */
async function withdrawMissing(importing: Importing, span: Span): Promise<number> {
  const { trx, request, merchantNo, book, id, counts } = importing;
  const { firstDay, lastDay } = span;
  const { currency = null } = request.mapping;
  const { own } = request.zones;
  const within = (
    beginMs: number,
    endMs: number,
    from: BusinessDay,
    to: BusinessDay,
  ) => sql`CASE WHEN entry.booked_at IS NULL
    THEN entry.day BETWEEN ${from}::date AND ${to}::date
    ELSE entry.booked_at BETWEEN ${new Date(beginMs).toISOString()}::timestamptz AND ${new Date(endMs).toISOString()}::timestamptz END`;
  // Each account day of an entry is in book_day, and leads to the index by day. Days of two zones are less than two days apart.
  const isOnDays = sql`book_day.merchant_no = ${merchantNo} AND book_day.day BETWEEN ${firstDay}::date - 2 AND ${lastDay}::date + 2
    AND (entry.merchant_no, entry.currency, entry.day) = (book_day.merchant_no, book_day.currency, book_day.day)
    AND entry.book = ${book} AND entry.withdrawn_import_id IS NULL AND (${currency === null} OR entry.currency = ${currency})`;
  const isHeld = sql`${isOnDays} AND ${within(span.beginMs, span.endMs, span.from, span.to)}`;
  const isUnnamed = sql`entry.import_id <> ${id} AND NOT EXISTS (SELECT FROM book_read WHERE entry_id = entry.id)
    AND NOT EXISTS (SELECT FROM book_unreadable AS row WHERE row.import_id = ${id} AND row.number = entry.number)`;
  const { withdrawn, held } = await rowOf(trx)<{ withdrawn: number; held: number | null }>`
    WITH gone AS (
      UPDATE book_entry AS entry SET withdrawn_import_id = ${id} FROM book_day WHERE ${isHeld} AND ${isUnnamed}
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
  const days = [dayWindow(firstDay, own).beginMs, dayWindow(lastDay, own).endMs] as const;
  const { kept } = await rowOf(trx)<{ kept: number }>`
    SELECT count(*) AS kept FROM book_day JOIN book_entry AS entry ON ${isOnDays}
      AND ${within(...days, firstDay, lastDay)} WHERE ${isUnnamed}`;
  return kept;
}

/**
 * Completes the record of the import, and marks unreadable rows of earlier ones as answered: where this import read the same content or
 * all their time again, or the entry. Returns how many.
 */
async function finishImport(importing: Importing, covered: Span | null): Promise<number> {
  const { trx, request, id, merchantNo, book } = importing;
  const { firstDay = null, lastDay = null } = covered ?? {};
  const [firstRead = null] = [...importing.days].toSorted();
  const { rowsRead: rows_read, unchanged, ...counts } = importing.counts;
  const sha256 = request.source.sha256();
  const firstHeld = (covered === null ? null : request.from) ?? firstRead;
  const startsOn = sql<string>`coalesce(${request.startsOn ?? request.mapping.from ?? null}::date, least(${firstHeld}::date,
    (SELECT starts_on FROM book_import WHERE (merchant_no, book) = (${merchantNo}, ${book}) AND id < ${id} ORDER BY id DESC LIMIT 1)))`;
  const [heldFrom, heldTo] =
    covered === null ? [null, null] : [covered.beginMs, covered.endMs].map((ms) => new Date(ms));
  const days = { first_day: firstDay, last_day: lastDay, held_from: heldFrom, held_to: heldTo };
  const figures = { content_sha256: sha256, rows_read, ...counts, ...days, starts_on: startsOn };
  await trx.updateTable('book_import').set(figures).where('id', '=', id).execute();
  const answered = await rowsOf(trx)`
    UPDATE book_unreadable AS row SET answered_import_id = ${id} FROM book_import AS earlier
    WHERE row.import_id = earlier.id AND row.answered_import_id IS NULL AND earlier.id < ${id}
      AND (earlier.merchant_no, earlier.book) = (${merchantNo}, ${book})
      AND (earlier.content_sha256 = ${sha256} OR earlier.held_from >= ${heldFrom}::timestamptz AND earlier.held_to <= ${heldTo}::timestamptz OR EXISTS (
        SELECT FROM book_entry AS entry WHERE (entry.merchant_no, entry.book, entry.number) = (earlier.merchant_no, earlier.book, row.number)
          AND ${isRead(importing)}))
    RETURNING row.line`;
  return answered.length;
}
