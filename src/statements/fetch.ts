/**
 * Reads published statements: their bytes, which are checked on the way, the rows in which two revisions differ, and their
 * file in another format.
 */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { MerchantNames } from '../ledger/names.ts';
import { bytesOf, ObjectDenied, type ObjectStore } from '../objects/object-store.ts';
import { figuresOf } from '../store/account-days.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import type { ManifestRow } from '../store/statements/stored-files.ts';
import { differingRows, type ComparedFile } from './differing-rows.ts';
import { CSV, NoStatement, recordsOf } from './formats/csv.ts';
import { hashed } from '../verify/bytes.ts';
import { cellsOf, type RowCells } from '../verify/csv.ts';
import {
  columnsNamed,
  STATEMENT_COLUMNS,
  type Changes,
  type PublishedRevision,
  type RowDifference,
  type StatementColumn,
  type StatementFormat,
} from './formats/format.ts';
import { columnsOf } from '../verify/formats.ts';
import { dayPrefix, fileOf } from '../verify/names.ts';
import { otherFormatsIn, zoneIn } from './recorded-manifest.ts';
import { earlierOf } from './summary.ts';

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
  const source = hashed(bytes);
  yield* source.stream;
  if (source.digest().sha256 !== sha256) {
    throw new StatementDamaged(alteredText(objects, key));
  }
}

const TODO = '`daybook publish --repair` writes it again if it can, and says why if it cannot.';

const alteredText = ({ location }: ObjectStore, key: string): string =>
  `${location}: ${key} does not hold the bytes that were published. ${TODO}`;

export type Revision = Pick<
  StatementRow,
  'merchant_no' | 'currency' | 'day' | 'object_key' | 'sha256' | 'columns' | 'row_count' | 'published_at'
>;

/**
 * Without a revision before, all rows came. Throws `StatementDamaged` where a file is missing or holds other bytes than were
 * published, `ObjectStoreUnreachable`.
 */
export async function* rowsBetween(
  objects: ObjectStore,
  before: Revision | null,
  after: Revision,
): AsyncGenerator<RowDifference> {
  // Equal bytes: no row differs. Only figures changed that no row shows.
  if (before?.sha256 === after.sha256) return;
  try {
    const compared = comparedFile(objects, after);
    yield* differingRows(before === null ? emptyAs(compared) : comparedFile(objects, before), compared);
  } catch (error) {
    if (error instanceof NoStatement) throw new StatementDamaged(alteredText(objects, error.file));
    throw error;
  }
}

const comparedFile = (objects: ObjectStore, revision: Revision): ComparedFile => ({
  name: revision.object_key,
  columns: columnsOf(revision.columns?.split(',')),
  rows: revision.row_count,
  bytes: () => fetchStatement(objects, revision),
});

const emptyAs = ({ columns }: ComparedFile): ComparedFile => ({
  ...{ name: '', columns, rows: 0 },
  bytes: () => bytesOf(Buffer.from(columns.join())),
});

/** Most changed rows that a file lists; the rest is counted. */
const CHANGES_MAX = 10_000;

/** What the audit notes of a download next to its file, which names the canonical CSV; undefined for that one. */
export const formatNote = ({ name }: StatementFormat): string | undefined =>
  name === CSV.name ? undefined : `as ${name}`;

interface InFormat {
  readonly isPublished: boolean;
  /** Throws what `fetchStatement` throws, at the end as well, and `FormatTooSmall`. */
  readonly read: () => AsyncIterable<Uint8Array>;
}

/** As it was published, if the day's manifest lists it, else made from the CSV, with names. `ofDay` are all revisions of the day. */
export function inFormat(
  objects: ObjectStore,
  statement: StatementRow,
  format: StatementFormat,
  of: {
    readonly recorded: ManifestRow | undefined;
    readonly ofDay: readonly StatementRow[];
    readonly names: MerchantNames | undefined;
  },
): InFormat {
  const { recorded, ofDay, names } = of;
  if (format.name === CSV.name) return { isPublished: true, read: () => fetchStatement(objects, statement) };
  const listed = recorded && otherFormatsIn(recorded).get(fileOf(statement.object_key));
  const own = listed?.find((one) => one.format === format.name);
  if (own === undefined) {
    const earlier = earlierOf(statement, ofDay);
    const zone = recorded && zoneIn(recorded);
    const options = { earlier, zone, names };
    return { isPublished: false, read: () => fetchInFormat(objects, statement, format, options) };
  }
  const { sha256 } = own;
  const key = dayPrefix(statement.merchant_no, statement.day) + own.file;
  return { isPublished: true, read: () => fetchStatement(objects, { object_key: key, sha256 }) };
}

