/** Workbooks that are small as files and huge as what they hold: refused with a sentence, and the reading process ends. */
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';
import { writeXlsx } from 'hucre/xlsx';
import { expect, test } from 'vitest';
import { PAGES_LIMITS, workbookRows, type WorkbookRow } from '../../../src/plugins/books/import/workbook.ts';

const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';

/** The least that a reader takes as a workbook, with these texts and rows. */
async function workbook({ strings = '', rows = '', more = '' }): Promise<Buffer> {
  const zip = new ZipFile();
  const add = (path: string, text: string): void => zip.addBuffer(Buffer.from(HEAD + text), path);
  add('[Content_Types].xml', `<Types xmlns="${PACKAGE}/content-types"/>`);
  add(
    '_rels/.rels',
    `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  );
  add(
    'xl/workbook.xml',
    `<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets><sheet name="One" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  );
  add(
    'xl/_rels/workbook.xml.rels',
    `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>` +
      `<Relationship Id="rId2" Type="${RELATIONS}/sharedStrings" Target="sharedStrings.xml"/></Relationships>`,
  );
  add('xl/sharedStrings.xml', `<sst xmlns="${MAIN}">${strings}</sst>`);
  add('xl/worksheets/sheet1.xml', `<worksheet xmlns="${MAIN}"><sheetData>${rows}</sheetData></worksheet>`);
  if (more !== '') add('xl/media/more.bin', more);
  zip.end();
  return buffer(zip.outputStream);
}

async function read(file: Uint8Array, limits = PAGES_LIMITS): Promise<WorkbookRow[]> {
  const rows: WorkbookRow[] = [];
  for await (const part of workbookRows('book.xlsx', file, { sheet: null, limits })) rows.push(...part);
  return rows;
}

const repeated = (count: number, of: (nth: number) => string): string =>
  Array.from({ length: count }, (_, nth) => of(nth)).join('');

test('a workbook within the limits is read as it is', async () => {
  const strings = '<si><t>Größe &amp; co</t></si>';
  const rows =
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1"><v>1.5</v></c><c r="D1" t="b"><v>1</v></c></row><row r="7"><c r="B7" t="inlineStr"><is><t>x</t></is></c></row>';
  expect(await read(await workbook({ strings, rows }))).toEqual([
    { index: 0, values: ['Größe & co', null, 1.5, true] },
    { index: 6, values: [null, 'x'] },
  ]);
  const moment = new Date('2026-03-31T18:30:00Z');
  const dated = await writeXlsx({ sheets: [{ name: 'One', rows: [[moment, 'now']] }] });
  expect(await read(dated)).toEqual([{ index: 0, values: [moment, 'now'] }]);
});

test.each<readonly [string, Parameters<typeof workbook>[0], RegExp]>([
  [
    'the last column alone',
    { rows: repeated(300_000, (nth) => `<row r="${nth + 1}"><c r="XFD${nth + 1}"><v>1</v></c></row>`) },
    /has more than 1,000 columns\. Save it as CSV\./,
  ],
  ['cells without a name', { rows: `<row>${'<c/>'.repeat(1_200)}</row>` }, /more than 1,000 columns/],
  [
    'a cell far from its beginning',
    { rows: `<row><c ${'s="0" '.repeat(200)} r="XFD1"/></row>` },
    /more than 1,000 columns/,
  ],
  ['rows without cells', { rows: '<row/>'.repeat(2_100_000) }, /more than 2,000,000 rows and cells/],
  ['cells', { rows: `<row>${'<c/>'.repeat(50)}</row>`.repeat(41_000) }, /more than 2,000,000 rows and cells/],
  ['texts', { strings: '<si/>'.repeat(500_000) }, /more than 400,000 texts/],
  ['texts with a prefix', { strings: '<x:si></x:si>'.repeat(500_000) }, /more than 400,000 texts/],
  [
    'one text in many cells',
    {
      strings: `<si><t>${'a'.repeat(100_000)}</t></si>`,
      rows: `<row>${'<c t="s"><v>0</v></c>'.repeat(100)}</row>`,
    },
    /more than 1,048,576 characters in a row/,
  ],
  [
    'one text in one cell',
    { rows: `<row><c t="inlineStr"><is><t>${'a'.repeat(40_000_000)}</t></is></c></row>` },
    /more than 1,048,576 characters in a row/,
  ],
  ['bytes in another file', { more: '0'.repeat(135_000_000) }, /134,217,728 bytes when it is unpacked/],
])('a workbook of too much is refused: %s', async (_what, content, problem) => {
  const file = await workbook(content);
  expect(file.length).toBeLessThan(10 * 1_048_576);
  await expect(read(file)).rejects.toThrow(problem);
});

test('a workbook that needs more memory than its process has ends that process alone', async () => {
  const strings = repeated(100_000, (nth) => `<si><t>${'a'.repeat(300)}${nth}</t></si>`);
  await expect(read(await workbook({ strings }), { ...PAGES_LIMITS, heapMb: 30 })).rejects.toThrow(
    /it needs more than 30 MB of memory/,
  );
});

test('what is no workbook is refused, and random bytes of one end nothing but its process', async () => {
  await expect(read(Buffer.from('no workbook'))).rejects.toThrow(/book\.xlsx cannot be read as a workbook: /);
  const file = await workbook({ rows: '<row r="1"><c r="A1"><v>1</v></c></row>' });
  const noise = createHash('sha512').update('noise').digest();
  for (const at of [40, 200, file.length - 30]) {
    const broken = Buffer.from(file);
    noise.copy(broken, at, 0, 20);
    await read(broken).catch((error: unknown) => expect(error).toMatchObject({ name: 'UsageError' }));
  }
});

test('who leaves ends the process that reads', async () => {
  const left = new AbortController();
  const rows = repeated(100_000, (nth) => `<row r="${nth + 1}"><c r="A${nth + 1}"><v>1</v></c></row>`);
  const reading = workbookRows(
    'book.xlsx',
    await workbook({ rows }),
    { sheet: null, limits: PAGES_LIMITS },
    left.signal,
  );
  expect((await reading.next()).value?.length).toBeGreaterThan(0);
  left.abort(new Error('left'));
  await expect(
    (async () => {
      for await (const part of reading) expect(part.length).toBeGreaterThan(0);
    })(),
  ).rejects.toThrow('left');
});
