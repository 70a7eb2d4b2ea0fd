/** The reader of the file for auditors against csv-parse, which daybook itself reads with. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvRows } from '../../../src/cli/standalone/formats.ts';
import { csvRows as csvParseRows } from '../../../src/statements/formats/csv.ts';

type Reader = typeof csvRows;

/** What a reader makes of a file that comes in these pieces: its rows, or the sentence that says why not. */
async function readWith(reader: Reader, pieces: readonly Uint8Array[]): Promise<unknown> {
  async function* bytes() {
    for (const piece of pieces) yield await Promise.resolve(piece);
  }
  const rows: unknown[] = [];
  try {
    for await (const some of reader(bytes())) rows.push(...some);
    return rows;
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
}

const read = (file: string | Buffer, reader: Reader = csvRows) => readWith(reader, [Buffer.from(file)]);

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
  ['a mark in front of a quoted header', '\ufeff"a"\r\n'],
  ['a mark of UTF-16 in front of a quoted header', Buffer.from('\xff\xfe"a"\r\n', 'latin1')],
])('of a file with %s it says what csv-parse says', async (_, file) => {
  const said = await read(file);
  expect(said).toMatch(/^UnreadableRows: /);
  expect(said).toBe(await read(file, csvParseRows));
});

test('it reads whatever bytes in whatever pieces as csv-parse does', async () => {
  const byte = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...Buffer.from('ab1,,"""\r\n\r\n')) },
    { weight: 1, arbitrary: fc.constantFrom(...Buffer.from('\0\ufeffé'), 0xff, 0xfe) },
  );
  const lineEnd = fc.constant([...Buffer.from('\r\n')]);
  const bytes = fc
    .array(fc.oneof({ weight: 4, arbitrary: byte.map((one) => [one]) }, { weight: 1, arbitrary: lineEnd }), {
      maxLength: 40,
    })
    .map((parts) => Uint8Array.from(parts.flat()));
  await fc.assert(
    fc.asyncProperty(bytes, fc.array(fc.nat(9), { maxLength: 8 }), async (file, lengths) => {
      const pieces: Uint8Array[] = [];
      let from = 0;
      for (const length of lengths) {
        pieces.push(file.subarray(from, from + length));
        from += length;
      }
      pieces.push(file.subarray(from));
      expect(await readWith(csvRows, pieces)).toEqual(await readWith(csvParseRows, [file]));
    }),
    { numRuns: 1_000 },
  );
});
