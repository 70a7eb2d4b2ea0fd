/** Statements as CSV: RFC 4180, UTF-8 without BOM, CRLF; the same rows give the same bytes. */
import { stringify } from 'csv-stringify/sync';
import type { RowCells } from '../../verify/csv.ts';
import { CSV as READABLE_CSV, type StatementReader } from '../../verify/formats.ts';
import type { StatementDay, StatementFormat } from './format.ts';

/** Cells are quoted where they hold a comma, a quote or a line's end; no cell is altered. */
export const csvText = (rows: readonly RowCells[]): string =>
  rows.length === 0
    ? ''
    : stringify(rows as string[][], { record_delimiter: '\r\n', quote_record_delimiter: true });

const NEEDS_QUOTES = /[",\r\n]/;

/** The same text as `csvText` in a fifth of the time, as hardly any cell needs quotes: see docs/decisions/formats.md. */
export function csvLines(rows: readonly RowCells[]): string {
  let lines = '';
  for (const cells of rows) {
    let separator = '';
    for (const cell of cells) {
      lines += separator + (NEEDS_QUOTES.test(cell) ? csvText([[cell]]).slice(0, -'\r\n'.length) : cell);
      separator = ',';
    }
    lines += '\r\n';
  }
  return lines;
}

type Rows = Pick<StatementDay, 'columns' | 'rows'>;

async function* write({ columns, rows }: Rows): AsyncGenerator<Uint8Array> {
  yield Buffer.from(csvText([columns.map(({ name }) => name)]));
  for await (const batch of rows) yield Buffer.from(csvLines(batch));
}

export const CSV: StatementFormat & {
  readonly write: (rows: Rows) => AsyncIterable<Uint8Array>;
  readonly reader: StatementReader;
} = {
  ...READABLE_CSV,
  contentType: 'text/csv; charset=utf-8; header=present',
  canBePublished: true,
  holdsEveryDay: true,
  holdsChanges: true,
  holdsMonth: true,
  write,
};

const LINE_END = '\r\n';
/** Longer than any record of ours, so that a file of another kind is not collected in memory as one record. */
const RECORD_CHARACTERS_MAX = 1_048_576;

export class NoStatement extends Error {
  override readonly name = 'NoStatement';
  readonly file: string;
  constructor(file: string, why: string) {
    super(`${file} is no statement: ${why}`);
    this.file = file;
  }
}

/** The records of a file's bytes, some at a time, its header first. Memory holds one chunk. Throws `NoStatement`. */
export async function* recordsOf(
  bytes: AsyncIterable<Uint8Array>,
  file: string,
): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let rest = '';
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(LINE_END);
    rest = lines.pop()!;
    const records = splitRecords(lines);
    rest = records.unfinished + rest;
    if (rest.length > RECORD_CHARACTERS_MAX)
      throw new NoStatement(file, `a record has more than ${RECORD_CHARACTERS_MAX} characters`);
    if (records.complete.length > 0) yield records.complete;
  }
  rest += decoder.decode();
  if (rest !== '') yield [rest];
}

/** A line break inside quotes is part of a cell, so the lines around it are one record. */
function splitRecords(lines: readonly string[]): { complete: readonly string[]; unfinished: string } {
  if (!lines.some((line) => line.includes('"'))) return { complete: lines, unfinished: '' };
  const complete: string[] = [];
  let open: string[] = [];
  for (const line of lines) {
    open.push(line);
    const endsInQuotes = hasOddQuotes(line) === (open.length === 1);
    if (endsInQuotes) continue;
    complete.push(open.join(LINE_END));
    open = [];
  }
  return { complete, unfinished: open.map((line) => line + LINE_END).join('') };
}

const hasOddQuotes = (line: string): boolean => line.includes('"') && line.split('"').length % 2 === 0;
