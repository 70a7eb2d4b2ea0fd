/**
 * Imports a merchant's own book. What the file holds is the book on the days that it covers: new entries are added, changed ones get
 * another version, and those that it does not hold any more are marked as withdrawn, all in one transaction or not at all.
 */
import { stringify } from 'csv-stringify/sync';
import type { BusinessDay } from '../../../ledger/entry.ts';
import { cutText, storableText } from '../../../ledger/text.ts';
import { UsageError } from '../../../run/verdict/exit-codes.ts';
import { type AuditEvent, recordAuditEvent } from '../../../store/audit.ts';
import type { Db, Trx } from '../../../store/engine/database.ts';
import type { BookRow } from '../types.ts';
import { createIdSet } from './id-set.ts';
import type { Mapping } from './mapping.ts';
import { isUnreadable, rowReader } from './rows.ts';
import type { Source, SourceRow } from './sources.ts';
import {
  addUnknown,
  addUnreadable,
  answerUnreadable,
  changeEntries,
  finishImport,
  heldEntries,
  idsOfNumbers,
  type ImportCounts,
  type KnownEntry,
  lockBooks,
  markDays,
  markWithdrawn,
  prepareTransaction,
  startImport,
  type UnreadableRow,
} from './stored.ts';
import type { Zones } from './values.ts';

/** So many unreadable rows are kept. More come of a mapping that does not fit. */
const UNREADABLE_MAX = 10_000;
const RAW_CHARACTERS_MAX = 10_000;
/** An import may withdraw so many entries without being asked, or half of those on its days. */
const WITHDRAWN_UNASKED_MAX = 20;
const FIRST_UNREADABLE = 5;

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