interface InFormatOptions {
  readonly earlier: readonly StatementRow[];
  readonly zone?: string | null | undefined;
  readonly names?: MerchantNames | undefined;
  /** Says which columns are amounts; if left out, STATEMENT_COLUMNS. */
  readonly known?: readonly StatementColumn[] | undefined;
  /** If false, the file says that the revision before could not be read, whether or not it can. */
  readonly readsEarlier?: boolean;
}

/** The same revision gives the same bytes, as long as the one before it can be read. Throws what `fetchStatement` throws, at the end as well, and `FormatTooSmall`. */
export async function* fetchInFormat(
  objects: ObjectStore,
  statement: StatementRow,
  format: StatementFormat,
  { earlier, zone = null, names, known = STATEMENT_COLUMNS, readsEarlier = true }: InFormatOptions,
): AsyncGenerator<Uint8Array> {
  if (format.name === CSV.name) {
    yield* fetchStatement(objects, statement);
    return;
  }
  yield* format.write({
    account: { merchantNo: statement.merchant_no, currency: statement.currency },
    day: statement.day,
    ...{ zone, names },
    published: revisionOf(statement),
    earlier: earlier.map(revisionOf),
    changes: () => changesOf(objects, earlier.at(-1), statement, readsEarlier),
    columns: columnsNamed(columnsOf(statement.columns?.split(',')), known),
    rows: statementRows(objects, statement),
  });
}

/** A statement's rows without its header, some at a time. Throws what `fetchStatement` throws, at the end as well. */
export async function* statementRows(
  objects: ObjectStore,
  { object_key: key, columns, sha256 }: Pick<StatementRow, 'object_key' | 'columns' | 'sha256'>,
): AsyncGenerator<readonly RowCells[]> {
  const bytes = fetchStatement(objects, { object_key: key, sha256 });
  try {
    yield* rowsOf(bytes, key, columnsOf(columns?.split(',')).length);
  } catch (error) {
    if (!(error instanceof NoStatement)) throw error;
    throw new StatementDamaged(alteredText(objects, key));
  }
}

export const revisionOf = (row: StatementRow): PublishedRevision => ({
  revision: row.revision,
  publishedAt: row.published_at,
  figures: figuresOf(row),
  unreadable: row.unreadable_count ?? 0,
  reason: row.reason,
  file: fileOf(row.object_key),
  sha256: row.sha256,
});

/** A reader can do without such a file, and says that it was not read. What may pass is thrown: a later run reads the file. */
export const isUnreadable = (error: unknown): boolean =>
  error instanceof StatementDamaged || error instanceof ObjectDenied;

async function changesOf(
  objects: ObjectStore,
  before: StatementRow | undefined,
  after: StatementRow,
  readsEarlier: boolean,
): Promise<Changes | null> {
  if (before === undefined) return { rows: [], more: 0 };
  if (!readsEarlier) return null;
  const rows = [];
  let more = 0;
  try {
    for await (const row of rowsBetween(objects, before, after)) {
      if (rows.length < CHANGES_MAX) rows.push(row);
      else more += 1;
    }
    return { rows, more };
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return null;
  }
}

async function* rowsOf(
  bytes: AsyncIterable<Uint8Array>,
  file: string,
  columns: number,
): AsyncGenerator<readonly RowCells[]> {
  let isFirst = true;
  for await (const records of recordsOf(bytes, file)) {
    yield (isFirst ? records.slice(1) : records).map((record) => {
      const cells = cellsOf(record);
      if (cells?.length !== columns) throw new NoStatement(file, `a row does not have ${columns} cells`);
      return cells;
    });
    isFirst = false;
  }
}
