/** The end of a run: finds out what is still open, judges the run, and stores the report. */
import { MANY_MIN } from '../ledger/common-change.ts';
import { changesTogether, type ChangesTogether } from '../store/amendments.ts';
import { LeaseLost } from '../store/engine/lease.ts';
import { StoreUnreachable } from '../store/engine/errors.ts';
import { isLostOrRolledBack, retry } from '../store/engine/retry.ts';
import { clocksSeenBefore, finishOpenRun, finishRun } from '../store/runs.ts';
import { noticeEvent, unreportedNotices, type Notice } from '../store/notices.ts';
import { changeEvent, markEventsReported } from '../store/events.ts';
import { revisionEvents } from '../store/statements/record-published.ts';
import { isChecked } from '../ledger/checks.ts';
import type { EndedRun } from './alerts.ts';
import { isNightlyRun, type ActiveRun, type RunDeps } from './active-run.ts';
import { isForPerson } from './verdict/merchant-reasons.ts';
import type { HeldLeases } from './leases.ts';
import type { MerchantEnd, MerchantEnds } from './merchant-ends.ts';
import {
  NOTHING_STANDS,
  outcomeOfAll,
  sumOpenItems,
  type MerchantOutcome,
  runFigures,
  TIME_ZONE_ON_TRUST,
  type RunReport,
  type StageOutcome,
  type OpenItems,
} from './report.ts';
import { nothingDoneFor } from './merchant-work.ts';
import { withExplainedFailure } from './stages/sync-stage.ts';
import {
  EXIT,
  Interrupted,
  awaitsPerson,
  exitCodeOf,
  isGoodEnd,
  isLeftToOthers,
  type ExitCode,
  type Reason,
} from './verdict/exit-codes.ts';
import { judge, type RunFailure } from './verdict/judge.ts';
import { sumOfSync } from '../sync/sync-report.ts';

export const ON_TRUST: Reason = { exitCode: EXIT.done, what: TIME_ZONE_ON_TRUST, todo: null };

export interface RunEnd {
  /** What ended the run early; empty if nothing did. */
  readonly failures: readonly RunFailure[];
  /** The errors that caused this; empty if the error is thrown to the caller anyway. */
  readonly causes: readonly unknown[];
  readonly elapsedMs: () => number;
}

export interface RunMerchants {
  readonly held: HeldLeases;
  readonly outcomes: ReadonlyMap<string, MerchantOutcome>;
  readonly ends: MerchantEnds;
}

/** Why a run ended early: `given` is its own signal, `held` the one that also aborts if the leases are lost. */
export function failureOf(
  error: unknown,
  given: AbortSignal,
  held: AbortSignal,
): { readonly failure: RunFailure; readonly cause: unknown } {
  const cause = given.aborted ? new Interrupted() : held.aborted ? (held.reason as unknown) : error;
  const message = cause instanceof Error ? cause.message : String(cause);
  return { failure: { exitCode: exitCodeOf(cause), message }, cause };
}

/**
 * Judges a run, and stores and returns its report. Throws what the database throws, unless that is why the run ended.
 */
export async function endRun(run: ActiveRun, merchants: RunMerchants, end: RunEnd): Promise<RunReport> {
  const { deps, runId } = run;
  const { failures, causes } = end;
  // If the database did not answer before, it is not asked again, as each question would wait in vain. The same
  // goes for a lease that could not be renewed, which mostly has the same cause.
  const isAway = causes.some((cause) => cause instanceof StoreUnreachable || cause instanceof LeaseLost);
  const { standing, ends } = isAway
    ? { standing: NOTHING_STANDS, ends: [] }
    : await openItemsAfter(run, merchants, failures);
  const outcome = await outcomeAfter(run, merchants, isAway);
  const wereClocksApart = !isAway && (await clocksWereApart(deps.db, runId, outcome.sync));
  const { notRead = [] } = run.request;
  const together = isAway ? [] : await changesOf(deps.db, outcome, runId);
  const judging = { id: runId, failures, zone: deps.zone, wereClocksApart, notRead, together };
  const { exitCode, reasons: judged } = judge(outcome, standing, judging);
  const reasons = deps.timeZoneTrusted === true ? [...judged, ON_TRUST] : judged;
  const { from, to, checked } = run;
  const report: RunReport = {
    ...{ command: run.request.command, runId, from, to, exitCode, ...outcome, checked, standing, reasons },
    notes: reasons.map(({ what }) => what),
    elapsedMs: Math.round(end.elapsedMs()),
  };
  const interrupted = causes.some((cause) => cause instanceof Interrupted);
  await recordEnd(deps, endedRun(run.request, report, interrupted), runFigures(report), { isAway });
  // What a slice of a backfill finds is named by the next night, with its alerts.
  if (run.request.isSlice !== true) await markReported(run, standing, ends);
  return report;
}

/**
 * Stores the end of a run, with its alerts. `ifOpen`: unless it has an end, or something of it waits. Returns whether it did.
 * Throws what the database throws, unless it `isAway`.
 */
