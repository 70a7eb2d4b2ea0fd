import { addedFormats, addedMonthFormats, HEADS } from '../../statements/formats/registered.ts';
import type { StatementFormat } from '../../statements/formats/format.ts';
import type { Plugin } from '../../plugin.ts';

/** A writer that is loaded with the first day. */
const late = (load: () => Promise<StatementFormat['write']>): StatementFormat['write'] =>
  async function* (day) {
    yield* (await load())(day);
  };

export const formats: Plugin = {
  name: 'formats',
  about: 'statements as XLSX, camt.053, MT940 and PDF, and a month as PDF',
  settings: async () => (await import('./settings.ts')).formatSettings,
  docs: ['reference/files.md#formats-next-to-the-csv'],
  register: () => {
    addedFormats.add([
      { ...HEADS.xlsx, write: late(async () => (await import('./xlsx.ts')).writeXlsx) },
      { ...HEADS.camt053, write: late(async () => (await import('./camt053.ts')).writeCamt053) },
      { ...HEADS.mt940, write: late(async () => (await import('./mt940.ts')).writeMt940) },
      {
        ...HEADS.pdf,
        write: late(async () => (await import('./pdf.ts')).writePdf),
        month: async (db, asked) => (await import('./month-pdf.ts')).monthAsPdf(db, asked),
      },
    ]);
    addedMonthFormats.add([
      {
        name: 'workbook',
        extension: HEADS.xlsx.extension,
        contentType: HEADS.xlsx.contentType,
        make: async (sources, asked) => (await import('./month-workbook.ts')).monthWorkbook(sources, asked),
      },
    ]);
  },
};
