/** Raises what no run tells: a night that was missed, a run that was killed. Any process that lives may check. */
import { unmatchedCounts } from '../../months/own-books.ts';
import { type Kysely, sql } from 'kysely';
import { raiseCondition, type Raising, endConditions } from './outbox.ts';
import { counted, firstNamed } from '../../ledger/text.ts';
import { wallTime } from '../../ledger/wall-time.ts';
import type { DB } from '../../store/engine/schema.ts';
import { undoneInRun } from '../../store/run-merchants.ts';
import { ABOUT_NO_MERCHANT, firstSentences, NAMED_MAX } from '../../run/alerts.ts';
import { addDays, dayOf } from '../../ledger/business-day.ts';
import { isNoFailure, lastRunsOf, notesOf, type KnownRun, type LastRunsAsked } from '../../run/run-state.ts';
import type { ExitCode, Reason } from '../../run/verdict/exit-codes.ts';
import { gradeOf, jobFailed, MISSED, NIGHT, runFailed, runKilled } from './nights.ts';
import { activeWith } from '../../store/fleet-counts.ts';

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
          `The last good reading of ${firstNamed(merchants, NAMED_MAX, count)} is older than ${hours} hours; the oldest ended ` +
            `${wallTime(lastGoodAt.getTime(), zone)} (${zone}).`,
        ],
        todo:
          'see whether `daybook schedule` (or the cron job) and its workers are alive, and start them: a run reads every ' +
          'day that was missed by itself',
        ...{ ...ABOUT_NO_MERCHANT, merchants, merchantCount: count },
      },
      raising,
    ),
  );
}

const UNMATCHED = 'own books';

/** Raises that entries are unmatched with own books for more days than that: once, and once a day as long as it is so. */
export async function checkForUnmatched(
  db: Kysely<DB>,
  { zone, maxDays, ...raising }: Raising & { readonly zone: string; readonly maxDays: number | undefined },
): Promise<void> {
  const limit = maxDays === undefined ? null : addDays(dayOf(raising.now.getTime(), zone), -maxDays);
  const counts = limit === null ? [] : await unmatchedCounts(db, null, addDays(limit, -1));
  const late = counts.filter(({ oldest }) => oldest !== null);
  if (late.length === 0) return endConditions(db, [UNMATCHED], raising);
  const entries = late.reduce((sum, { ledger, book }) => sum + ledger + book, 0);
  const merchants = [...new Set(late.map(({ merchantNo }) => merchantNo))];
  await db.transaction().execute((trx) =>
    raiseCondition(
      trx,
      { name: UNMATCHED, grade: 1, count: entries },
      {
        kind: 'unmatched',
        title: `${counted(entries, 'entry is', 'entries are')} unmatched for more than ${counted(maxDays!, 'day')}`,
        sentences: firstSentences(
          late.map(
            ({ merchantNo, currency, ledger, book, oldest }) =>
              `${merchantNo} ${currency}: ${ledger} only in the ledger, ${book} only in own books, the oldest of ${oldest}.`,
          ),
          '`daybook books unmatched`',
        ),
        todo: `see \`daybook books unmatched --older-than ${maxDays}\`; match, write off or correct the book`,
        ...{
          ...ABOUT_NO_MERCHANT,
          merchants: merchants.slice(0, NAMED_MAX),
          merchantCount: merchants.length,
        },
      },
      raising,
    ),
  );
}

interface UnfinishedAsked {
  readonly zone: string;
  /** Jobs that read no ledger and are not due any more: trouble with them is over. */
  readonly jobsOff?: readonly string[];
}

/** Raises that the last run of a job was killed or failed and none has made up for it, unless that was reported. */
export async function checkForUnfinishedRuns(
  db: Kysely<DB>,
  { zone, jobsOff = [], ...options }: Raising & LastRunsAsked & UnfinishedAsked,
): Promise<void> {
  const { now, otherJobs } = options;
  const { notMadeUpFor, failedJobs } = await lastRunsOf(db, { ...options, nightlyOnly: true });
  const undone = [...notMadeUpFor, ...failedJobs].filter((run) => !isNoFailure(run, now));
  const nameOf = ({ command }: KnownRun): string => (otherJobs.includes(command) ? `job ${command}` : NIGHT);
  for (const run of undone) {
    const { id: runId, fromDay: from, toDay: to, exitCode } = run;
    const left = await undoneInRun(db, runId);
    const said =
      run.state === 'killed'
        ? runKilled({ ...run, zone })
        : runFailed(
            { runId, job: run.command, exitCode: exitCode!, reasons: reasonsOf(run), from, to },
            left,
          );
    const content = failedJobs.includes(run) ? jobFailed(said) : said;
    const condition = { name: nameOf(run), grade: gradeOf(exitCode), count: left.count };
    await db.transaction().execute((trx) => raiseCondition(trx, condition, content, options));
  }
  // A good night ends its own trouble.
  const names = undone.map(nameOf);
  const over = [...otherJobs, ...jobsOff].map((job) => `job ${job}`).filter((name) => !names.includes(name));
  if (over.length > 0) await db.transaction().execute((trx) => endConditions(trx, over, options));
}

/** The reasons as the run stored them, or its sentences where it stored no more. */
function reasonsOf({ figures, exitCode }: KnownRun): Reason[] {
  const { reasons } = figures;
  if (Array.isArray(reasons) && reasons.length > 0) return reasons as unknown as Reason[];
  return notesOf(figures).map((what) => ({ exitCode: (exitCode ?? 4) as ExitCode, what, todo: null }));
}

export interface Missed {
  readonly count: number;
  readonly merchants: readonly string[];
  /** The end of the good reading that is longest ago; null if nothing was missed. */
  readonly lastGoodAt: Date | null;
}

/**
 * The active merchants, and `own`, whose last good reading ended longer ago than that, and that were not enabled since.
 * Left out are those that were never read well, and those that a later night failed for, as long as failed nights stand:
 * that is reported. One jump along run_merchant_good for each merchant, in one statement.
 */
async function missedRuns(
  db: Kysely<DB>,
  own: readonly string[],
  { now, maxAgeMs }: { readonly now: Date; readonly maxAgeMs: number },
): Promise<Missed> {
  const limit = new Date(now.getTime() - maxAgeMs);
  const { rows } = await sql<Missed>`
    WITH late AS (
      SELECT asked.merchant_no, last.finished_at AS at
      FROM (${activeWith(own)}) AS asked CROSS JOIN LATERAL (
        SELECT read.run_id, read.finished_at FROM run_merchant AS read
        WHERE read.merchant_no = asked.merchant_no AND read.reads AND read.exit_code IN (0, 3)
        ORDER BY read.run_id DESC LIMIT 1
      ) AS last
      WHERE last.finished_at < ${limit}
        AND NOT EXISTS (
          SELECT FROM merchant WHERE merchant.merchant_no = asked.merchant_no AND merchant.enabled_at >= ${limit}
        )
        AND NOT (EXISTS (SELECT FROM alert_condition WHERE name = ${NIGHT}) AND EXISTS (
          SELECT FROM run_merchant AS failed
          WHERE failed.merchant_no = asked.merchant_no AND failed.run_id > last.run_id
            AND failed.exit_code NOT IN (0, 3) AND failed.finished_at >= ${limit}
        ))
    )
    SELECT count(*) AS count, min(at) AS "lastGoodAt",
      coalesce((array_agg(merchant_no ORDER BY merchant_no))[1:${sql.lit(NAMED_MAX)}], '{}') AS merchants
    FROM late`.execute(db);
  return rows[0]!;
}
