/** Records a backfill, so that the schedule, workers or this process do it slice by slice. */
import { addDays, dayOf } from '../../ledger/business-day.ts';
import { sameBackfill } from '../../store/backfill-progress.ts';
import { recordBackfill } from '../../store/backfills.ts';
import { startRun } from '../../store/runs.ts';
import type { RunDeps } from '../active-run.ts';
import type { DayRange } from '../range.ts';
import { UsageError } from '../verdict/exit-codes.ts';
import { BACKFILL_COMMAND } from './slices.ts';

/**
 * Records a backfill of these days for these merchants, and the run under which its slices write. Returns its number.
 * Throws `UsageError` if its last day is not over, or if an open backfill has the same days of one of the merchants.
 */
export async function beginBackfill(
  { from, to, merchants }: DayRange & { readonly merchants: readonly string[] },
  { db, now, holder, zone }: Pick<RunDeps, 'db' | 'now' | 'holder' | 'zone'>,
): Promise<number> {
  const at = now();
  const yesterday = addDays(dayOf(at.getTime(), zone), -1);
  if (to > yesterday)
    throw new UsageError(`--to ${to} is not over yet; the last day a backfill can have is ${yesterday}.`);
  const same = await sameBackfill(db, { from, to, merchants });
  if (same !== undefined) {
    throw new UsageError(
      `backfill ${same.id} has these days of ${same.merchantNo} already; \`daybook backfill list\` shows how far it is.`,
    );
  }
  return db.transaction().execute(async (trx) => {
    const run = { command: BACKFILL_COMMAND, holder, fromDay: from, toDay: to, now: at };
    return recordBackfill(trx, { from, to, merchants, runId: await startRun(trx, run), now: at });
  });
}
