/** Streams a published statement's bytes, and checks on the way that they are those published. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { metered, type ObjectStore } from '../objects/object-store.ts';
import { figuresOf } from '../store/figures.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { columnsNamed, columnsOf, STATEMENT_COLUMNS, type StatementColumn } from './formats/columns.ts';
import { CSV } from './formats/csv.ts';
import { UnreadableRows, type RowCells, type StatementFormat } from './formats/format.ts';

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

/**
 * A statement in one of its formats, made from the published CSV. `known` says which of its columns are amounts. Throws
 * what `fetchStatement` throws, at the end as well.
 */
export async function* fetchInFormat(
  objects: ObjectStore,
  statement: StatementRow,
  format: StatementFormat,
  known: readonly StatementColumn[] = STATEMENT_COLUMNS,
): AsyncGenerator<Uint8Array> {
  const published = fetchStatement(objects, statement);
  if (format.name === CSV.name) {
    yield* published;
    return;
  }
  const columns = columnsOf(statement.columns?.split(','));
  try {
    yield* format.write({
      account: { merchantNo: statement.merchant_no, currency: statement.currency },
      day: statement.day,
      figures: figuresOf(statement),
      columns: columnsNamed(columns, known),
      rows: withoutHeader(CSV.reader.rows(published, columns)),
    });
  } catch (error) {
    if (!(error instanceof UnreadableRows)) throw error;
    throw new StatementDamaged(alteredText(objects, statement.object_key));
  }
}

async function* withoutHeader(
  batches: AsyncIterable<readonly RowCells[]>,
): AsyncGenerator<readonly RowCells[]> {
  let isFirst = true;
  for await (const batch of batches) {
    yield isFirst ? batch.slice(1) : batch;
    isFirst = false;
  }
}

const TODO = '`daybook publish --repair` writes it again if it can, and says why if it cannot.';

export const alteredText = ({ location }: ObjectStore, key: string): string =>
  `${location}: ${key} does not hold the bytes that were published. ${TODO}`;
