/**
 * Imports a merchant's own book. What the file holds is the book on the days that it covers: new entries are added, changed ones get
 * another version, and those that it does not hold any more are marked as withdrawn, all in one transaction or not at all.
 */
import type { BusinessDay } from '../../../ledger/entry.ts';
import { UsageError } from '../../../run/verdict/exit-codes.ts';
import type { AuditEvent } from '../../../store/audit.ts';
import type { Db, Trx } from '../../../store/engine/database.ts';
import type { Mapping } from './mapping.ts';
import { readRows, repeated, type ReadRows } from './rows.ts';
import type { Source } from './sources.ts';
import {
  addUnreadable,
  type Days,
  finishImport,
  type Importing,
  type ImportCounts,
  startImport,
  takeRows,
  type UnreadableRow,
  withdrawMissing,
} from './stored.ts';
import type { Zones } from './values.ts';

/** So many unreadable rows are kept. More come of a mapping that does not fit. */
const UNREADABLE_MAX = 10_000;
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
  const { mapping, source, auditEvent, now, signal, onProgress } = request;
  const importing = await startImport(
    trx,
    { merchantNo: mapping.merchant, book: mapping.book },
    { source: source.name, auditEvent, at: now() },
  );
  const work = createWork(trx, importing);
  let written = Promise.resolve();
  try {
    for await (const rows of readRows(source, mapping, request.zones)) {
      signal.throwIfAborted();
      await written;
      onProgress(work.counts.rowsRead);
      written = work.write(rows);
      // The next rows are read meanwhile; a failure is thrown where it is waited for.
      written.catch(() => undefined);
    }
  } finally {
    await written;
  }
  const { counts, first } = work;
  if (counts.rowsRead > 0 && counts.rowsRead === counts.unreadable)
    throw new UsageError(`no row of ${source.name} can be read; ${fault(first)}`);
  const [firstDay, lastDay] = [request.from ?? work.span?.[0], request.to ?? work.span?.[1]];
  const isCovering = mapping.covers === 'days' && firstDay !== undefined && lastDay! >= firstDay;
  const days = isCovering && work.nameless === 0 ? ([firstDay, lastDay!] as const) : null;
  if (days !== null) counts.withdrawn = await withdraw(trx, request, importing, days);
  const answered = await finishImport(trx, importing, { ...counts, sha256: source.sha256(), days });
  const { rowsRead, unreadable, added, changed, returned } = counts;
  return {
    ...{ importId: importing.id, ...counts, answered, firstUnreadable: first },
    unchanged: rowsRead - unreadable - added - changed - returned,
    ...{ firstDay: days?.[0] ?? null, lastDay: days?.[1] ?? null },
    notWithdrawn:
      isCovering && days === null
        ? 'rows without a readable number may be entries of the book, so no entry was withdrawn.'
        : null,
  };
}

/** Writes the rows of an import, part by part. */
function createWork(trx: Trx, importing: Importing) {
  const work = {
    counts: { rowsRead: 0, added: 0, changed: 0, returned: 0, withdrawn: 0, unreadable: 0 },
    first: [] as UnreadableRow[],
    span: null as Days | null,
    /** Rows that do not say which entry they are. */
    nameless: 0,
    write: async ({ entries, unreadable }: ReadRows): Promise<void> => {
      const { counts, first } = work;
      const taken = await takeRows(
        trx,
        importing,
        entries.map(({ entry }) => entry),
      );
      const refused = [...unreadable, ...taken.repeated.map((at) => repeated(entries[at]!))];
      for (const key of ['added', 'changed', 'returned'] as const) counts[key] += taken[key];
      counts.rowsRead += entries.length + unreadable.length;
      counts.unreadable += refused.length;
      work.nameless += refused.filter(({ number }) => number === null).length;
      work.span = widened(work.span, taken);
      first.push(...refused.sort((a, b) => a.line - b.line).slice(0, FIRST_UNREADABLE - first.length));
      if (counts.unreadable > UNREADABLE_MAX)
        throw new UsageError(
          `over ${UNREADABLE_MAX.toLocaleString('en')} rows cannot be read; ${fault(first)}`,
        );
      if (refused.length > 0) await addUnreadable(trx, importing, refused);
    },
  };
  return work;
}

function widened(
  span: Days | null,
  { firstDay, lastDay }: { readonly firstDay: BusinessDay | null; readonly lastDay: BusinessDay | null },
): Days | null {
  if (firstDay === null || lastDay === null) return span;
  if (span === null) return [firstDay, lastDay];
  return [firstDay < span[0] ? firstDay : span[0], lastDay > span[1] ? lastDay : span[1]];
}

/** Throws `UsageError` where most entries of these days would go, unasked. */
async function withdraw(
  trx: Trx,
  { from, to, source }: ImportRequest,
  importing: Importing,
  days: Days,
): Promise<number> {
  const { withdrawn, held } = await withdrawMissing(trx, importing, days);
  const isAsked = from !== undefined && to !== undefined;
  if (!isAsked && withdrawn > WITHDRAWN_UNASKED_MAX && withdrawn > held)
    throw new UsageError(
      `${source.name} lacks ${withdrawn.toLocaleString('en')} of the ${(withdrawn + held).toLocaleString('en')} entries that the book ` +
        `${importing.book} has from ${days[0]} to ${days[1]}. Nothing was stored. If the file is complete, name its days with --from and --to.`,
    );
  return withdrawn;
}

const fault = ([first]: readonly UnreadableRow[]): string =>
  `line ${first!.line}: ${first!.reason} Check the mapping. Nothing was stored.`;
