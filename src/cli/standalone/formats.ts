/** The published formats as far as checking them goes: `src/statements/formats` without what writes them. */
import { csvRows } from '../../statements/formats/csv-reader.ts';
import { HEADS } from '../../statements/formats/heads.ts';
import type { StatementFormat, StatementReader } from '../../statements/formats/format.ts';

type ReadableFormat = Omit<StatementFormat, 'write' | 'contentType'>;

export const CSV: ReadableFormat & { readonly reader: StatementReader } = {
  name: 'csv',
  extension: 'csv',
  canBePublished: true,
  reader: { hasHeader: true, rows: csvRows },
};

/** CSV, and formats of which the bytes alone are checked. */
export const STATEMENT_FORMATS: readonly ReadableFormat[] = [CSV, ...Object.values(HEADS)];
