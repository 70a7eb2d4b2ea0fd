/** How far backfills are, with the time that is left. */
import type { Kysely } from 'kysely';
import { listBackfills, recentSlices, type BackfillProgress } from '../../store/backfill-progress.ts';
import type { DB } from '../../store/engine/schema.ts';
import { leftMs } from './slices.ts';

export interface BackfillStatus extends BackfillProgress {
  /** How long the days left take at the pace of the last slices, in ms; null while it is not known. */
  readonly leftMs: number | null;
}

/** Backfills, the newest first, as `listBackfills` chooses them. */
export async function backfillStatuses(
  db: Kysely<DB>,
  which: Parameters<typeof listBackfills>[1] = {},
): Promise<BackfillStatus[]> {
  const all = await listBackfills(db, which);
  return Promise.all(
    all.map(async (one) => ({ ...one, leftMs: leftMs(one.daysLeft, await recentSlices(db, one.id)) })),
  );
}
