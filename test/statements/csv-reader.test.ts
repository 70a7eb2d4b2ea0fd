/** The reader of CSV against csv-parse. */
import { CsvError, parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cellsOf, csvRows, UnreadableRows } from '../../src/verify/csv.ts';

const CSV = { record_delimiter: '\r\n' };

async function* inPieces(pieces: readonly Uint8Array[]) {
  for (const piece of pieces) yield await Promise.resolve(piece);
}

const saidBy = (error: unknown): string => `${(error as Error).name}: ${(error as Error).message}`;

/** What the reader makes of a file that comes in these pieces: its rows, or the sentence that says why not. */
async function readInPieces(pieces: readonly Uint8Array[]): Promise<unknown> {
  const rows: unknown[] = [];
  try {
    for await (const some of csvRows(inPieces(pieces))) rows.push(...some);
    return rows;
  } catch (error) {
    return saidBy(error);
  }
}

const read = (file: string | Buffer) => readInPieces([Buffer.from(file)]);

/** What csv-parse makes of the same file. */
function readWithPackage(file: Uint8Array | string): unknown {
  try {
    return parse(Buffer.from(file), { ...CSV, relax_column_count: true });
  } catch (error) {
    return error instanceof CsvError ? saidBy(new UnreadableRows(error.message)) : saidBy(error);
  }
}

function recordWithPackage(record: string): unknown {
  try {
    return parse(record, CSV)[0] ?? null;
  } catch (error) {
    if (error instanceof CsvError) return null;
    throw error;
  }
}

test('cells come as they were written, quoted or not', async () => {
  expect(await read('a,b\r\n"x,""y""\r\n",\r\n')).toEqual([
    ['a', 'b'],
    ['x,"y"\r\n', ''],
  ]);
});

test.each<[string, string | Buffer]>([
  ['a quote inside a cell', 'a,b\r\n1,x"y\r\n'],
  ['something after the closing quote', 'a\r\n"x"y\r\n'],
  ['a quote that is never closed', 'a\r\n"x\r\n\n'],
  ['a quote that is never closed below rows with other line ends in them', 'a\r\n1\n2\r3\r\n4\r\n"x\r\n'],
  ['a quote inside a cell below many rows', `${'1,2\r\n'.repeat(40_000)}x"y\r\n`],
  ['a mark in front of a quoted header', '\ufeff"a"\r\n'],
  ['a mark of UTF-16 in front of a quoted header', Buffer.from('\xff\xfe"a"\r\n', 'latin1')],
])('of a file with %s it says what csv-parse says', async (_, file) => {
  const said = await read(file);
  expect(said).toMatch(/^UnreadableRows: /);
  expect(said).toBe(readWithPackage(file));
});

const byte = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...Buffer.from('ab1,,"""\r\n\r\n')) },
  { weight: 1, arbitrary: fc.constantFrom(...Buffer.from('\0\ufeffé'), 0xff, 0xfe) },
);
const lineEnd = fc.constant([...Buffer.from('\r\n')]);
const plainRow = fc
  .array(fc.constantFrom(...Buffer.from('ab1,é\r\n')), { maxLength: 12 })
  .map((row): number[] => [...row, ...Buffer.from('\r\n')]);
const fileOf = (part: fc.Arbitrary<readonly number[]>) =>
  fc.array(part, { maxLength: 40 }).map((parts) => Uint8Array.from(parts.flat()));
/** Files of any bytes, and files with a quote here and there. */
const anyFile = fc.oneof(
  fileOf(fc.oneof({ weight: 4, arbitrary: byte.map((one) => [one]) }, { weight: 1, arbitrary: lineEnd })),
  fileOf(
    fc.oneof(
      { weight: 8, arbitrary: plainRow },
      { weight: 1, arbitrary: fc.constant([...Buffer.from('"a\r\n""",')]) },
      { weight: 1, arbitrary: byte.map((one) => [one]) },
    ),
  ),
);

