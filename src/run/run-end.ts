/** The end of a run: finds out what is still open, judges the run, and stores the report. */
import { LeaseLost } from '../store/engine/lease.ts';
import { StoreUnreachable } from '../store/engine/errors.ts';
import { clocksSeenBefore, finishRun } from '../store/runs.ts';
import { noticesTold } from '../store/notices.ts';
import { forgetUntold } from '../store/untold-changes.ts';
import { forgetUntoldRevisions } from '../store/statements/untold-revisions.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { isForPerson } from './clock-text.ts';
import { EXIT, Interrupted } from './verdict/exit-codes.ts';
import { judge, type RunFailure } from './verdict/judge.ts';
import type { Reason } from './verdict/reason.ts';
import { runFigures, TIME_ZONE_ON_TRUST, type RunReport, type Standing } from './report.ts';
import { NOTHING_STANDS, standingOf } from './standing.ts';
import { STAGES } from './stages/stages-of.ts';
import { sumOfSync } from './stages/sync-tally.ts';
import { accountsAsked, type ActiveRun, type RunDeps, type StageOutcome } from './active-run.ts';

/** How a run came to its end. */
export interface RunEnd {
  readonly outcome: StageOutcome;
  /** What ended the run early; empty if nothing did. */
  readonly failures: readonly RunFailure[];
  /** The errors that caused this; empty if the error is thrown to the caller anyway. */
  readonly causes: readonly unknown[];
  /** Since the run began. */
  readonly elapsedMs: () => number;
}

/**
 * Judges a run, and stores and returns its report. Throws what the database throws, unless that is why the run ended.
 */
export async function endRun(run: ActiveRun, end: RunEnd): Promise<RunReport> {
  const { deps, runId } = run;
  const { outcome, failures, causes } = end;
  // If the database did not answer before, it is not asked again, as each question would wait in vain. The same
  // goes for a lease that could not be renewed, which mostly has the same cause.
  const isAway = causes.some((cause) => cause instanceof StoreUnreachable || cause instanceof LeaseLost);
  const standing = isAway ? NOTHING_STANDS : await standingAfter(run, failures.length > 0);
  const wereClocksApart = !isAway && (await clocksWereApart(deps.db, runId, outcome.sync));
  const judged = judge(outcome, standing, { id: runId, failures, zone: deps.zone, wereClocksApart });
  const report = reportOf(run, end, standing, judged);
  const figures = {
    ...runFigures(report),
    interrupted: causes.some((cause) => cause instanceof Interrupted),
  };
  const finished = finishRun(deps.db, runId, { exitCode: report.exitCode, figures, now: deps.now() });
  await (isAway ? finished.catch(() => undefined) : finished);
  if (hasToldOf(standing)) await forgetTold(run, standing);
  return report;
}

function reportOf(
  { request, deps, runId, from, to, checked }: ActiveRun,
  { outcome, elapsedMs }: RunEnd,
  standing: Standing,
  judged: ReturnType<typeof judge>,
): RunReport {
  const onTrust: Reason = { exitCode: EXIT.done, what: TIME_ZONE_ON_TRUST, todo: null };
  const reasons = deps.timeZoneTrusted === true ? [...judged.reasons, onTrust] : judged.reasons;
  return {
    command: request.command,
    runId,
    from,
    to,
    exitCode: judged.exitCode,
    ...outcome,
    checked,
    standing,
    reasons,
    notes: reasons.map(({ what }) => what),
    elapsedMs: Math.round(elapsedMs()),
  };
}

/** Only asked if the clocks differ by much now. If the database does not answer, the difference counts as new. */
async function clocksWereApart(
  db: RunDeps['db'],
  runId: number,
  sync: StageOutcome['sync'],
): Promise<boolean> {
  if (!isForPerson(sumOfSync(sync))) return false;
  const before = await clocksSeenBefore(db, runId).catch(() => null);
  return before !== null && isForPerson(before);
}

const hasToldOf = ({ untold, revised, notices }: Standing): boolean =>
  untold.amended + untold.vanished + revised.length + notices.length > 0;

/** Marks changes as reported, once the report is stored. If this fails, a later run reports them again. */
async function forgetTold({ request, deps, lease }: ActiveRun, { notices }: Standing): Promise<void> {
  const { merchants: told } = accountsAsked(request);
  const forget = writeTransaction(deps.db, lease, async (trx) => {
    await forgetUntold(trx, told);
    await forgetUntoldRevisions(trx, told);
    await noticesTold(trx, notices, told, deps.now());
  });
  await forget.catch(() => undefined);
}

/**
 * What is open after the run. If the run failed already, a database that cannot answer does not count as a second
 * failure.
 */
async function standingAfter({ request, deps, runId }: ActiveRun, failed: boolean): Promise<Standing> {
  const asked = standingOf(deps.db, {
    ...accountsAsked(request),
    runId,
    reads: STAGES[request.command].includes('sync'),
    zone: deps.zone,
    now: deps.now(),
  });
  return failed ? asked.catch(() => NOTHING_STANDS) : asked;
}
