/** The formats of the option: published, listed, verified and made again with the same bytes. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { readXlsx } from 'hucre/xlsx';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ObjectStore } from '../../../src/objects/object-store.ts';
import { publishedFormats, STATEMENT_FORMATS } from '../../../src/statements/formats/all.ts';
import { verifyPaths } from '../../../src/verify/verify.ts';
import { ZONE, type Book } from '../../statements/book.ts';
import { openFormatBook, type FormatBook } from '../../statements/format-book.ts';
import { pagesOf, textOf } from '../../support/read-pdf.ts';

const chosen = publishedFormats(['xlsx', 'camt053', 'mt940', 'pdf']);

let open: FormatBook;
let store: ObjectStore;
let book: Book;
beforeEach(async () => {
  open = await openFormatBook();
  ({ store, book } = open);
});
afterEach(() => open.close());

const pathOf: FormatBook['pathOf'] = (...of) => open.pathOf(...of);
const keysOf = (revision: number): string[] => chosen.map(({ extension }) => pathOf(extension, { revision }));

test('all are published, listed, verified, and made again with the same bytes', async () => {
  await book.published(store, { formats: chosen });
  await open.amended();
  await book.published(store, { formats: chosen });
  expect((await open.manifestOf()).statements[0]).toMatchObject({
    otherFormats: chosen.map(({ name }) => ({ format: name })),
    superseded: [{ otherFormats: chosen.map(({ name }) => ({ format: name })) }],
  });
  expect((await verifyPaths([open.folder])).problems).toEqual([]);
  const paths = [...keysOf(1), ...keysOf(2)];
  const before = await Promise.all(paths.map((path) => readFile(path)));
  for (const path of paths) await rm(path);
  expect((await open.repaired(STATEMENT_FORMATS)).repaired).toHaveLength(2 * chosen.length);
  expect(await Promise.all(paths.map((path) => readFile(path)))).toEqual(before);
  const { sheets } = await readXlsx(before[chosen.length]!);
  expect(sheets[2]!.rows.map(([what, batchNo, , , type]) => [what, batchNo, type]).slice(1)).toEqual([
    ['before', 'B0000', 'PAY'],
    ['after', 'B0000', 'FEE'],
  ]);
  const page = textOf(await pagesOf(before.at(-1)!));
  expect(page).toMatch(/before \| \S+ \| B0000 \| PAY .*\nafter \| \S+ \| B0000 \| FEE /);
  expect(page).toContain(`23:59:59 of ${ZONE}`);
});

test('all are published where the revision before cannot be read, say so, and are made again as they were', async () => {
  await book.published(store, { formats: chosen });
  const first = await readFile(pathOf('csv'));
  await rm(pathOf('csv'));
  await open.amended();
  await book.published(store, { formats: chosen });
  const workbook = await readFile(pathOf('xlsx', { revision: 2 }));
  const { sheets } = await readXlsx(workbook);
  expect(sheets[2]!.rows[1]![0]).toMatch(/^the file of the revision before could not be read/);
  await writeFile(pathOf('csv'), first);
  await rm(pathOf('xlsx', { revision: 2 }));
  await open.repaired(STATEMENT_FORMATS);
  expect(await readFile(pathOf('xlsx', { revision: 2 }))).toEqual(workbook);
});
