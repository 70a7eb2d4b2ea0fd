/** The end of a backfill: its run gets an exit code and a summary. */
import type { Kysely, Transaction } from 'kysely';
import { counted } from '../../ledger/text.ts';
import { sliceTotals } from '../../store/backfill-progress.ts';
import { cancelBackfill, endDoneBackfills } from '../../store/backfills.ts';
import type { DB } from '../../store/engine/schema.ts';
import { finishRun, runById } from '../../store/runs.ts';
import { EXIT } from '../verdict/exit-codes.ts';

/** Ends the backfills of which nothing is left. Throws what the database throws. */
export const endBackfills = (db: Kysely<DB>, now: Date): Promise<void> =>
  db.transaction().execute(async (trx) => {
    for (const { id, runId } of await endDoneBackfills(trx, now)) {
      const { slices, days, needPerson } = await sliceTotals(trx, id);
      const notes =
        needPerson === 0
          ? []
          : [
              `${counted(needPerson, 'slice needs', 'slices need')} attention: the nightly run lists the open items`,
            ];
      const figures = { backfill: id, slices, days, notes, interrupted: false };
      const exitCode = needPerson === 0 ? EXIT.done : EXIT.needsPerson;
      await finishOpenRun(trx, runId, { exitCode, figures, now });
    }
  });

/** Cancels an open backfill, and ends its run with 4. False if no open backfill has the number. */
export async function endCancelled(trx: Transaction<DB>, id: number, now: Date): Promise<boolean> {
  const runId = await cancelBackfill(trx, id, now);
  if (runId === null) return false;
  const { slices, days } = await sliceTotals(trx, id);
  const figures = {
    backfill: id,
    slices,
    days,
    notes: ['it was cancelled; what was read stays'],
    interrupted: true,
  };
  await finishOpenRun(trx, runId, { exitCode: EXIT.incomplete, figures, now });
  return true;
}

/** A long `run` that came to its own end keeps that. */
async function finishOpenRun(
  trx: Transaction<DB>,
  runId: number,
  end: Parameters<typeof finishRun>[2],
): Promise<void> {
  if ((await runById(trx, runId))?.exitCode === null) await finishRun(trx, runId, end);
}
