/** Finds the lines of an entry in published statements, in current and in superseded revisions. */
import type { ObjectStore } from '../objects/object-store.ts';
import { type StatementRow, statementsOfDay } from '../store/statements/statements.ts';
import { fetchStatement, StatementDamaged } from './fetch.ts';
import { columnsOf } from '../verify/formats.ts';
import { cellsOf } from '../verify/csv.ts';
import type { Kysely } from 'kysely';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { BusinessDay, LedgerEntry } from '../ledger/entry.ts';
import type { DB } from '../store/engine/schema.ts';
import { fileOf } from '../verify/names.ts';

interface FoundLine {
  /** The line's number as editors show it: the header is line 1. */
  readonly line: number;
  readonly cells: Readonly<Record<string, string>>;
}

const LINE_END = 0x0a;

/**
 * The line of the entry with that number; null where the file has none. Entries with control characters are not stored,
 * so no cell of a statement holds a line break: each line is one record, and only lines that contain the number are
 * parsed. Reads to the end, as only there it is known that the bytes are those published. Throws what `fetchStatement`
 * throws.
 */
export async function findLine(
  objects: ObjectStore,
  statement: Pick<StatementRow, 'object_key' | 'sha256' | 'columns'>,
  batchNo: string,
): Promise<FoundLine | null> {
  const columns = columnsOf(statement.columns?.split(','));
  const needle = Buffer.from(batchNo.replaceAll('"', '""'));
  const search: Search = { batchNo, needle, columns, linesBefore: 0, found: null };
  let rest = Buffer.alloc(0);
  for await (const bytes of fetchStatement(objects, statement)) {
    if (search.found !== null) continue;
    const part = Buffer.concat([rest, bytes]);
    const complete = part.lastIndexOf(LINE_END) + 1;
    searchPart(part.subarray(0, complete), search);
    rest = part.subarray(complete);
  }
  searchPart(rest, search);
  return search.found;
}

interface Search {
  readonly batchNo: string;
  /** The number as CSV spells it, with quotes doubled. */
  readonly needle: Buffer;
  readonly columns: readonly string[];
  linesBefore: number;
  found: FoundLine | null;
}

function searchPart(part: Buffer, search: Search): void {
  let from = 0;
  while (search.found === null) {
    const hit = part.indexOf(search.needle, from);
    if (hit === -1) break;
    const begin = part.lastIndexOf(LINE_END, hit) + 1;
    const end = endOfLine(part, hit);
    search.linesBefore += lineEndsIn(part.subarray(from, begin));
    const isHeader = search.linesBefore === 0;
    const cells = cellsByColumn(part.subarray(begin, end), search.columns);
    search.linesBefore += 1;
    if (!isHeader && cells['batch_no'] === search.batchNo) search.found = { line: search.linesBefore, cells };
    from = end;
  }
  search.linesBefore += lineEndsIn(part.subarray(from));
}

const endOfLine = (part: Buffer, at: number): number => {
  const lineEnd = part.indexOf(LINE_END, at);
  return lineEnd === -1 ? part.length : lineEnd + 1;
};

function lineEndsIn(part: Buffer): number {
  let count = 0;
  for (let at = part.indexOf(LINE_END); at !== -1; at = part.indexOf(LINE_END, at + 1)) count += 1;
  return count;
}

function cellsByColumn(line: Buffer, columns: readonly string[]): Record<string, string> {
  const cells = cellsOf(line.toString().replace(/\r\n$/, '')) ?? [];
  return Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? '']));
}

/** Most revisions of an account's day that are read, the newest first; older ones are only counted. */
const REVISIONS_READ_MAX = 10;

/** A revision of a statement in which the entry is or may be. */
export interface EntryPlace {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly revision: number;
  readonly isCurrent: boolean;
  readonly file: string;
  readonly objectKey: string;
  readonly publishedAt: Date;
  readonly supersededAt: Date | null;
  readonly problem: string | null;
  readonly found: FoundLine | null;
}

export interface EntryPlaces {
  readonly places: readonly EntryPlace[];
  readonly unread: number;
}

/** Of every account day on which any version of the entry (`contents`) was booked, one file after the other. */
export async function placesOf(
  { db, objects }: { readonly db: Kysely<DB>; readonly objects: ObjectStore },
  merchantNo: string,
  contents: readonly LedgerEntry[],
): Promise<EntryPlaces> {
  const places: EntryPlace[] = [];
  let unread = 0;
  let away: string | null = null;
  for (const { currency, day, batchNo } of accountDaysOf(contents)) {
    const revisions = (await statementsOfDay(db, merchantNo, day))
      .filter((row) => row.currency === currency)
      .toReversed();
    unread += Math.max(0, revisions.length - REVISIONS_READ_MAX);
    for (const [at, row] of revisions.slice(0, REVISIONS_READ_MAX).entries()) {
      const next = revisions[at - 1];
      const read: Reading =
        away === null ? await readFor(objects, row, batchNo) : { ...NOT_FOUND, problem: away };
      // If the store does not answer, it is not asked for further files.
      if (read.isAway) away = read.problem;
      places.push({
        ...{ currency, day, revision: row.revision, isCurrent: next === undefined },
        ...{ file: fileOf(row.object_key), objectKey: row.object_key },
        ...{ publishedAt: row.published_at, supersededAt: next?.published_at ?? null },
        ...{ problem: read.problem, found: read.found },
      });
    }
  }
  return { places, unread };
}

interface Reading extends Pick<EntryPlace, 'found' | 'problem'> {
  readonly isAway: boolean;
}
const NOT_FOUND: Reading = { found: null, problem: null, isAway: false };

/** A file that cannot be read becomes a problem of its place. The rest of the answer does not need it. */
async function readFor(objects: ObjectStore, row: StatementRow, batchNo: string): Promise<Reading> {
  try {
    return { ...NOT_FOUND, found: await findLine(objects, row, batchNo) };
  } catch (error) {
    if (!(error instanceof ExpectedError) || error.exitCode !== EXIT.incomplete) throw error;
    return { ...NOT_FOUND, problem: error.message, isAway: !(error instanceof StatementDamaged) };
  }
}

/** The account days of all contents: an amended entry may have moved to another day or currency. */
function accountDaysOf(contents: readonly LedgerEntry[]) {
  const days = contents.map(({ batchNo, currency, bookedAt }) => ({
    ...{ batchNo, currency, day: bookedAt.slice(0, 10) },
  }));
  const keys = days.map(({ currency, day }) => `${currency} ${day}`);
  return days.filter((_, at) => keys.indexOf(keys[at]!) === at);
}
