/** The entries of a published statement, for programs that read statements. */
import type { LedgerEntry } from '../ledger/entry.ts';
import { columnsOf } from './formats/columns.ts';
import { CSV } from './formats/csv.ts';
import { UnreadableRows } from './formats/format.ts';
import type { ManifestStatement } from './manifest.ts';

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
  for await (const batch of CSV.reader.rows(bytes, names)) {
    for (const cells of batch) {
      line += 1;
      if (line === 1) assertHeader(cells, names);
      else yield entryOf(cells, names, line);
    }
  }
}

function assertHeader(cells: readonly string[], names: readonly string[]): void {
  if (cells.join(',') === names.join(',')) return;
  throw new UnreadableRows(`the header is '${cells.join(',')}', not '${names.join(',')}'`);
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
    batchNo: cell('batch_no'),
    bookedAt: cell('booked_at'),
    currency: cell('currency'),
    transactionType: cell('transaction_type'),
    credit: cell('credit') || null,
    debit: cell('debit') || null,
    balance: cell('balance'),
  };
}