export function recordEnd(
  deps: Pick<RunDeps, 'db' | 'now' | 'zone' | 'alerts'>,
  ended: EndedRun,
  known: Readonly<Record<string, unknown>>,
  { ifOpen = false, isAway = false }: { readonly ifOpen?: boolean; readonly isAway?: boolean },
): Promise<boolean> {
  const { runId, exitCode, reasons, interrupted } = ended;
  const figures = {
    ...{ ...known, interrupted },
    ...(awaitsPerson(exitCode as ExitCode, reasons) && { awaitsPerson: true }),
    ...(isLeftToOthers(ended) && { leftToOthers: true }),
  };
  const finish = async (db: RunDeps['db']): Promise<boolean> => {
    const end = { exitCode, figures, now: deps.now() };
    if (ifOpen) return finishOpenRun(db, runId, end);
    await finishRun(db, runId, end);
    return true;
  };
  if (deps.alerts !== undefined) return deps.alerts.finish(deps, ended, { finish, isAway });
  return isAway ? finish(deps.db).catch(() => false) : finish(deps.db);
}

/** Changes of several entries of a merchant. A merchant of which little changed is not asked for. */
async function changesOf(
  db: RunDeps['db'],
  { sync }: StageOutcome,
  runId: number,
): Promise<ChangesTogether[]> {
  const found: ChangesTogether[] = [];
  for (const { merchantNo, report } of sync) {
    const { amended, vanished, uncertified } = report;
    if (amended === 0 && vanished < MANY_MIN && uncertified.length === 0) continue;
    found.push(await changesTogether(db, merchantNo, { runId, amended }));
  }
  return found;
}

const endedRun = (request: ActiveRun['request'], report: RunReport, interrupted: boolean): EndedRun => ({
  ...{
    ...report,
    interrupted,
    isNightly: isNightlyRun(request),
    job: request.scheduled?.job ?? request.command,
  },
  // Elsewhere a busy merchant is no reason to end badly.
  busy: report.busy.filter((one) => !isGoodEnd(one.exitCode)).length,
  leftOut: report.busy.length,
});

/** The outcomes of all merchants. */
async function outcomeAfter(
  { request, deps }: ActiveRun,
  { held, outcomes }: RunMerchants,
  isAway: boolean,
): Promise<StageOutcome> {
  const exitCode =
    request.isByName === true ? EXIT.leaseHeld : request.scheduled ? EXIT.incomplete : EXIT.done;
  const busy = [...held.busy].map(([merchantNo, { message }]) => ({ merchantNo, exitCode, message }));
  const outcome = outcomeOfAll([...outcomes.values()], busy);
  if (isAway || !isChecked('shared', deps.checks)) return outcome;
  return { ...outcome, sync: await withExplainedFailure(outcome.sync, deps.db) };
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

/** Marks changes as reported, once the report is stored. If this fails, a later run reports them again. */
export async function markReported(
  { deps }: Pick<ActiveRun, 'deps'>,
  standing: OpenItems,
  ends: readonly MerchantEnd[],
): Promise<void> {
  // What is open of a merchant whose lease was lost is reported by the run that has it now.
  const own = ends.filter(({ isRecorded }) => isRecorded);
  const merchants = new Set(own.map(({ outcome }) => outcome.merchantNo));
  const isOwn = (notice: Notice): boolean =>
    merchants.has(notice.merchantNo) || (notice.kind === 'shared' && merchants.has(notice.otherMerchantNo));
  const reported = [
    ...own.flatMap(({ unreported }) => unreported.map(changeEvent)),
    ...standing.revised.filter(({ merchantNo }) => merchants.has(merchantNo)).flatMap(revisionEvents),
    ...standing.notices.filter(isOwn).map(noticeEvent),
  ];
  if (reported.length === 0) return;
  const mark = (): Promise<unknown> =>
    deps.db.transaction().execute((trx) => markEventsReported(trx, reported, deps.now()));
  await retry(mark, { isPassing: isLostOrRolledBack }).catch(() => undefined);
}

/**
 * What is open after the run, and the ends of its merchants; those that were not begun are ended too. If the run failed
 * already, a database that cannot answer does not count as a second failure.
 */
async function openItemsAfter(
  run: ActiveRun,
  { held, outcomes, ends }: RunMerchants,
  failures: readonly RunFailure[],
): Promise<{ readonly standing: OpenItems; readonly ends: readonly MerchantEnd[] }> {
  const { request, deps } = run;
  try {
    if (failures.length > 0) {
      const rest = request.merchants.map(({ merchantNo }) => ({
        outcome: outcomes.get(merchantNo) ?? nothingDoneFor(merchantNo),
        lease: held.leaseOf(merchantNo),
      }));
      await ends.addRest(rest, failures);
    }
    const ended = ends.all();
    const merchants = ended.map(({ outcome }) => outcome.merchantNo);
    const standing = sumOpenItems(ended.map((end) => end.standing));
    // A notice about two merchants stands for both of them, and is reported once.
    return { standing: { ...standing, notices: await unreportedNotices(deps.db, merchants) }, ends: ended };
  } catch (error) {
    if (failures.length > 0) return { standing: NOTHING_STANDS, ends: [] };
    throw error;
  }
}
