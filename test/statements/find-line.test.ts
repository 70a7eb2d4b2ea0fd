/** The line of an entry in a statement, however the store cuts the file into pieces. */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { STATEMENT_COLUMNS } from '../../src/statements/formats/format.ts';
import { csvText } from '../../src/statements/formats/csv.ts';
import { StatementDamaged } from '../../src/statements/fetch.ts';
import { findLine } from '../../src/statements/entry-places.ts';

const rowOf = (batchNo: string, type = '1001', balance = '5.00') => [
  ...[batchNo, '2026-03-31 10:00:00', 'USD', type, '5.00', '', balance],
];
const fileOf = (rows: readonly (readonly string[])[]): string =>
  csvText([STATEMENT_COLUMNS.map(({ name }) => name), ...rows]);

/** A store that returns the text in pieces of that many bytes. */
const storeOf = (text: string, pieceBytes: number) =>
  ({
    location: 'memory',
    get: () =>
      Promise.resolve(
        (async function* () {
          const bytes = Buffer.from(text);
          for (let at = 0; at < bytes.length; at += pieceBytes)
            yield await Promise.resolve(bytes.subarray(at, at + pieceBytes));
        })(),
      ),
  }) as unknown as ObjectStore;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const find = (text: string, batchNo: string, pieceBytes = 7, columns: string | null = null) =>
  findLine(storeOf(text, pieceBytes), { object_key: 'k.csv', sha256: sha256(text), columns }, batchNo);

it('has the number that an editor shows, and its cells by name', async () => {
  const text = fileOf([rowOf('A1'), rowOf('A2', '1002', '9.00'), rowOf('A3')]);
  expect(await find(text, 'A2')).toEqual({
    line: 3,
    cells: {
      batch_no: 'A2',
      booked_at: '2026-03-31 10:00:00',
      currency: 'USD',
      transaction_type: '1002',
      credit: '5.00',
      debit: '',
      balance: '9.00',
    },
  });
  expect(await find(text, 'A')).toBeNull();
  expect(await find(text, 'A22')).toBeNull();
});

it('is never the header, nor a line with the batchNo in another column', async () => {
  const text = fileOf([rowOf('X9', '59102'), rowOf('159102'), rowOf('59102')]);
  expect((await find(text, '59102'))?.line).toBe(4);
  expect(await find(text, 'batch_no')).toBeNull();
  expect(await find(text, 'USD')).toBeNull();
});

it('is read by the columns of the file', async () => {
  const text = 'balance,batch_no\r\n7.00,A1\r\n8.00,A2\r\n';
  expect(await find(text, 'A2', 3, 'balance,batch_no')).toEqual({
    line: 3,
    cells: { balance: '8.00', batch_no: 'A2' },
  });
});

it('is found for any batchNo, in pieces of any size', async () => {
  const number = fc.string({
    unit: fc.constantFrom('1', '2', 'a', ',', '"', 'é', ' ', '-'),
    minLength: 1,
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(number, { minLength: 1, maxLength: 12 }),
      fc.nat(),
      fc.integer({ min: 1, max: 400 }),
      async (numbers, pick, pieceBytes) => {
        const at = pick % numbers.length;
        const text = fileOf(numbers.map((one, n) => rowOf(one, numbers[(n + 1) % numbers.length])));
        expect((await find(text, numbers[at]!, pieceBytes))?.line).toBe(at + 2);
      },
    ),
  );
});

it('is not returned from a file whose bytes are not those published', async () => {
  const text = fileOf([rowOf('A1'), rowOf('A2')]);
  const statement = { object_key: 'k.csv', sha256: sha256(`${text}more`), columns: null };
  await expect(findLine(storeOf(text, 50), statement, 'A1')).rejects.toThrow(StatementDamaged);
});
