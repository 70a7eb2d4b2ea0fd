/** A long `run` over dates: recorded as a backfill, so that what it leaves is not lost, and done in the same slices. */
import type { Kysely } from 'kysely';
import { addDays, dayOf, daysFromTo } from '../../ledger/business-day.ts';
import { openPart, recordBackfill, storeSlice, type OpenPart } from '../../store/backfills.ts';
import type { DB } from '../../store/engine/schema.ts';
import { writeTransaction } from '../../store/engine/write-transaction.ts';
import type { MerchantWork, RunRequest } from '../active-run.ts';
import { knownAhead, type KnownAhead } from '../known-ahead.ts';
import { recordPublished } from '../merchant-ends.ts';
import { nothingDoneFor, workOnMerchant, type MerchantWorkOptions } from '../merchant-work.ts';
import { outcomeOfAll } from '../outcomes.ts';
import type { DayRange } from '../range.ts';
import type { MerchantOutcome, MerchantSync } from '../report.ts';
import { addSyncReports } from '../../sync/sync-report.ts';
import { exitCodeOfSlice, SliceUndone } from './slice-verdict.ts';
import { LONG_RUN_DAYS, slicesOf } from './slices.ts';

/** Whether a run is recorded as a backfill: a complete `run` of all currencies over so many days. */
export const isLong = ({ command, range, currencies }: RunRequest): boolean =>
  command === 'run' &&
  currencies === null &&
  range !== null &&
  daysFromTo(range.from, range.to).length > LONG_RUN_DAYS;

/**
 * Records a long run as a backfill, up to yesterday. Returns the days that are still to be recorded as requested: all of a
 * run that is not long, those that are not over of one that is; null if there are none.
 */
export async function recordLongRun(
  request: RunRequest & { readonly range: DayRange },
  {
    db,
    runId,
    now,
    zone,
  }: { readonly db: Kysely<DB>; readonly runId: number; readonly now: Date; readonly zone: string },
): Promise<DayRange | null> {
  const { range } = request;
  if (!isLong(request)) return range;
  const today = dayOf(now.getTime(), zone);
  const yesterday = addDays(today, -1);
  const to = range.to < yesterday ? range.to : yesterday;
  const merchants = request.merchants.map(({ merchantNo }) => merchantNo);
  await recordBackfill(db, { from: range.from, to, merchants, runId, now });
  return range.to > to ? { from: today, to: range.to } : null;
}

/**
 * Does the stages for one merchant, for a long run slice by slice. Slices that are done are stored, as those of a backfill
 * are. After a slice that failed the later ones are left out: the backfill goes on from there. Throws as `workOnMerchant`,
 * and returns what it does; a slice puts nothing off.
 */
export async function workInSlices(
  work: MerchantWork,
  outcome: MerchantOutcome,
  options: MerchantWorkOptions,
): Promise<boolean> {
  const { request, deps, runId, merchantNo, days } = work;
  const part = isLong(request) ? await openPart(deps.db, { runId, merchantNo }) : undefined;
  if (part === undefined) return workOnMerchant(work, outcome, options);
  for (const slice of slicesOf(days)) {
    const startedAt = deps.now();
    const own = nothingDoneFor(merchantNo);
    const ownWork = {
      ...{ ...work, ...slice, request: { ...request, range: slice }, days: { ...days, ...slice } },
      known: slice.from === days.from ? work.known : await knownNow(work),
    };
    try {
      await workOnMerchant(ownWork, own, { ...options, comparing: 'at-once' });
      await recordPublished(deps.db, work.lease, own);
    } finally {
      addSlice(outcome, own);
    }
    if (
      own.trouble !== null ||
      options.storeTrouble.error !== null ||
      (own.sync?.report.failure ?? null) !== null
    )
      return false;
    await store(ownWork, part, own, startedAt);
  }
  return false;
}

/** What is known of the merchant once the slices before have added to it. */
async function knownNow({ deps, merchantNo }: MerchantWork): Promise<KnownAhead> {
  const today = dayOf(deps.now().getTime(), deps.zone);
  return (await knownAhead(deps.db, [merchantNo], today)).get(merchantNo)!;
}

/** Stores the slice if it is done. Its last day may be one that is not over: that one is not in the backfill. */
async function store(
  work: MerchantWork,
  part: OpenPart,
  own: MerchantOutcome,
  startedAt: Date,
): Promise<void> {
  const { deps, lease, from } = work;
  const to = work.to < part.toDay ? work.to : part.toDay;
  if (from > to) return;
  try {
    const exitCode = await exitCodeOfSlice({ ...work, to }, own);
    const slice = { from, to, exitCode, holder: deps.holder, startedAt, finishedAt: deps.now() };
    await writeTransaction(deps.db, lease, (trx) => storeSlice(trx, { ...part, nextDay: from }, slice));
  } catch (error) {
    if (!(error instanceof SliceUndone)) throw error;
  }
}

/** Adds what was done in a slice to the outcome of the slices before it. */
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
