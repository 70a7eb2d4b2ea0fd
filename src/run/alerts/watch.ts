/** Raises what no run tells: a night that was missed, a run that was killed. Any process that lives may check. */
import type { Kysely } from 'kysely';
import { raiseCondition, type Raising } from '../../alerts/raise.ts';
import { firstOf } from '../../alerts/alert.ts';
import { counted } from '../../ledger/text.ts';
import { wallTime } from '../../ledger/wall-time.ts';
import { endConditions } from '../../store/alerts/conditions.ts';
import type { DB } from '../../store/engine/schema.ts';
import { undoneInRun } from '../../store/tasks.ts';
import { lastRunsOf, type KnownRun } from '../run-state.ts';
import type { Reason } from '../verdict/reason.ts';
import { gradeOf, MISSED, NIGHT } from './at-end.ts';
import { missedRuns } from './missed.ts';
import { runFailed, runKilled } from './run-alerts.ts';

/**
 * Raises that the last good reading of active merchants, or of `own`, the one in the settings, is too long ago: once, and
 * once a day as long as it is so.
 */
export async function checkForMissedRun(
  db: Kysely<DB>,
  own: readonly string[],
  { zone, maxAgeMs, ...raising }: Raising & { readonly zone: string; readonly maxAgeMs: number },
): Promise<void> {
  const { count, merchants, lastGoodAt } = await missedRuns(db, own, { now: raising.now, maxAgeMs });
  if (lastGoodAt === null) return;
  const hours = Math.floor(maxAgeMs / 3_600_000);
  await db.transaction().execute((trx) =>
    raiseCondition(
      trx,
      { name: MISSED, grade: 1, count },
      {
        kind: 'missed-night',
        title: `no good night for ${counted(count, 'merchant')} within ${hours} hours`,
        sentences: [
          `The last good reading of ${firstOf(merchants, count)} is older than ${hours} hours; the oldest ended ` +
            `${wallTime(lastGoodAt.getTime(), zone)} (${zone}).`,
        ],
        todo:
          'see whether `daybook schedule` (or the cron job) and its workers are alive, and start them: a run reads every ' +
          'day that was missed by itself',
        merchants,
        merchantCount: count,
        days: [],
        since: null,
        runId: null,
      },
      raising,
    ),
  );
}

/** Raises that the last run of a job was killed or failed and none has made up for it, unless that was reported. */
export async function checkForUnfinishedRuns(
  db: Kysely<DB>,
  {
    zone,
    ledgerJobs,
    otherJobs,
    merchants,
    ...raising
  }: Raising & {
    readonly zone: string;
    readonly ledgerJobs: readonly string[];
    readonly otherJobs: readonly string[];
    /** All whose ledgers are read. */
    readonly merchants: () => Promise<readonly string[]>;
  },
): Promise<void> {
  const asked = { ledgerJobs, otherJobs, merchants, now: raising.now, nightlyOnly: true };
  const undone = (await lastRunsOf(db, asked)).notMadeUpFor.filter((run) => !isNoFailure(run, raising.now));
  const nameOf = ({ command }: KnownRun): string => (otherJobs.includes(command) ? `job ${command}` : NIGHT);
  for (const run of undone) {
    const { count, merchants: named } = await undoneInRun(db, run.id);
    const content =
      run.state === 'killed'
        ? runKilled({ ...run, zone })
        : runFailed(
            {
              ...{ runId: run.id, exitCode: run.exitCode!, reasons: reasonsOf(run) },
              ...{ from: run.fromDay, to: run.toDay },
            },
            { count, merchants: named },
          );
    const condition = { name: nameOf(run), grade: gradeOf(run.exitCode), count };
    await db.transaction().execute((trx) => raiseCondition(trx, condition, content, raising));
  }
  // A good night ends its own trouble and says so; the other jobs are only crossed off.
  const names = undone.map(nameOf);
  const over = otherJobs.map((job) => `job ${job}`).filter((name) => !names.includes(name));
  if (over.length > 0) await endConditions(db, over);
}

/** The next try of a run that was left to other processes comes within this time. */
const LEFT_TO_OTHERS_MS_MAX = 3_600_000;

/** Whether the run was asked to stop, or ended lately and left to other processes what they were at work on. */
export function isNoFailure({ figures, finishedAt }: KnownRun, now: Date): boolean {
  if (figures['interrupted'] === true) return true;
  const isLate = finishedAt === null || now.getTime() - finishedAt.getTime() >= LEFT_TO_OTHERS_MS_MAX;
  return figures['leftToOthers'] === true && !isLate;
}

/** The reasons as the run stored them, or its sentences where it stored no more. */
function reasonsOf({ figures, exitCode }: KnownRun): Reason[] {
  const { reasons, notes } = figures;
  if (Array.isArray(reasons) && reasons.length > 0) return reasons as unknown as Reason[];
  const reported = Array.isArray(notes) ? notes.map(String) : [];
  return reported.map((what): Reason => ({
    exitCode: (exitCode ?? 4) as Reason['exitCode'],
    what,
    todo: null,
  }));
}
