/** Finds an entry's line in a published statement, reading it as a stream. */
import type { ObjectStore } from '../objects/object-store.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { fetchStatement } from './fetch.ts';
import { columnsOf } from './formats/columns.ts';
import { cellsOf } from './formats/csv-records.ts';

/** An entry as a statement's file has it. */
export interface FoundLine {
  /** The line's number as editors show it: the header is line 1. */
  readonly line: number;
  /** By the columns that the file has. */
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

/** Checks through complete lines. */
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
