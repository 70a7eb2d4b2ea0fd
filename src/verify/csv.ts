/** Reads CSV: RFC 4180 with CRLF. Says of a broken file what csv-parse says of it; the tests hold both against each other. */

/** A row's cells as text, in the order of the columns. Amounts are plain decimals; the absent side is empty. */
export type RowCells = readonly string[];

export class UnreadableRows extends Error {
  override readonly name = 'UnreadableRows';
}

const LINE_END = '\r\n';
const [QUOTE, CR, LF] = [...Buffer.from('"\r\n')] as [number, number, number];
/** A position is parsed once this many bytes after it are known. */
const BYTES_AHEAD = 2;
const BATCH_ROWS = 2_000;
/** So many bytes are parsed at once, so that a file which comes in one piece is not held as rows in memory. */
const PART_BYTES = 65_536;

/** How files of others differ. */
export interface CsvForm {
  /** One character of ASCII. Default: a comma. */
  readonly delimiter?: string | undefined;
  /** A quote within a cell that does not begin with one is text, as in `5" pipe`. */
  readonly hasBareQuotes?: boolean;
  /** A longer cell is an error: a quote that is not closed would take in all rows behind it. Default: any length. */
  readonly cellBytesMax?: number;
  /** More cells in a row are an error: a few MB of delimiters would become as many cells. Default: any number. */
  readonly cellsMax?: number;
}

