/** Reads the rows of a published statement back: their figures, and their entries. */
import { compareAmounts } from '../ledger/money.ts';
import type { LedgerEntry, StatedFigures } from '../ledger/entry.ts';
import { hashed, type Digest } from '../verify/bytes.ts';
import { UnreadableRows, type RowCells } from '../verify/csv.ts';
import { columnsOf, CSV } from '../verify/formats.ts';
import type { ManifestStatement } from '../verify/manifest.ts';
import { createSums, type RowAmounts } from '../verify/rows.ts';

/** The verdict is `broken` or `continuous`, never `reordered`. Throws `UnreadableRows`, and what reading the bytes throws. */
export async function figuresOfFile(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ readonly digest: Digest; readonly figures: StatedFigures; readonly columns: string }> {
  const source = hashed(bytes);
  const made = createFigures();
  let columns: readonly string[] | null = null;
  for await (const rows of CSV.reader.rows(source.stream)) {
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

/**
 * An entry as a statement has it. Amounts are exact decimals, as text. `bookedAt` is a time of the manifest's time zone;
 * `instantsOf` makes instants of it.
 */
export type StatementEntry = Omit<LedgerEntry, 'bookedMs'>;

/**
 * The entries of a statement's CSV, in the order that the balances prove. `bytes` are those of the file, such as a read
 * stream; `statement` is the statement in its day's manifest. Throws `UnreadableRows` for a file that is not one with the
 * manifest's columns, and what reading the bytes throws. It does not compare the file with the manifest; `verifyPaths` does.
 */
export async function* statementEntries(
  bytes: AsyncIterable<Uint8Array>,
  { columns }: Pick<ManifestStatement, 'columns'>,
): AsyncGenerator<StatementEntry> {
  const names = columnsOf(columns);
  let line = 0;
  for await (const batch of CSV.reader.rows(bytes)) {
    for (const cells of batch) {
      line += 1;
      if (line > 1) yield entryOf(cells, names, line);
      else if (cells.join() !== names.join())
        throw new UnreadableRows(`the header is '${cells.join()}', not '${names.join()}'`);
    }
  }
}

function entryOf(cells: readonly string[], names: readonly string[], line: number): StatementEntry {
  if (cells.length !== names.length)
    throw new UnreadableRows(`line ${line} has ${cells.length} cells instead of ${names.length}`);
  const cell = (name: string): string => {
    const found = cells[names.indexOf(name)];
    if (found === undefined) throw new UnreadableRows(`there is no column ${name}`);
    return found;
  };
  return {
    ...{ batchNo: cell('batch_no'), bookedAt: cell('booked_at'), currency: cell('currency') },
    transactionType: cell('transaction_type'),
    ...{ credit: cell('credit') || null, debit: cell('debit') || null, balance: cell('balance') },
  };
}
