/** The opt-in file for spreadsheets: the canonical statement, with text that would start a formula made harmless. */
import { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { csvText, STATEMENT_COLUMNS } from './csv.ts';

/** What a spreadsheet may take for a formula, at a cell's start. */
const FORMULA_START = /^[=+\-@\t\r]/;
const AMOUNT_COLUMNS: ReadonlySet<string> = new Set(['credit', 'debit', 'balance']);
const IS_TEXT = STATEMENT_COLUMNS.map((column) => !AMOUNT_COLUMNS.has(column));
const BATCH_ROWS = 2_000;

/** Leads with an apostrophe the text cells that would start a formula. Amounts stay as they are. */
const withoutFormulas = (cells: readonly string[]): string[] =>
  cells.map((cell, index) => (IS_TEXT[index] === true && FORMULA_START.test(cell) ? `'${cell}` : cell));

/** A canonical statement's bytes in, the spreadsheet file's bytes out, as a stream. */
export async function* forSpreadsheet(statement: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = Readable.from(statement, { objectMode: false });
  const rows = parse({ relax_column_count: true, record_delimiter: '\r\n' });
  source.on('error', (error) => rows.destroy(error));
  source.pipe(rows);
  let batch: string[][] = [];
  try {
    for await (const row of rows as AsyncIterable<string[]>) {
      batch.push(withoutFormulas(row));
      if (batch.length < BATCH_ROWS) continue;
      yield Buffer.from(csvText(batch));
      batch = [];
    }
    if (batch.length > 0) yield Buffer.from(csvText(batch));
  } finally {
    source.destroy();
  }
}
