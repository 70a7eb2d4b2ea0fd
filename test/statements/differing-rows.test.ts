/** The rows in which two revisions differ. Few rows are held in memory: as many as their places are apart. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { csvText, NoStatement } from '../../src/statements/formats/csv.ts';
import { differingRows, type ComparedFile } from '../../src/statements/differing-rows.ts';
import type { RowDifference } from '../../src/statements/formats/format.ts';

const COLUMNS = ['batch_no', 'credit', 'transaction_type'];
type Row = readonly [batchNo: string, credit: string, type: string];

/** A file in chunks of a few bytes, so that characters, quotes and line ends are cut in two. */
const fileOf = (rows: readonly Row[], columns = COLUMNS, chunk = 7): ComparedFile & { readings: number } => {
  const bytes = Buffer.from(csvText([columns, ...rows]));
  const file = {
    name: 'made.csv',
    columns,
    rows: rows.length,
    readings: 0,
    bytes: async function* () {
      file.readings += 1;
      await Promise.resolve();
      for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk);
    },
  };
  return file;
};
async function all(before: ComparedFile, after: ComparedFile, options?: { heldMax: number }) {
  const found: RowDifference[] = [];
  for await (const one of differingRows(before, after, options)) found.push(one);
  return found;
}
const cellsOf = ([batch_no, credit, transaction_type]: Row) => ({ batch_no, credit, transaction_type });
const keysOf = (differences: readonly RowDifference[]) => differences.map(({ batchNo }) => batchNo).sort();

/** The same result, calculated with both files in memory. */
function byHand(before: readonly Row[], after: readonly Row[]): RowDifference[] {
  const [was, is] = [before, after].map((rows) => new Map(rows.map((row) => [row[0], row])));
  return [...new Set([...was!.keys(), ...is!.keys()])].sort().flatMap((batchNo) => {
    const [one, other] = [was!.get(batchNo), is!.get(batchNo)];
    const changed =
      one === undefined || other === undefined ? [] : COLUMNS.filter((_, at) => one[at] !== other[at]);
    if (one !== undefined && other !== undefined && changed.length === 0) return [];
    return {
      batchNo,
      before: one === undefined ? null : cellsOf(one),
      after: other === undefined ? null : cellsOf(other),
      changed,
    };
  });
}

const text = fc.string({ unit: fc.constantFrom('a', 'é', '𝕏', '"', ',', '\r', '\n', ' ') });
const rows = fc.uniqueArray(
  fc.tuple(
    fc.string({ unit: fc.constantFrom('1', '2', '"', ',', '\n', 'é'), minLength: 1 }),
    fc.constantFrom('1.00', '2.00'),
    text,
  ),
  { selector: ([batchNo]) => batchNo, maxLength: 20 },
) satisfies fc.Arbitrary<Row[]>;

describe('rows that differ', () => {
  test('are the same as in a comparison in memory, whatever the cells hold and however few rows are held', async () => {
    await fc.assert(
      fc.asyncProperty(rows, rows, fc.integer({ min: 1, max: 40 }), async (one, other, heldMax) => {
        const mixed = [...other, ...one.filter(([batchNo]) => !other.some(([known]) => known === batchNo))];
        for (const after of [other, mixed, one]) {
          const found = await all(fileOf(one), fileOf(after), { heldMax });
          expect(found.sort((a, b) => (a.batchNo < b.batchNo ? -1 : 1))).toEqual(byHand(one, after));
        }
      }),
    );
  });

  test('come in the order of the statement', async () => {
    const one: Row[] = [
      ['B9', '1.00', 'PAY'],
      ['B1', '2.00', 'PAY'],
      ['B4', '3.00', 'PAY'],
    ];
    const other: Row[] = [['B7', '9.00', 'PAY'], one[0]!, ['B4', '3.50', 'PAY']];
    expect(await all(fileOf(one), fileOf(other))).toEqual([
      { batchNo: 'B7', before: null, after: cellsOf(other[0]!), changed: [] },
      { batchNo: 'B1', before: cellsOf(one[1]!), after: null, changed: [] },
      { batchNo: 'B4', before: cellsOf(one[2]!), after: cellsOf(other[2]!), changed: ['credit'] },
    ]);
  });

  test('at the beginning of a long file hold only one row at a time', async () => {
    const long = Array.from({ length: 5_000 }, (_, at): Row => [`B${at}`, '1.00', 'PAY']);
    const [before, after] = [
      fileOf(long, COLUMNS, 999),
      fileOf([['NEW', '1.00', 'PAY'], ...long], COLUMNS, 999),
    ];
    expect(keysOf(await all(before, after, { heldMax: 3 }))).toEqual(['NEW']);
    expect([before.readings, after.readings]).toEqual([1, 1]);
  });

  test('of files with nothing in common are found in several readings of different parts', async () => {
    const made = (prefix: string) =>
      Array.from({ length: 300 }, (_, at): Row => [`${prefix}${at}`, '1.00', 'PAY']);
    const [before, after] = [fileOf(made('A'), COLUMNS, 999), fileOf(made('B'), COLUMNS, 999)];
    expect(await all(before, after, { heldMax: 100 })).toHaveLength(600);
    expect(before.readings).toBe(1 + 12);
  });

  test('are compared by the columns that both files have, in whatever order', async () => {
    const later = ['payee', 'transaction_type', 'credit', 'batch_no'];
    const after = fileOf(
      [
        ['X', 'PAY', '1.00', 'B1'],
        ['X', 'PAY', '2.50', 'B2'],
      ] as unknown as Row[],
      later,
    );
    const before = fileOf([
      ['B1', '1.00', 'PAY'],
      ['B2', '2.00', 'PAY'],
    ]);
    const found = await all(before, after);
    expect(found.map(({ batchNo, changed }) => [batchNo, changed])).toEqual([['B2', ['credit']]]);
  });

  test.each([
    ['another header', 'batch_no,amount\r\nB1,1.00\r\n'],
    ['a row with a cell too few', 'batch_no,credit,transaction_type\r\nB1,1.00\r\n'],
    ['a quote in the middle of a cell', 'batch_no,credit,transaction_type\r\nB1,1.00,a"b"\r\n'],
    ['a quote that never ends', `batch_no,credit,transaction_type\r\nB1,1.00,"${'x\r\n'.repeat(500_000)}`],
  ])('%s is no statement', async (_, content) => {
    const broken: ComparedFile = {
      name: 'broken.csv',
      columns: COLUMNS,
      rows: 1,
      bytes: async function* () {
        await Promise.resolve();
        yield Buffer.from(content);
      },
    };
    await expect(all(broken, fileOf([['B1', '1.00', 'PAY']]))).rejects.toThrow(NoStatement);
  });
});
