/** Ends backfills of which nothing is left, by the same rule as a run of these merchants: what stands open of them then counts. */
import { counted } from '../../ledger/text.ts';
import { finishOpenRun } from '../../store/runs.ts';
import { runsToFinish } from '../../store/tasks.ts';
import type { RunDeps } from '../active-run.ts';
import { openItemsOf } from '../merchant-ends.ts';
import { outcomeOfAll, sumOpenItems } from '../report.ts';
import { mostSevere, needsPerson } from '../verdict/exit-codes.ts';
import { judge } from '../verdict/judge.ts';
import { merchantsOfBackfill, sliceTotals } from './tasks.ts';

type EndDeps = Pick<RunDeps, 'db' | 'zone' | 'now'>;

/** Ends the runs of backfills of which nothing is left. A long `run` that came to its own end keeps that. */
export async function endBackfills(deps: EndDeps): Promise<void> {
  for (const { id, isQueued } of await runsToFinish(deps.db)) if (!isQueued) await endBackfill(deps, id);
}

/**
 * What its slices found and what is open of its merchants decide the exit code. Nothing is marked as reported: the next night
 * reports it, with its alerts. False if the run has an end, or a part of it waits.
 */
export async function endBackfill({ db, zone, now }: EndDeps, runId: number): Promise<boolean> {
  const { needPerson, ...totals } = await sliceTotals(db, runId);
  const merchants = await merchantsOfBackfill(db, runId);
  const scope = { merchants, currencies: null, runId, reads: true, chains: true, zone, now: now() };
  const found = await openItemsOf(db, scope);
  const standing = sumOpenItems([...found.values()].map((one) => one.standing));
  const { exitCode, reasons } = judge(outcomeOfAll([]), standing, { id: runId, failures: [], zone });
  const own =
    needPerson === 0
      ? []
      : [
          needsPerson(
            `${counted(needPerson, 'slice needs', 'slices need')} attention: the nightly run lists the open items`,
          ),
        ];
  const all = [...reasons, ...own];
  return finishOpenRun(db, runId, {
    exitCode: mostSevere([exitCode, ...own.map((one) => one.exitCode)]),
    figures: { ...totals, reasons: all, notes: all.map(({ what }) => what), interrupted: false },
    now: now(),
  });
}
