/** How far backfills are, with the time that is left and what failed. */
import type { Kysely } from 'kysely';
import {
  failingMerchants,
  listBackfills,
  recentSlices,
  type BackfillProgress,
  type FailingMerchant,
} from '../../store/backfill-progress.ts';
import type { DB } from '../../store/engine/schema.ts';
import { EXIT, type ExitCode } from '../verdict/exit-codes.ts';
import { leftMs } from './slices.ts';

/** Failing merchants of a backfill that are reported. */
const FAILURES_SHOWN = 10;

export interface BackfillStatus extends BackfillProgress {
  /** How long the days left take at the pace of the last slices, in ms; null while it is not known. */
  readonly leftMs: number | null;
  /** The first merchants whose next slice has failed. */
  readonly failures: readonly FailingMerchant[];
}

/** Backfills, the newest first, as `listBackfills` chooses them. */
export async function backfillStatuses(
  db: Kysely<DB>,
  which: Parameters<typeof listBackfills>[1] = {},
): Promise<BackfillStatus[]> {
  const all = await listBackfills(db, which);
  return Promise.all(
    all.map(async (one) => ({
      ...one,
      leftMs: leftMs(one.daysLeft, await recentSlices(db, one.id)),
      failures: one.failing === 0 ? [] : await failingMerchants(db, one.id, FAILURES_SHOWN),
    })),
  );
}

/**
 * The exit code of open backfills: 4 once a slice has failed, or where days are left that `run` was asked for; else 0,
 * however much is left.
 */
export const backfillsExitCode = (
  backfills: readonly Pick<BackfillStatus, 'failing' | 'isRun' | 'daysLeft'>[],
): ExitCode =>
  backfills.some(({ failing, isRun, daysLeft }) => failing > 0 || (isRun && daysLeft > 0))
    ? EXIT.incomplete
    : EXIT.done;