export interface ImportReport extends ImportCounts {
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

async function importIn(trx: Trx, request: ImportRequest): Promise<ImportReport> {
  const { mapping, source, auditEvent, now, signal } = request;
  const book = { merchantNo: mapping.merchant, book: mapping.book };
  await prepareTransaction(trx);
  await lockBooks(trx, book.merchantNo);
  const importId = await startImport(trx, book, source.name, await recordAuditEvent(trx, auditEvent, now()));
  const work = createWork(trx, { ...book, importId });
  let read: ReturnType<typeof rowReader> | null = null;
  for await (const part of oneAhead(source.rows)) {
    signal.throwIfAborted();
    const rows = read === null ? part.slice(1) : part;
    read ??= rowReader(part[0]!.cells, mapping, {
      zones: request.zones,
      isTable: source.isTable,
      place: source.name,
    });
    await work.take(rows, read);
    request.onProgress(work.counts.rowsRead);
  }
  if (read === null) throw new UsageError(`${source.name} is empty. Nothing was stored.`);
  signal.throwIfAborted();
  const { counts } = work;
  if (counts.rowsRead > 0 && counts.rowsRead === counts.unreadable)
    throw noneReadable(source.name, work.firstUnreadable());
  const { days, notWithdrawn } = coveredDays(request, work);
  if (days !== null) await withdrawMissing(trx, request, { work, book, importId, days });
  const row = { ...book, id: importId, sha256: source.sha256(), days };
  await markDays(trx, book.merchantNo, work.changedDays);
  await finishImport(trx, row, counts);
  const answered = await answerUnreadable(trx, row, (id) => work.isRead(id));
  return {
    ...{ importId, ...counts, answered, notWithdrawn },
    unchanged: counts.rowsRead - counts.unreadable - counts.added - counts.changed - counts.returned,
    ...{ firstDay: days?.[0] ?? null, lastDay: days?.[1] ?? null, firstUnreadable: work.firstUnreadable() },
  };
}

type Work = ReturnType<typeof createWork>;

/** Takes the rows of one import, part by part. */
function createWork(
  trx: Trx,
  about: { readonly merchantNo: string; readonly book: string; readonly importId: number },
) {
  const { importId } = about;
  const counts = { rowsRead: 0, added: 0, changed: 0, returned: 0, withdrawn: 0, unreadable: 0 };
  const changedDays = new Set<string>();
  /** Entries that the file has, and those among them that were read. */
  const [held, read] = [createIdSet(), createIdSet()];
  const firstUnreadable: UnreadableRow[] = [];
  let span: readonly [BusinessDay, BusinessDay] | null = null;
  let nameless = 0;
  const mark = ({ currency, day }: { readonly currency: string; readonly day: BusinessDay }): void =>
    void changedDays.add(`${currency} ${day}`);

  const refuse = async (rows: readonly UnreadableRow[]): Promise<void> => {
    counts.unreadable += rows.length;
    nameless += rows.filter(({ number }) => number === null).length;
    firstUnreadable.push(...rows.slice(0, FIRST_UNREADABLE - firstUnreadable.length));
    if (counts.unreadable > UNREADABLE_MAX) throw tooManyUnreadable(firstUnreadable[0]!);
    for (const id of await idsOfNumbers(
      trx,
      about,
      rows.flatMap(({ number }) => number ?? []),
    ))
      held.add(id);
    await addUnreadable(trx, importId, rows);
  };

  const take = async (rows: readonly SourceRow[], readRow: ReturnType<typeof rowReader>): Promise<void> => {
    const { entries, unreadable } = sortedOut(rows, readRow);
    const readRows = entries.map(({ entry }) => entry);
    const { known, added: addedIds } = await addUnknown(trx, about, importId, readRows);
    const isKnown = new Set(known.map(({ at }) => at));
    const changed: KnownEntry[] = [];
    const returned: number[] = [];
    for (const one of known) {
      const { source, entry } = entries[one.at]!;
      if (read.has(one.id)) {
        unreadable.push(repeated(source, entry.number, 'an earlier line'));
        continue;
      }
      [held, read].forEach((set) => set.add(one.id));
      if (one.isWithdrawn) returned.push(one.id);
      if (!one.isSame) changed.push(one);
      if (one.isWithdrawn || !one.isSame) [one, entry].forEach(mark);
      if (!one.isSame && !one.isWithdrawn) counts.changed += 1;
      span = widened(span, entry.day);
    }
    const added = readRows.filter((_, at) => !isKnown.has(at));
    for (const entry of added) {
      mark(entry);
      span = widened(span, entry.day);
    }
    for (const id of addedIds) [held, read].forEach((set) => set.add(id));
    await changeEntries(trx, importId, changed, readRows);
    await markWithdrawn(trx, null, returned);
    counts.added += added.length;
    counts.returned += returned.length;
    counts.rowsRead += rows.length;
    await refuse(unreadable.sort((a, b) => a.line - b.line));
  };

  return {
    ...{ take, mark, counts, changedDays },
    isHeld: (id: number): boolean => held.has(id),
    isRead: (id: number): boolean => read.has(id),
    firstUnreadable: () => firstUnreadable,
    span: () => span,
    nameless: () => nameless,
  };
}

const repeated = ({ line, cells }: SourceRow, number: string, where: string): UnreadableRow => ({
  ...{ line, number, raw: rawOf(cells) },
  reason: `its number is on ${where} already.`,
});

/** The entries of a part, the first of each number; every further row with it is unreadable. */
function sortedOut(rows: readonly SourceRow[], readRow: ReturnType<typeof rowReader>) {
  const unreadable: UnreadableRow[] = [];
  const entries: { readonly source: SourceRow; readonly entry: BookRow }[] = [];
  const lineOf = new Map<string, number>();
  for (const source of rows) {
    const entry = readRow(source.cells);
    const earlier = isUnreadable(entry) ? undefined : lineOf.get(entry.number);
    if (isUnreadable(entry)) unreadable.push({ line: source.line, raw: rawOf(source.cells), ...entry });
    else if (earlier !== undefined) unreadable.push(repeated(source, entry.number, `line ${earlier}`));
    else {
      lineOf.set(entry.number, source.line);
      entries.push({ source, entry });
    }
  }
  return { entries, unreadable };
}

const widened = (
  span: readonly [BusinessDay, BusinessDay] | null,
  day: BusinessDay,
): readonly [BusinessDay, BusinessDay] => {
  if (span === null) return [day, day];
  return day < span[0] ? [day, span[1]] : day > span[1] ? [span[0], day] : span;
};

/** The days that the file is taken to hold completely. With a row of which no one knows which entry it is, there are none. */
function coveredDays({ mapping, from, to }: ImportRequest, work: Work) {
  const nothing = (notWithdrawn: string | null) => ({ days: null, notWithdrawn });
  if (mapping.covers === 'nothing') return nothing(null);
  const span = work.span();
  const [first, last] = [from ?? span?.[0], to ?? span?.[1]];
  if (first === undefined || last === undefined || first > last) return nothing(null);
  if (work.nameless() > 0)
    return nothing('rows without a readable number may be entries of the book, so no entry was withdrawn.');
  return { days: [first, last] as const, notWithdrawn: null };
}

interface Withdrawal {
  readonly work: Work;
  readonly book: { readonly merchantNo: string; readonly book: string };
  readonly importId: number;
  readonly days: readonly [BusinessDay, BusinessDay];
}

/** Withdraws the entries of these days that the file does not hold. Throws `UsageError` where that is most of them, unasked. */
async function withdrawMissing(
  trx: Trx,
  { from, to, source }: ImportRequest,
  { work, book, importId, days }: Withdrawal,
) {
  const missing: number[] = [];
  let all = 0;
  for await (const part of heldEntries(trx, book, days)) {
    all += part.length;
    for (const entry of part) {
      if (work.isHeld(entry.id)) continue;
      missing.push(entry.id);
      work.mark(entry);
    }
  }
  const isAsked = from !== undefined && to !== undefined;
  if (!isAsked && missing.length > WITHDRAWN_UNASKED_MAX && missing.length > all / 2)
    throw new UsageError(
      `${source.name} lacks ${missing.length.toLocaleString('en')} of the ${all.toLocaleString('en')} entries that the book ${book.book} ` +
        `has from ${days[0]} to ${days[1]}. Nothing was stored. If the file is complete, name its days with --from and --to.`,
    );
  await markWithdrawn(trx, importId, missing);
  work.counts.withdrawn += missing.length;
}

/** Asks for the next part while this one is worked on. */
async function* oneAhead<Part>(parts: AsyncIterable<Part>): AsyncGenerator<Part> {
  const iterator = parts[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    for (;;) {
      const given: IteratorResult<Part, unknown> = await next;
      if (given.done === true) return;
      next = iterator.next();
      // Its failure is thrown where it is waited for.
      next.catch(() => undefined);
      yield given.value;
    }
  } finally {
    await iterator.return?.();
  }
}

const rawOf = (cells: readonly string[]): string =>
  cutText(storableText(stringify([[...cells]]).trimEnd()), RAW_CHARACTERS_MAX);

const noneReadable = (name: string, [first]: readonly UnreadableRow[]): UsageError =>
  new UsageError(
    `no row of ${name} can be read; line ${first!.line}: ${first!.reason} Check the mapping. Nothing was stored.`,
  );

const tooManyUnreadable = ({ line, reason }: UnreadableRow): UsageError =>
  new UsageError(
    `over ${UNREADABLE_MAX.toLocaleString('en')} rows cannot be read; line ${line}: ${reason} Check the mapping. Nothing was stored.`,
  );
