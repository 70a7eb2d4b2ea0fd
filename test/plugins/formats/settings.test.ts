/** What `DAYBOOK_STATEMENT_FORMATS` may name, and what it asks for. */
import { expect, test } from 'vitest';
import { loadSettings } from '../../../src/settings/load.ts';
import { STATEMENT_FORMATS, publishedFormats } from '../../../src/statements/formats/all.ts';

const load = (formats: string, isInstalled: (name: string) => boolean = () => true) =>
  loadSettings({
    env: {
      PLATFORM_BASE_URL: 'https://platform.example/',
      PLATFORM_TIME_ZONE: 'Asia/Shanghai',
      DATABASE_URL: 'postgres://db/books',
      DAYBOOK_STATEMENT_FORMATS: formats,
    },
    readFile: () => '',
    isInstalled,
  }).statementFormats;

test('it names every format that can be published, and no other', () => {
  const publishable = STATEMENT_FORMATS.flatMap(({ name, canBePublished }) => (canBePublished ? [name] : []));
  expect(load(publishable.join(','))).toEqual(publishable);
  expect(() => load('csv,docx')).toThrow(
    'DAYBOOK_STATEMENT_FORMATS must be a list of csv, xlsx, camt053, mt940, pdf',
  );
  expect(() => load('spreadsheet')).toThrow('must be a list of');
});

test('what it names is published in the order of the formats, and CSV without being named', () => {
  expect(publishedFormats(load('csv'))).toEqual([]);
  expect(publishedFormats(load('mt940, xlsx')).map(({ name }) => name)).toEqual(['xlsx', 'mt940']);
});

test('pdf asks for a package, which may be missing for the others', () => {
  const isInstalled = (name: string): boolean => name !== 'pdfkit';
  expect(() => load('csv,pdf', isInstalled)).toThrow(
    /DAYBOOK_STATEMENT_FORMATS asks for PDF statements, and pdfkit is not installed; .*npm install pdfkit@/s,
  );
  expect(load('csv,xlsx', isInstalled)).toEqual(['csv', 'xlsx']);
});
