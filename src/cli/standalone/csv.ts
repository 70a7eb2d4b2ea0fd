/** CSV as far as checking it goes: `src/statements/formats/csv.ts` without what writes it. */
import { csvRows } from '../../statements/formats/csv-reader.ts';
import type { StatementFormat, StatementReader } from '../../statements/formats/format.ts';

export type ReadableFormat = Omit<StatementFormat, 'write' | 'contentType'>;

export const CSV: ReadableFormat & { readonly reader: StatementReader } = {
  name: 'csv',
  extension: 'csv',
  canBePublished: true,
  reader: { hasHeader: true, rows: (bytes) => csvRows(bytes) },
};