/** A text in pieces, whose lines may end in LF, CR or CRLF, as bytes for `csvRows`. */
export async function* withLineEnds(
  pieces: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<Uint8Array> {
  let held = '';
  for await (const piece of pieces) {
    const text = held + piece;
    // The LF of a CR may come with the next piece.
    held = text.endsWith('\r') ? '\r' : '';
    yield Buffer.from(text.slice(0, text.length - held.length).replaceAll(/\r?\n|\r/g, LINE_END));
  }
  if (held !== '') yield Buffer.from(LINE_END);
}

/** Every row, the header first, whatever number of cells it has. Throws `UnreadableRows`, and what reading throws. */
export async function* csvRows(
  bytes: AsyncIterable<Uint8Array>,
  form: CsvForm = {},
): AsyncGenerator<readonly RowCells[]> {
  const rows = createRows(form);
  let rest: Uint8Array = Buffer.alloc(0);
  for await (const chunk of bytes) {
    for (let from = 0; from < chunk.length; from += PART_BYTES) {
      const known = Buffer.concat([rest, chunk.subarray(from, from + PART_BYTES)]);
      rest = known.subarray(rows.take(known, known.length - BYTES_AHEAD));
      if (rows.count() >= BATCH_ROWS) yield rows.given();
    }
  }
  rows.take(Buffer.from(rest), rest.length);
  rows.end();
  if (rows.count() > 0) yield rows.given();
}

/** The cells of a record, which has no line end after it; null if it is not one record. */
export function cellsOf(record: string): RowCells | null {
  if (!record.includes('"')) return record.split(',');
  const rows = createRows();
  const bytes = Buffer.from(record);
  try {
    rows.take(bytes, bytes.length);
    rows.end();
  } catch (error) {
    if (error instanceof UnreadableRows) return null;
    throw error;
  }
  const [first, ...others] = rows.given();
  return others.every(({ length }) => length === first!.length) ? first! : null;
}

function createRows(form: CsvForm = {}) {
  const { delimiter = ',', hasBareQuotes = false, cellBytesMax = Infinity, cellsMax = Infinity } = form;
  const separator = delimiter.charCodeAt(0);
  const rows: RowCells[] = [];
  let cells: string[] = [];
  const cell = createCell(cellBytesMax);
  let isQuoted = false;
  /** A quoted cell may be empty and still be one. */
  let wasQuoted = false;
  let [line, lastByte] = [1, 0];

  const endCell = (): void => {
    if (cells.push(cell.given().toString('utf8')) > cellsMax) throw tooManyCells(cellsMax);
    wasQuoted = false;
  };
  const endRow = (): void => {
    endCell();
    rows.push(cells);
    cells = [];
  };
  const isInRow = (): boolean => isQuoted || wasQuoted || cells.length > 0 || cell.length() > 0;

  /** Takes the bytes before `end`, and at most one after it. Returns how many it took. */
  const take = (bytes: Buffer, end: number): number => {
    let at = 0;
    /** Where the bytes begin that belong to the cell and are not in it yet. */
    let from = 0;
    const keepUntil = (to: number, next: number): void => {
      if (to > from) cell.add(bytes.subarray(from, to));
      from = at = next;
    };
    while (at < end) {
      const plain = at > from || isInRow() ? null : plainRows(bytes, { from: at, end, delimiter, cellsMax });
      if (plain !== null) {
        for (const row of plain.rows) rows.push(row);
        line += plain.lineEnds;
        [lastByte, from, at] = [LF, plain.to, plain.to];
        continue;
      }
      const byte = bytes[at]!;
      const next = bytes[at + 1];
      lastByte = byte;
      if (byte === QUOTE && isQuoted) {
        if (next === QUOTE) keepUntil(at + 1, at + 2);
        else {
          if (next !== separator && !mayFollowQuote(next, bytes[at + 2])) throw wrongAfterQuote(next!, line);
          keepUntil(at, at + 1);
          [isQuoted, wasQuoted] = [false, true];
        }
      } else if (byte === QUOTE && !(hasBareQuotes && (at > from || cell.length() > 0))) {
        keepUntil(at, at + 1);
        if (cell.length() > 0) throw quoteInside(cells.length, line, cell.given());
        isQuoted = true;
      } else if (byte === separator && !isQuoted) {
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
    if (isInRow()) endRow();
  };

  return { take, end, given: () => rows.splice(0), count: () => rows.length };
}

/** The bytes of a cell, which may come in many parts. */
function createCell(bytesMax: number) {
  let parts: Buffer[] = [];
  let length = 0;
  return {
    length: () => length,
    add: (part: Buffer): void => {
      parts.push(part);
      length += part.length;
      if (length > bytesMax)
        throw new UnreadableRows(`a cell has over ${bytesMax} bytes, probably as a quote is not closed`);
    },
    given: (): Buffer => {
      const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts, length);
      parts = [];
      length = 0;
      return all;
    },
  };
}

/** The complete rows before the next quote, many at once: the same as byte by byte in a fraction of the time. Null if there is none. */
function plainRows(
  bytes: Buffer,
  {
    from,
    end,
    delimiter,
    cellsMax,
  }: Required<Pick<CsvForm, 'cellsMax'>> & {
    readonly from: number;
    readonly end: number;
    readonly delimiter: string;
  },
) {
  const quote = bytes.indexOf(QUOTE, from);
  const last = (quote === -1 ? end : Math.min(quote, end)) - LINE_END.length;
  const lineEnd = last < from ? -1 : bytes.lastIndexOf(LINE_END, last);
  if (lineEnd < from) return null;
  const lines = bytes.toString('utf8', from, lineEnd).split(LINE_END);
  const rows = lines.map((line) => line.split(delimiter));
  if (rows.some(({ length }) => length > cellsMax)) throw tooManyCells(cellsMax);
  return {
    rows,
    lineEnds: lines.reduce((count, line) => count + 1 + lineEndsIn(line), 0),
    to: lineEnd + LINE_END.length,
  };
}

/** Line ends that end no row: CR or LF alone. */
const lineEndsIn = (text: string): number =>
  ANY_LINE_END.test(text) ? text.split(ANY_LINE_END).length - 1 : 0;
const ANY_LINE_END = /[\r\n]/;

/** After the quote that closes a cell comes a delimiter or a line's end; csv-parse lets a NUL pass. */
const mayFollowQuote = (byte: number | undefined, after: number | undefined): boolean =>
  byte === undefined || byte === 0 || (byte === CR && after === LF);

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

const tooManyCells = (cellsMax: number): UnreadableRows =>
  new UnreadableRows(`a row has over ${cellsMax} cells`);

const quoteNotClosed = (line: number): UnreadableRows =>
  new UnreadableRows(`Quote Not Closed: the parsing is finished with an opening quote at line ${line}`);
