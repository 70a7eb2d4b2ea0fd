/** Every format of statements. A new one is a file in this folder, its head in `heads.ts` and its line here. */
import type { StatementColumn, RowCells, StatementFormat } from './format.ts';
import { CSV } from './csv.ts';
import { HEADS, type FormatHead } from './heads.ts';

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

/** A format whose writer is loaded with the first day. */
const late = (head: FormatHead, load: () => Promise<StatementFormat>): StatementFormat => ({
  ...head,
  async *write(day) {
    yield* (await load()).write(day);
  },
});

export const STATEMENT_FORMATS: readonly StatementFormat[] = [
  CSV,
  SPREADSHEET,
  late(HEADS.xlsx, async () => (await import('./xlsx.ts')).XLSX),
  late(HEADS.camt053, async () => (await import('./camt053.ts')).CAMT053),
  late(HEADS.mt940, async () => (await import('./mt940.ts')).MT940),
  late(HEADS.pdf, async () => (await import('./pdf.ts')).PDF),
];

export const publishedFormats = (names: readonly string[]): readonly StatementFormat[] =>
  STATEMENT_FORMATS.filter(
    ({ name, canBePublished }) => canBePublished && name !== CSV.name && names.includes(name),
  );
