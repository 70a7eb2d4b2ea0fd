/** Making a large file leaves other work of the process its turn: no stretch of it grows with the day. */
import { expect, test } from 'vitest';
import { STATEMENT_COLUMNS, type StatementDay } from '../../../src/statements/formats/format.ts';
import { type RowCells } from '../../../src/verify/csv.ts';
import { ENTRIES_SHOWN_MAX, writePdf } from '../../../src/plugins/formats/pdf.ts';
import { writeXlsx } from '../../../src/plugins/formats/xlsx.ts';
import { revisionOf, statementDay } from '../../statements/days.ts';

const rowOf = (nth: number): RowCells => [
  ...[`B${nth}`, '2026-03-31 09:00:00', 'USD', 'PAY', '1.00', '', `${nth}.00`],
];
const cellsOf = (nth: number) =>
  Object.fromEntries(STATEMENT_COLUMNS.map(({ name }, at) => [name, rowOf(nth)[at]!]));
/** A day of one row, in which 10,000 others changed. */
const CHANGED = statementDay([rowOf(1)], {
  earlier: [revisionOf({})],
  changes: {
    rows: Array.from({ length: 10_000 }, (_, nth) => ({
      ...{ batchNo: `B${nth}`, before: cellsOf(nth), after: cellsOf(nth + 1), changed: ['balance'] },
    })),
    more: 0,
  },
});
/** Made first, as other work has its turn while a package is loaded. */
const SHORT = statementDay([rowOf(1)]);
const LONG = statementDay(
  Array.from({ length: ENTRIES_SHOWN_MAX }, (_, nth) => rowOf(nth)),
  { figures: { creditCount: ENTRIES_SHOWN_MAX } },
);

/** How often other work had its turn until the file's first bytes: packing, which is no work of this thread, comes later. */
async function turnsWhile(write: (day: StatementDay) => AsyncIterable<Uint8Array>, day: StatementDay) {
  let [turns, isOver] = [0, false];
  const others = async (): Promise<void> => {
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
  };
  const counting = others();
  const bytes = write(day)[Symbol.asyncIterator]();
  await bytes.next();
  isOver = true;
  await bytes.return?.();
  await counting;
  return turns;
}

test('a PDF of as many entries as it lists: once for every twenty', async () => {
  await turnsWhile(writePdf, SHORT);
  expect(await turnsWhile(writePdf, LONG)).toBeGreaterThanOrEqual(ENTRIES_SHOWN_MAX / 20 - 1);
});

test('a workbook of very many changes: once for every hundred lines', async () => {
  await turnsWhile(writeXlsx, SHORT);
  expect(await turnsWhile(writeXlsx, CHANGED)).toBeGreaterThanOrEqual(20_000 / 100 - 1);
});
