/**
 * The figures of a statement that was replaced, made from its rows, as a manifest has figures of current statements
 * only.
 */
import type { StatedFigures } from '../ledger/entry.ts';
import { compareAmounts } from '../ledger/money.ts';
import { metered, type Digest } from '../objects/object-store.ts';
import { CSV } from './formats/csv.ts';
import { UnreadableRows, type RowCells } from './formats/format.ts';
import { createSums, type RowAmounts } from './row-sums.ts';

/**
 * Reads a statement completely: its digest, columns and figures. The verdict is `broken` or `continuous`, never `reordered`.
 * Throws `UnreadableRows`, and what reading the bytes throws.
 */
export async function figuresOfFile(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ readonly digest: Digest; readonly figures: StatedFigures; readonly columns: string }> {
  const source = metered(() => bytes);
  const made = createFigures();
  let columns: readonly string[] | null = null;
  for await (const rows of CSV.reader.rows(source.stream, [])) {
    for (const cells of rows) {
      if (columns === null) columns = cells;
      else made.take(amountsOf(cells, columns));
    }
  }
  return { digest: source.digest(), figures: made.end(), columns: (columns ?? []).join(',') };
}

function amountsOf(cells: RowCells, columns: readonly string[]): RowAmounts {
  if (cells.length !== columns.length)
    throw new UnreadableRows(`a row has ${cells.length} cells instead of ${columns.length}`);
  const cell = (name: string): string => cells[columns.indexOf(name)] ?? '';
  return { credit: cell('credit'), debit: cell('debit'), balance: cell('balance') };
}

function createFigures() {
  const sums = createSums();
  let opening: string | null = null;
  let reached = '0';
  let breaks = 0;
  return {
    take: (row: RowAmounts): void => {
      const before = sums.take(row);
      if (opening === null) opening = before;
      else if (compareAmounts(before, reached) !== 0) breaks += 1;
      reached = row.balance;
    },
    end: (): StatedFigures => ({
      ...sums.end(),
      opening: opening ?? '0',
      closing: reached,
      verdict: breaks === 0 ? 'continuous' : 'broken',
      breakCount: breaks,
      breaksAfter: 0,
      restarted: true,
    }),
  };
}
