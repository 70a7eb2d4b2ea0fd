/** Reads published statements, and checks on the way that the bytes are those published. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { metered, type ObjectStore } from '../objects/object-store.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { columnsOf, UnreadableRows } from './formats/format.ts';
import { CSV } from './formats/csv.ts';
import type { ManifestStatement } from './manifest.ts';

/** The object is missing, or holds other bytes than were published. */
export class StatementDamaged extends ExpectedError {
  override readonly name = 'StatementDamaged';
  readonly exitCode = EXIT.incomplete;
}

/**
 * A published file's bytes. Throws `StatementDamaged` at the end of a stream that was not what
 * was published, so a reader must not trust it before its end; `ObjectStoreUnreachable` when cut short.
 */
export async function* fetchStatement(
  objects: ObjectStore,
  { object_key: key, sha256 }: Pick<StatementRow, 'object_key' | 'sha256'>,
): AsyncGenerator<Uint8Array> {
  const bytes = await objects.get(key);
  if (bytes === null) {
    throw new StatementDamaged(`${objects.location}: ${key} is missing; it was published. ${TODO}`);
  }
  const source = metered(() => bytes);
  yield* source.stream;
  if (source.digest().sha256 !== sha256) {
    throw new StatementDamaged(alteredText(objects, key));
  }
}

const TODO = '`daybook publish --repair` writes it again if it can, and says why if it cannot.';

export const alteredText = ({ location }: ObjectStore, key: string): string =>
  `${location}: ${key} does not hold the bytes that were published. ${TODO}`;

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
