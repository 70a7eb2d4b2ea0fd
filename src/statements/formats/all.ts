/** Every format that statements come in. A new one is a file beside this one and its line here. */
import { CSV } from './csv.ts';
import type { StatementFormat } from './format.ts';
import { SPREADSHEET } from './spreadsheet.ts';

export const STATEMENT_FORMATS: readonly StatementFormat[] = [CSV, SPREADSHEET];
