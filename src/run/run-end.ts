/** The end of a run: finds out what is still open, judges the run, and stores the report. */
import { MANY_MIN } from '../ledger/common-change.ts';
import { changesTogether, type ChangesTogether } from '../store/common-changes.ts';
import { LeaseLost } from '../store/engine/lease.ts';
import { StoreUnreachable } from '../store/engine/errors.ts';
import { isLostOrRolledBack, retry } from '../store/engine/retry.ts';
import { clocksSeenBefore, finishRun } from '../store/runs.ts';
import { noticeEvent, unreportedNotices, type Notice } from '../store/notices.ts';
import { changeEvent, markEventsReported } from '../store/events.ts';
import { revisionEvents } from '../store/statements/revisions.ts';
import { isChecked } from '../ledger/checks.ts';
import { finishAlerting, isLeftToOthers, type EndedRun } from './alerts/at-end.ts';
import { isForPerson } from './clock-text.ts';
import type { HeldLeases } from './leases.ts';
import type { MerchantEnd, MerchantEnds } from './merchant-ends.ts';
import { nothingDoneFor } from './merchant-work.ts';
import { outcomeOfAll, sumOpenItems } from './outcomes.ts';
import { withExplainedFailure } from './stages/sync-stage.ts';
import { EXIT, Interrupted, exitCodeOf, isGoodEnd, awaitsPerson, type Reason } from './verdict/exit-codes.ts';
import { judge, type RunFailure } from './verdict/judge.ts';
import {
  type MerchantOutcome,
  runFigures,
  TIME_ZONE_ON_TRUST,
  type BusyMerchant,
  type RunReport,
  type StageOutcome,
  type OpenItems,
} from './report.ts';
import { NOTHING_STANDS } from './open-items.ts';
import { sumOfSync } from './stages/sync-tally.ts';
import { isNightlyRun, type ActiveRun, type RunDeps } from './active-run.ts';

/** How a run came to its end. */
export interface RunEnd {
  /** What ended the run early; empty if nothing did. */
  readonly failures: readonly RunFailure[];
  /** The errors that caused this; empty if the error is thrown to the caller anyway. */
  readonly causes: readonly unknown[];
  /** Since the run began. */
  readonly elapsedMs: () => number;
}

/** The merchants of a run at its end. */
export interface RunMerchants {
  readonly held: HeldLeases;
  /** Merchants that were begun, by number. */
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
  const judged = judge(outcome, standing, judging);
  const report = reportOf(run, { ...end, outcome }, standing, judged);
  const interrupted = causes.some((cause) => cause instanceof Interrupted);
  const ended = endedRun(run, report, interrupted);
  const figures = {
    ...runFigures(report),
    interrupted,
    ...(awaitsPerson(report.exitCode, report.reasons) && { awaitsPerson: true }),
    ...(isLeftToOthers(ended) && { leftToOthers: true }),
  };
  const finish = async (db: RunDeps['db']): Promise<boolean> => {
    await finishRun(db, runId, { exitCode: report.exitCode, figures, now: deps.now() });
    return true;
  };
  if (deps.alerts !== undefined) {
    await finishAlerting(deps, ended, { finish, isAway });
  } else await (isAway ? finish(deps.db).catch(() => undefined) : finish(deps.db));
  await markReported(run, standing, ends);
  return report;
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

/** What alerts need to know of the end. */
function endedRun(
  { request, runId, from, to }: ActiveRun,
  report: RunReport,
  interrupted: boolean,
): EndedRun {
  const { command, exitCode, reasons, busy } = report;
  return {
    ...{ runId, command, exitCode, reasons, from, to, interrupted },
    isNightly: isNightlyRun(request),
    // Elsewhere a busy merchant is no reason to end badly.
    busy: busy.filter((one) => !isGoodEnd(one.exitCode)).length,
    leftOut: busy.length,
  };
}

/** The outcomes of all merchants, in the order in which they were asked for. */
async function outcomeAfter(
  { request, deps }: ActiveRun,
  { held, outcomes }: RunMerchants,
  isAway: boolean,
): Promise<StageOutcome> {
  const inOrder = [...outcomes.values()].sort((a, b) => (a.merchantNo < b.merchantNo ? -1 : 1));
  const exitCode =
    request.isByName === true ? EXIT.leaseHeld : request.scheduled ? EXIT.incomplete : EXIT.done;
  const busy = [...held.busy].map(([merchantNo, { message }]): BusyMerchant => ({
    merchantNo,
    exitCode,
    message,
  }));
  const outcome = outcomeOfAll(inOrder, busy);
  if (isAway || !isChecked('shared', deps.checks)) return outcome;
  return { ...outcome, sync: await withExplainedFailure(outcome.sync, deps.db) };
}

function reportOf(
  { request, deps, runId, from, to, checked }: ActiveRun,
  { outcome, elapsedMs }: RunEnd & { readonly outcome: StageOutcome },
  standing: OpenItems,
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
      for (const { merchantNo } of request.merchants) {
        if (ends.has(merchantNo)) continue;
        const outcome = outcomes.get(merchantNo) ?? nothingDoneFor(merchantNo);
        ends.add({ outcome, lease: held.leaseOf(merchantNo) });
      }
    }
    const ended = await ends.finish(failures);
    const merchants = ended.map(({ outcome }) => outcome.merchantNo);
    const standing = sumOpenItems(ended.map((end) => end.standing));
    // A notice about two merchants stands for both of them, and is reported once.
    return { standing: { ...standing, notices: await unreportedNotices(deps.db, merchants) }, ends: ended };
  } catch (error) {
    if (failures.length > 0) return { standing: NOTHING_STANDS, ends: [] };
    throw error;
  }
}
