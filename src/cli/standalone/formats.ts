/** The published formats as far as checking them goes: `src/statements/formats` without what writes them. */
import {
  UnreadableRows,
  type RowCells,
  type StatementFormat,
  type StatementReader,
} from '../../statements/formats/format.ts';

type ReadableFormat = Omit<StatementFormat, 'write' | 'contentType'>;

export const CSV: ReadableFormat & { readonly reader: StatementReader } = {
  name: 'csv',
  extension: 'csv',
  canBePublished: true,
  reader: { hasHeader: true, rows: csvRows },
};

/** CSV, and formats of which the bytes alone are checked. */
export const STATEMENT_FORMATS: readonly ReadableFormat[] = [
  CSV,
  { name: 'xlsx', extension: 'xlsx', canBePublished: true },
  { name: 'camt053', extension: 'camt053.xml', canBePublished: true },
  { name: 'mt940', extension: 'mt940', canBePublished: true },
  { name: 'pdf', extension: 'pdf', canBePublished: true },
];

const [QUOTE, COMMA, CR, LF] = [...Buffer.from('",\r\n')] as [number, number, number, number];
/** A position is parsed once this many bytes after it are known. */
const BYTES_AHEAD = 2;

/**
 * Every row of a CSV file (RFC 4180 with CRLF), the header first, whatever number of cells it has. Says of a broken file
 * what csv-parse says of it. Throws `UnreadableRows`, and what reading throws.
 */
export async function* csvRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly RowCells[]> {
  const rows = createRows();
  let rest: Uint8Array = Buffer.alloc(0);
  for await (const chunk of bytes) {
    const known = Buffer.concat([rest, chunk]);
    rest = known.subarray(rows.take(known, known.length - BYTES_AHEAD));
    yield rows.given();
  }
  rows.take(Buffer.from(rest), rest.length);
  rows.end();
  yield rows.given();
}

function createRows() {
  let rows: RowCells[] = [];
  let cells: string[] = [];
  let cell: Buffer = Buffer.alloc(0);
  let isQuoted = false;
  /** A quoted cell may be empty and still be one. */
  let wasQuoted = false;
  let line = 1;
  let lastByte = 0;

  const endCell = (): void => {
    cells.push(cell.toString('utf8'));
    cell = Buffer.alloc(0);
    wasQuoted = false;
  };
  const endRow = (): void => {
    endCell();
    rows.push(cells);
    cells = [];
  };

  /** Takes the bytes before `end`, and at most one after it. Returns how many it took. */
  const take = (bytes: Buffer, end: number): number => {
    let at = 0;
    /** Where the bytes begin that belong to the cell and are not in it yet. */
    let from = 0;
    const keepUntil = (to: number, next: number): void => {
      if (to > from) cell = Buffer.concat([cell, bytes.subarray(from, to)]);
      from = at = next;
    };
    while (at < end) {
      const byte = bytes[at]!;
      const next = bytes[at + 1];
      lastByte = byte;
      if (byte === QUOTE && isQuoted) {
        if (next === QUOTE) keepUntil(at + 1, at + 2);
        else {
          if (!mayFollowQuote(next, bytes[at + 2])) throw wrongAfterQuote(next!, line);
          keepUntil(at, at + 1);
          [isQuoted, wasQuoted] = [false, true];
        }
      } else if (byte === QUOTE) {
        keepUntil(at, at + 1);
        if (cell.length > 0) throw quoteInside(cells.length, line, cell);
        isQuoted = true;
      } else if (byte === COMMA && !isQuoted) {
        keepUntil(at, at + 1);
        endCell();
      } else if (byte === CR && next === LF && !isQuoted) {
        keepUntil(at, at + 2);
        endRow();
        line += 1;
      } else {
        if (byte === CR || byte === LF) line += 1;
        at += 1;
      }
    }
    keepUntil(at, at);
    return at;
  };

  const end = (): void => {
    if (isQuoted) throw quoteNotClosed(lastByte === CR || lastByte === LF ? line - 1 : line);
    if (wasQuoted || cells.length > 0 || cell.length > 0) endRow();
  };

  const given = (): readonly RowCells[] => {
    const complete = rows;
    rows = [];
    return complete;
  };
  return { take, end, given };
}

/** After the quote that closes a cell comes a comma or a line's end; csv-parse lets a NUL pass. */
const mayFollowQuote = (byte: number | undefined, after: number | undefined): boolean =>
  byte === undefined || byte === 0 || byte === COMMA || (byte === CR && after === LF);

const wrongAfterQuote = (byte: number, line: number): UnreadableRows =>
  new UnreadableRows(
    `Invalid Closing Quote: got "${String.fromCharCode(byte)}" at line ${line} instead of delimiter, record delimiter, ` +
      'trimable character (if activated) or comment',
  );

function quoteInside(column: number, line: number, cell: Buffer): UnreadableRows {
  const mark = { efbbbf: ' (utf8 bom)', fffe: ' (utf16le bom)' }[cell.toString('hex')] ?? '';
  const value = JSON.stringify(cell.toString('utf8'));
  return new UnreadableRows(
    `Invalid Opening Quote: a quote is found on field ${column} at line ${line}, value is ${value}${mark}`,
  );
}

const quoteNotClosed = (line: number): UnreadableRows =>
  new UnreadableRows(`Quote Not Closed: the parsing is finished with an opening quote at line ${line}`);
