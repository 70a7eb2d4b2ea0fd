/** The opt-in file for spreadsheets: the CSV, with text that would start a formula made harmless. */
import type { StatementColumn } from './columns.ts';
import { CSV } from './csv.ts';
import type { RowCells, StatementFormat } from './format.ts';

/** What a spreadsheet may take for a formula, at a cell's start. */
const FORMULA_START = /^[=+\-@\t\r]/;

/** Puts an apostrophe in front of text cells that would start a formula. Amounts stay as they are. */
async function* withoutFormulas(
  columns: readonly StatementColumn[],
  rows: AsyncIterable<readonly RowCells[]>,
): AsyncGenerator<readonly RowCells[]> {
  for await (const batch of rows)
    yield batch.map((cells) =>
      cells.map((cell, at) =>
        columns[at]?.isAmount !== true && FORMULA_START.test(cell) ? `'${cell}` : cell,
      ),
    );
}

export const SPREADSHEET: StatementFormat = {
  name: 'spreadsheet',
  extension: 'spreadsheet.csv',
  contentType: CSV.contentType,
  canBePublished: false,
  holdsEveryDay: true,
  write: ({ columns, rows }) => CSV.write({ columns, rows: withoutFormulas(columns, rows) }),
};
