/** Slices: the days of a backfill that are worked on at once, from reading to published, and when one is done. */
import { dayOf, dayWindow } from '../../ledger/business-day.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import { covers } from '../../ledger/window.ts';
import type { Lease } from '../../store/engine/lease.ts';
import { writeTransaction } from '../../store/engine/write-transaction.ts';
import { certifiedWindows } from '../../store/certificates.ts';
import type { ActiveRun, MerchantWork } from '../active-run.ts';
import { discrepanciesOf } from '../proven.ts';
import { knownAhead } from '../known-ahead.ts';
import { recordPublished } from '../merchant-ends.ts';
import { NOTHING_STANDS, outcomeOfAll, type MerchantOutcome, type MerchantSync } from '../report.ts';
import { nothingDoneFor, workOnMerchant, type MerchantWorkOptions } from '../merchant-work.ts';
import type { DayRange } from '../range.ts';
import { addSyncReports } from '../../sync/sync-report.ts';
import { exitCodeOfDiscrepancy, reasonOfDiscrepancy } from '../verdict/finding-reasons.ts';
import { isGoodEnd, type ExitCode } from '../verdict/exit-codes.ts';
import { judge } from '../verdict/judge.ts';
import { slicesOf } from './backfills.ts';
import { openPart, storeSlice, type OpenPart } from './tasks.ts';

/** A slice that was worked on and is not done. Its message says why. */
class SliceUndone extends Error {
  override readonly name = 'SliceUndone';
}

type SliceOfRun = Pick<ActiveRun, 'deps' | 'runId' | 'from' | 'to'>;

/** Stores the slice if it is done. Returns its exit code. Throws `SliceUndone` if it is not. */
export async function storeIfDone(
  run: SliceOfRun,
  outcome: MerchantOutcome,
  { part, lease, startedAt }: Readonly<{ part: OpenPart; lease: Lease; startedAt: Date }>,
): Promise<ExitCode> {
  const { deps, from, to } = run;
  const exitCode = await exitCodeOfSlice(run, outcome);
  const slice = { from, to, exitCode, holder: deps.holder, startedAt, finishedAt: deps.now() };
  await writeTransaction(deps.db, lease, (trx) => storeSlice(trx, { ...part, nextDay: from }, slice));
  return exitCode;
}

/**
 * The exit code of the slice `from` to `to` of a merchant: 0, or 3 if something in it needs a person. Throws `SliceUndone`
 * if it is not done: each of its days has to be under certificate, and published where it can be.
 */
async function exitCodeOfSlice(
  { deps, runId, from, to }: SliceOfRun,
  outcome: MerchantOutcome,
): Promise<ExitCode> {
  const { db, zone } = deps;
  const own = outcomeOfAll([ofSlice(outcome, { from, to })]);
  // What else is open of this merchant is reported by the next night.
  const { exitCode, reasons } = judge(own, NOTHING_STANDS, { id: runId, failures: [], zone });
  if (!isGoodEnd(exitCode)) throw new SliceUndone(reasons[0]!.what);
  if (outcome.sync?.notJoined !== undefined) throw new SliceUndone(outcome.sync.notJoined.problem);
  const span = { beginMs: dayWindow(from, zone).beginMs, endMs: dayWindow(to, zone).endMs };
  if (!covers(await certifiedWindows(db, outcome.merchantNo, span), span))
    throw new SliceUndone(`${outcome.merchantNo}: not all of ${from} to ${to} could be read yet`);
  await assertLaw(outcome, { from, to }, deps);
  return exitCode;
}

