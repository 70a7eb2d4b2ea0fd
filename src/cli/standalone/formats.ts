/** The published formats as far as checking them goes: `src/statements/formats` without what writes them. */
import type { StatementFormat, StatementReader } from '../../statements/formats/format.ts';
import { csvRows } from './csv-rows.ts';

type ReadableFormat = Omit<StatementFormat, 'write' | 'contentType'>;

export const CSV: ReadableFormat & { readonly reader: StatementReader } = {
  name: 'csv',
  extension: 'csv',
  canBePublished: true,
  reader: { hasHeader: true, rows: csvRows },
};

export const STATEMENT_FORMATS: readonly ReadableFormat[] = [CSV];
