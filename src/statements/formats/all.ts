/** Every format of statements: the CSV, and those that plugins add. */
import { addedFormats, addedMonthFormats } from './registered.ts';
import type { MonthFormat, StatementColumn, StatementFormat } from './format.ts';
import type { RowCells } from '../../verify/csv.ts';
import { OTHER_FORMATS } from '../../verify/formats.ts';
import { CSV } from './csv.ts';

/** Nothing that some spreadsheet would skip, or take for the start of a formula. */
const PLAIN_START = /^[\p{L}\p{Nd}]/u;
const SKIPPED = /^[\s\p{C}\p{Z}]+/u;

/** Whether a spreadsheet could read the cell as a formula: by its first sign, full-width or small ones included, also behind blanks. */
function startsFormula(cell: string): boolean {
  if (cell === '' || PLAIN_START.test(cell)) return false;
  if (cell.startsWith('\t') || cell.startsWith('\r')) return true;
  return /^[=+\-@]/.test(cell.replace(SKIPPED, '').slice(0, 1).normalize('NFKC'));
}

/** Puts an apostrophe in front of text cells that would start a formula. Amounts stay as they are. */
async function* withoutFormulas(
  columns: readonly StatementColumn[],
  rows: AsyncIterable<readonly RowCells[]>,
): AsyncGenerator<readonly RowCells[]> {
  for await (const batch of rows)
    yield batch.map((cells) =>
      cells.map((cell, at) => (columns[at]?.isAmount !== true && startsFormula(cell) ? `'${cell}` : cell)),
    );
}

export const SPREADSHEET: StatementFormat = {
  ...OTHER_FORMATS.spreadsheet,
  contentType: CSV.contentType,
  canBePublished: false,
  holdsEveryDay: true,
  write: ({ columns, rows }) => CSV.write({ columns, rows: withoutFormulas(columns, rows) }),
};

export const STATEMENT_FORMATS: readonly StatementFormat[] = [CSV, SPREADSHEET, ...addedFormats.all()];

/** Those of a merchant's month as one file. */
export const MONTH_FORMATS: readonly MonthFormat[] = addedMonthFormats.all();

/** The format, which writes these codes for currencies that ISO 4217 does not have, if it is one of banks. */
export const formatWith = (
  format: StatementFormat,
  isoCurrencies: Readonly<Record<string, string>>,
): StatementFormat =>
  format.writesIsoCurrency !== true
    ? format
    : {
        ...format,
        isoCurrencies,
        write: (day) => format.write({ ...day, isoCurrency: isoCurrencies[day.account.currency] }),
      };

export const publishedFormats = (
  names: readonly string[],
  isoCurrencies: Readonly<Record<string, string>> = {},
): readonly StatementFormat[] =>
  STATEMENT_FORMATS.filter(
    ({ name, canBePublished }) => canBePublished && name !== CSV.name && names.includes(name),
  ).map((format) => formatWith(format, isoCurrencies));
