/** Every format of statements. A new one is a file in this folder and its line here. */
import { CAMT053 } from './camt053.ts';
import { CSV } from './csv.ts';
import type { StatementFormat } from './format.ts';
import { MT940 } from './mt940/mt940.ts';
import { PDF } from './pdf/pdf.ts';
import { SPREADSHEET } from './spreadsheet.ts';
import { XLSX } from './xlsx/xlsx.ts';

export const STATEMENT_FORMATS: readonly StatementFormat[] = [CSV, SPREADSHEET, XLSX, CAMT053, MT940, PDF];

/** The formats of these names that are published with the CSV. */
export const publishedFormats = (names: readonly string[]): readonly StatementFormat[] =>
  STATEMENT_FORMATS.filter(
    ({ name, canBePublished }) => canBePublished && name !== CSV.name && names.includes(name),
  );
