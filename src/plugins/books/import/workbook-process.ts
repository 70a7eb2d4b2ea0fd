/** A process of its own that reads the workbook on stdin, within limits, and writes its rows to stdout: see workbook.ts. */
import { buffer } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import yauzl from 'yauzl';
import { loadFor } from '../../../host/packages.ts';
import { ExpectedError } from '../../../ledger/ending.ts';
import { messageOf } from '../../../ledger/text.ts';
import { cellName, unsolvedFormulas } from './formulas.ts';
import { COLUMNS_MAX, NO_RESULT } from './values.ts';
import type { WorkbookAnswer, WorkbookLimits, WorkbookQuestion, WorkbookValue } from './workbook.ts';

/** Rows, and characters of them, that are written together. */
const PART_ROWS = 2_000;
const PART_CHARACTERS = 262_144;
/** Of the cells of a row together; a cell of a spreadsheet has 32,767 at most. */
const ROW_CHARACTERS_MAX = 1_048_576;
/** A text that many cells share is unpacked once; the rows may have so many times as many characters as the workbook has bytes. */
const SHARED_TIMES_MAX = 4;

/** The workbook is not read: a sentence without its subject. */
class Refused extends Error {}

const tooMany = (what: string, max: number): Refused =>
  new Refused(`has more than ${max.toLocaleString('en')} ${what}. Save it as CSV.`);

/** `<row>`, `<c r="XFD1"`, `<x:c>`, `<si>`: rows, cells and shared strings, with the column where a cell names it. */
const ELEMENT =
  /<(?:[A-Za-z_][\w.-]{0,30}:)?(row|c|si)(?=[\s/>])(?:[^<>]{0,300}?\sr\s?=\s?["']([A-Za-z]{1,9})\d)?/g;
/** A beginning of an element that the next piece of a text may complete. */
const OPEN_END_CHARACTERS = 512;

const OLE = Buffer.from('d0cf11e0', 'hex');

const columnNumber = (letters: string): number =>
  Array.from(letters.toUpperCase()).reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);

/** Counts what the file would unpack to, piece by piece; nothing is kept. Throws `Refused`. */
async function assertWithin(file: Buffer, limits: WorkbookLimits): Promise<void> {
  const counts = { row: 0, c: 0, si: 0 };
  const count = (text: string): void => {
    for (const [, kind, letters = ''] of text.matchAll(ELEMENT)) {
      counts[kind as keyof typeof counts] += 1;
      if (kind === 'c' && columnNumber(letters) > COLUMNS_MAX) throw tooMany('columns', COLUMNS_MAX);
    }
    if (counts.row + counts.c > limits.cells) throw tooMany('rows and cells', limits.cells);
    if (counts.si > limits.strings) throw tooMany('texts', limits.strings);
  };
  let bytes = 0;
  // An encrypted workbook is no ZIP; its reader says so.
  if (file.subarray(0, OLE.length).equals(OLE)) return;
  const zip = await yauzl.fromBufferPromise(file, { decodeStrings: false });
  for await (const entry of zip.eachEntry()) {
    let rest = '';
    for await (const piece of await zip.openReadStreamPromise(entry)) {
      bytes += (piece as Buffer).length;
      if (bytes > limits.unpackedBytes) throw tooMany('bytes when it is unpacked', limits.unpackedBytes);
      const text = rest + (piece as Buffer).toString('latin1');
      const opens = text.lastIndexOf('<');
      const cut = opens > text.length - OPEN_END_CHARACTERS ? opens : text.length;
      count(text.slice(0, cut));
      rest = text.slice(cut);
    }
    count(rest);
  }
}

async function write(answer: WorkbookAnswer): Promise<void> {
  if (!process.stdout.write(`${JSON.stringify(answer)}\n`))
    await new Promise((resolve) => process.stdout.once('drain', resolve));
}

const written = (value: WorkbookValue) =>
  value instanceof Date ? ([Number.isNaN(value.getTime()) ? null : value.getTime()] as const) : value;

const charactersOf = (values: readonly WorkbookValue[]): number =>
  values.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 1), 0);

async function writeRows(file: Buffer, { sheet, limits }: WorkbookQuestion): Promise<void> {
  const { streamXlsxRows } = await loadFor('books kept as XLSX', () => import('hucre/xlsx'));
  const unsolved = await unsolvedFormulas(file, sheet ?? undefined);
  const found = (value: WorkbookValue, row: number, column: number): WorkbookValue =>
    value === null && unsolved.has(cellName(row, column)) ? NO_RESULT : value;
  let part: [number, ReturnType<typeof written>[]][] = [];
  let [cells, characters, ofPart] = [0, 0, 0];
  const charactersMax = limits.unpackedBytes * SHARED_TIMES_MAX;
  for await (const { index, values } of streamXlsxRows(file, sheet === null ? {} : { sheet })) {
    const ofRow = charactersOf(values);
    cells += 1 + values.length;
    characters += ofRow;
    ofPart += ofRow;
    if (values.length > COLUMNS_MAX) throw tooMany('columns', COLUMNS_MAX);
    if (cells > limits.cells) throw tooMany('rows and cells', limits.cells);
    if (ofRow > ROW_CHARACTERS_MAX) throw tooMany('characters in a row', ROW_CHARACTERS_MAX);
    if (characters > charactersMax) throw tooMany('characters', charactersMax);
    part.push([index, values.map((value, column) => written(found(value, index, column)))]);
    if (part.length < PART_ROWS && ofPart < PART_CHARACTERS) continue;
    await write({ rows: part });
    [part, ofPart] = [[], 0];
  }
  if (part.length > 0) await write({ rows: part });
}

async function answer(): Promise<WorkbookAnswer> {
  const question = JSON.parse(process.argv[2] ?? '') as WorkbookQuestion;
  try {
    const file = await buffer(process.stdin);
    await assertWithin(file, question.limits);
    await writeRows(file, question);
    return { end: true };
  } catch (error) {
    if (error instanceof Refused) return { refused: error.message };
    const reason = messageOf(error);
    return { refused: error instanceof ExpectedError ? reason : `cannot be read as a workbook: ${reason}.` };
  }
}

await write(await answer());
process.stdout.end();
await finished(process.stdout).catch(() => undefined);