/** Each proven day of a slice has figures and a statement, or the slice says why not. Throws `SliceUndone`. */
async function assertLaw(
  { merchantNo, publish }: MerchantOutcome,
  { from, to }: DayRange,
  { db, zone }: Pick<ActiveRun['deps'], 'db' | 'zone'>,
): Promise<void> {
  const said = new Set(publish?.withheld.map(({ account, day }) => `${account.currency} ${day}`));
  for (const one of await discrepanciesOf(db, [merchantNo], zone)) {
    // What waits for a person or for other days is reported at the backfill's end.
    if (isGoodEnd(exitCodeOfDiscrepancy(one))) continue;
    const days = one.days.filter((day) => from <= day && day <= to && !said.has(`${one.currency} ${day}`));
    if (days.length > 0) throw new SliceUndone(reasonOfDiscrepancy({ ...one, days }).what);
  }
}

/** The outcome without what was published, or could not be, of days outside the slice: they are no part of it. */
function ofSlice(outcome: MerchantOutcome, { from, to }: DayRange): MerchantOutcome {
  const { publish } = outcome;
  if (publish === null) return outcome;
  const isOwn = ({ day }: { readonly day: BusinessDay }): boolean => from <= day && day <= to;
  const { leftOut = [], ...rest } = publish;
  const own = {
    withheld: publish.withheld.filter(isOwn),
    unlinked: publish.unlinked.filter(isOwn),
    leftOut: leftOut.filter(isOwn),
  };
  return { ...outcome, publish: { ...rest, ...own } };
}

/**
 * Does a long run for one merchant, slice by slice, as a backfill is done. After a slice that failed the later ones are left
 * out: the backfill goes on from there. Throws as `workOnMerchant`, and returns what it does; a slice puts nothing off.
 */
export async function workInSlices(
  work: MerchantWork,
  outcome: MerchantOutcome,
  options: MerchantWorkOptions,
): Promise<boolean> {
  const { request, deps, runId, merchantNo, days } = work;
  const part = await openPart(deps.db, { runId, merchantNo });
  if (part === undefined) return workOnMerchant(work, outcome, options);
  for (const slice of slicesOf(days)) {
    const startedAt = deps.now();
    const own = nothingDoneFor(merchantNo);
    const today = dayOf(startedAt.getTime(), deps.zone);
    // The slices before have added to what is known of the merchant.
    const known = slice.from === days.from ? work.known : await knownAhead(deps.db, merchantNo, today);
    const ownRequest = { ...request, range: slice };
    const ownWork = { ...work, ...slice, request: ownRequest, days: { ...days, ...slice }, known };
    try {
      await workOnMerchant(ownWork, own, { ...options, comparing: 'at-once' });
      await recordPublished(deps.db, work.lease, own);
    } finally {
      addSlice(outcome, own);
    }
    const failure = own.sync?.report.failure ?? options.storeTrouble.error ?? own.trouble;
    if (failure !== null) return false;
    // Its last day may be one that is not over: that one is not in the backfill.
    const to = slice.to < part.toDay ? slice.to : part.toDay;
    if (slice.from > to) continue;
    await storeIfDone({ ...ownWork, to }, own, { part, lease: work.lease, startedAt }).catch(
      (error: unknown) => {
        if (!(error instanceof SliceUndone)) throw error;
      },
    );
  }
  return false;
}

function addSlice(outcome: MerchantOutcome, own: MerchantOutcome): void {
  const { reconcile, publish, healingReads } = outcomeOfAll([outcome, own]);
  const accounts = Math.max(outcome.reconcile?.accounts ?? 0, own.reconcile?.accounts ?? 0);
  outcome.sync = own.sync === null ? outcome.sync : joined(outcome.sync, own.sync);
  outcome.reconcile = reconcile === null ? null : { ...reconcile, accounts };
  outcome.publish = publish;
  outcome.healingReads = healingReads;
  outcome.trouble = own.trouble;
}

function joined(before: MerchantSync | null, own: MerchantSync): MerchantSync {
  if (before === null) return own;
  const unsettled = [...(before.unsettled ?? []), ...(own.unsettled ?? [])];
  return {
    ...own,
    from: before.from,
    report: addSyncReports(before.report, own.report),
    ...(unsettled.length > 0 && { unsettled }),
  };
}
