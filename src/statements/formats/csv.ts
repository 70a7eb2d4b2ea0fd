/** Statements as CSV: RFC 4180, UTF-8 without BOM, CRLF; the same rows give the same bytes. */
import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { stringify } from 'csv-stringify/sync';
import {
  type RowCells,
  type StatementDay,
  type StatementFormat,
  type StatementReader,
  UnreadableRows,
} from './format.ts';

/** Cells are quoted where they hold a comma, a quote or a line's end; no cell is altered. */
export const csvText = (rows: readonly RowCells[]): string =>
  rows.length === 0
    ? ''
    : stringify(rows as string[][], { record_delimiter: '\r\n', quote_record_delimiter: true });

/** What csv-stringify quotes a cell for. */
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * The same text as `csvText` makes. Hardly any cell needs quotes, and handing only those to csv-stringify takes a fifth
 * of the time: see docs/decisions/formats.md.
 */
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

/** What a CSV is made of. */
type Rows = Pick<StatementDay, 'columns' | 'rows'>;

async function* write({ columns, rows }: Rows): AsyncGenerator<Uint8Array> {
  yield Buffer.from(csvText([columns.map(({ name }) => name)]));
  for await (const batch of rows) yield Buffer.from(csvLines(batch));
}

/** The format that every statement is published in. */
export const CSV: StatementFormat & {
  readonly write: (rows: Rows) => AsyncIterable<Uint8Array>;
  readonly reader: StatementReader;
} = {
  name: 'csv',
  extension: 'csv',
  contentType: 'text/csv; charset=utf-8; header=present',
  canBePublished: true,
  holdsEveryDay: true,
  write,
  reader: { hasHeader: true, rows: csvRows },
};

const BATCH_ROWS = 2_000;

/** Every row, the header first, whatever number of cells it has. Throws `UnreadableRows`, and what reading throws. */
export async function* csvRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly RowCells[]> {
  const source = Readable.from(bytes, { objectMode: false });
  const rows = parse({ relax_column_count: true, record_delimiter: '\r\n' });
  source.on('error', (error) => rows.destroy(error));
  source.pipe(rows);
  let batch: RowCells[] = [];
  try {
    for await (const row of rows as AsyncIterable<string[]>) {
      batch.push(row);
      if (batch.length < BATCH_ROWS) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  } catch (error) {
    throw error instanceof CsvError ? new UnreadableRows(error.message) : error;
  } finally {
    source.destroy();
  }
}
