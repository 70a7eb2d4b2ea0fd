/** What differs between two published revisions of an account day: rows from the files, causes from the database. */
import type { Kysely } from 'kysely';
import { type ObjectStore, ObjectStoreRefused, ObjectStoreUnreachable } from '../objects/object-store.ts';
import { ENTRIES_ASKED_MAX, healedBreaks, pastOfEntries } from '../store/entry-history.ts';
import { figuresOf, type FigureColumns } from '../store/account-days.ts';
import type { DB } from '../store/engine/schema.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { differingRows, type ComparedFile } from './differing-rows.ts';
import { type RowDifference, columnsOf } from './formats/format.ts';
import { alteredText, fetchStatement, StatementDamaged } from './fetch.ts';
import { NoStatement } from './formats/csv.ts';
import { causeOf, healedBy, type CausedRow, countChanges, reasonOf } from './reason.ts';

type Revision = Pick<
  StatementRow,
  'merchant_no' | 'currency' | 'day' | 'object_key' | 'sha256' | 'columns' | 'row_count' | 'published_at'
>;

/** Throws `StatementDamaged` where a file is missing or holds other bytes than were published, `ObjectStoreUnreachable`. */
export async function* rowsBetween(
  objects: ObjectStore,
  before: Revision,
  after: Revision,
): AsyncGenerator<RowDifference> {
  // Equal bytes: no row differs. Only figures changed that no row shows.
  if (before.sha256 === after.sha256) return;
  try {
    yield* differingRows(comparedFile(objects, before), comparedFile(objects, after));
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

/** The rows, some at a time, each with its cause. Throws `StoreUnreachable`, and what reading the rows throws. */
export async function* causesOf(
  db: Kysely<DB>,
  rows: AsyncIterable<RowDifference> | Iterable<RowDifference>,
  before: Revision,
  after: Pick<Revision, 'published_at'>,
): AsyncGenerator<readonly CausedRow[]> {
  const account = { merchantNo: before.merchant_no, currency: before.currency };
  const between = { account, day: before.day, publishedAt: before.published_at };
  const times = { from: before.published_at, to: after.published_at };
  const healed = await healedBreaks(db, account, before.day, times);
  const caused = async (batch: readonly RowDifference[]): Promise<CausedRow[]> => {
    const pasts = await pastOfEntries(
      db,
      account.merchantNo,
      batch.map(({ batchNo }) => batchNo),
    );
    return batch.map((row) => {
      const past = pasts.get(row.batchNo);
      return { ...row, cause: causeOf(row, past, between), heals: healedBy(row.batchNo, past, healed) };
    });
  };
  let batch: RowDifference[] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < ENTRIES_ASKED_MAX) continue;
    yield await caused(batch);
    batch = [];
  }
  if (batch.length > 0) yield await caused(batch);
}

/**
 * Compares the two files. If a file is missing, altered or not available (moved to an archive, for example), the day
 * is still published: the reason is then worded from the figures alone, and says so. Throws `StoreUnreachable`, or
 * the signal's reason.
 */
export async function reasonBetween(
  before: Revision & FigureColumns,
  after: Revision & FigureColumns,
  {
    db,
    objects,
    signal,
  }: { readonly db: Kysely<DB>; readonly objects: ObjectStore; readonly signal: AbortSignal },
): Promise<string> {
  const figures = [figuresOf(before), figuresOf(after)] as const;
  const counter = countChanges({ merchantNo: before.merchant_no, currency: before.currency });
  try {
    for await (const rows of causesOf(db, rowsBetween(objects, before, after), before, after)) {
      signal.throwIfAborted();
      counter.take(rows);
    }
    return reasonOf(...figures, counter.changes);
  } catch (error) {
    if (!UNREADABLE.some((kind) => error instanceof kind)) throw error;
    return reasonOf(...figures, null);
  }
}

const UNREADABLE = [StatementDamaged, ObjectStoreUnreachable, ObjectStoreRefused];