test('it reads whatever bytes in whatever pieces as csv-parse does', async () => {
  await fc.assert(
    fc.asyncProperty(anyFile, fc.array(fc.nat(60), { maxLength: 8 }), async (file, lengths) => {
      const pieces: Uint8Array[] = [];
      let from = 0;
      for (const length of lengths) {
        pieces.push(file.subarray(from, from + length));
        from += length;
      }
      pieces.push(file.subarray(from));
      expect(await readInPieces(pieces)).toEqual(readWithPackage(file));
    }),
    { numRuns: 1_000 },
  );
});

test.each([Infinity, 1_000])(
  'a long file comes some thousand rows at a time, in pieces of %d bytes',
  async (bytes) => {
    const file = Buffer.from(
      Array.from({ length: 20_000 }, (_, nth) => `${nth},"é, ${nth}"\r\n${nth},é,\r\n`).join(''),
    );
    const pieces: Buffer[] = [];
    for (let from = 0; from < file.length; from += bytes) pieces.push(file.subarray(from, from + bytes));
    const batches: (readonly unknown[])[] = [];
    for await (const batch of csvRows(inPieces(pieces))) batches.push(batch);
    expect(Math.max(...batches.map(({ length }) => length))).toBeLessThan(10_000);
    expect(Math.min(...batches.slice(0, -1).map(({ length }) => length))).toBeGreaterThan(1_000);
    expect(batches.flat()).toEqual(readWithPackage(file));
  },
);

test('a cell of many megabytes is read in time that grows with its length', async () => {
  const piece = Buffer.alloc(64 * 1024, 'x');
  const rows: (readonly string[])[] = [];
  for await (const some of csvRows(inPieces(Array.from({ length: 1_000 }, () => piece)))) rows.push(...some);
  expect(rows.map((cells) => cells.map(({ length }) => length))).toEqual([[1_000 * piece.length]]);
});

test('the cells of a record with quotes are those csv-parse finds, and none where it refuses', () => {
  const record = fc
    .array(
      fc.oneof(
        fc.constantFrom('a', 'é', ',', '"', '""', '","', '\r\n', '\r', '\n', '\0', '\ufeff', '\ud800'),
      ),
      {
        maxLength: 12,
      },
    )
    .map((parts) => parts.join(''))
    .filter((text) => text.includes('"'));
  fc.assert(
    fc.property(record, (text) => {
      expect(cellsOf(text)).toEqual(recordWithPackage(text));
    }),
    { numRuns: 2_000 },
  );
});

test('the cells of a record without quotes stand between its commas', () => {
  expect(cellsOf('')).toEqual(['']);
  expect(cellsOf('a,,é')).toEqual(['a', '', 'é']);
});

test('of others: another delimiter, a quote within a cell, and a limit on the length of a cell', async () => {
  const readAs = async (file: string, form: Parameters<typeof csvRows>[1]): Promise<unknown> => {
    const rows: unknown[] = [];
    for await (const some of csvRows(inPieces([...Buffer.from(file)].map((one) => Uint8Array.of(one))), form))
      rows.push(...some);
    return rows;
  };
  const form = { delimiter: ';', hasBareQuotes: true };
  expect(await readAs('a;"b;""c"\r\n5" pipe;x"y"\r\n"";"z"\r\n', form)).toEqual([
    ['a', 'b;"c'],
    ['5" pipe', 'x"y"'],
    ['', 'z'],
  ]);
  await expect(readAs('a;x"y\r\n', { delimiter: ';' })).rejects.toThrow('Invalid Opening Quote');
  await expect(readAs('"a"b;c\r\n', form)).rejects.toThrow('Invalid Closing Quote');
  await expect(readAs('"a",b\r\n', form)).rejects.toThrow('Invalid Closing Quote');
  expect(await readAs('"abcd"\r\n', { cellBytesMax: 4 })).toEqual([['abcd']]);
  await expect(readAs('"abcde"\r\n', { cellBytesMax: 4 })).rejects.toThrow('a cell has over 4 bytes');
  expect(await readAs('a,b\r\n"c",d\r\n', { cellsMax: 2 })).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  for (const row of ['a,b,c\r\n', '"a",b,c\r\n', ','.repeat(1_000_000)])
    await expect(readAs(row, { cellsMax: 2 })).rejects.toThrow('a row has over 2 cells');
});
