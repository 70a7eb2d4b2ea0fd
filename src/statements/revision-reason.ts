/**
 * Finds out why a new revision replaces the one before, from their rows. Manifests, lists and reports of runs have
 * it.
 */
import type { Kysely } from 'kysely';
import { ObjectStoreRefused, ObjectStoreUnreachable, type ObjectStore } from '../objects/object-store.ts';
import type { DB } from '../store/engine/schema.ts';
import { figuresOf, type FigureColumns } from '../store/account-days.ts';
import { StatementDamaged } from './fetch.ts';
import { countChanges, reasonOf } from './reason.ts';
import { causesOf, rowsBetween, type Revision } from './revision-diff.ts';

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
