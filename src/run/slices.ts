/** Slices: a long run and a backfill are done a month at a time, so that a process that is killed loses little. */
import { addDays, dayOf, daysFromTo } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { addSyncReports } from '../sync/sync-report.ts';
import type { MerchantWork, RunRequest } from './active-run.ts';
import { knownAhead } from './known-ahead.ts';
import { recordPublished } from './merchant-ends.ts';
import { nothingDoneFor, workOnMerchant, type MerchantWorkOptions } from './merchant-work.ts';
import type { DayRange } from './range.ts';
import { outcomeOfAll, type MerchantOutcome, type MerchantSync } from './report.ts';

/** Days of a slice: long enough that its first calls weigh little, short enough that a killed process loses little. */
const SLICE_DAYS = 31;
/** A `run` over more days is done in slices, and what is left of it is done as a backfill is. */
export const LONG_RUN_DAYS = 92;

/** Whether a run is done in slices: a complete `run` over so many days. */
export const isLong = ({ command, range, currencies }: RunRequest): boolean =>
  command === 'run' &&
  currencies === null &&
  range !== null &&
  daysFromTo(range.from, range.to).length > LONG_RUN_DAYS;

/**
 * The slice that begins with `from`. The oldest is done first: each day opens on the closing of the day before it. With the
 * newest first, each older slice would move the openings of all later days, and revise what is published of them.
 */
export function sliceFrom(from: BusinessDay, last: BusinessDay): DayRange {
  const to = addDays(from, SLICE_DAYS - 1);
  return { from, to: to < last ? to : last };
}

function slicesOf({ from, to }: DayRange): DayRange[] {
  const slices: DayRange[] = [];
  for (let begin = from; begin <= to; begin = addDays(slices.at(-1)!.to, 1))
    slices.push(sliceFrom(begin, to));
  return slices;
}

/**
 * Does a long run for one merchant, slice by slice. After a slice that failed the later ones are left out: what they lack stays
 * requested. Throws as `workOnMerchant`, and returns what it does; a slice puts nothing off.
 */
export async function workInSlices(
  work: MerchantWork,
  outcome: MerchantOutcome,
  options: MerchantWorkOptions,
): Promise<boolean> {
  const { request, deps, merchantNo, days } = work;
  for (const slice of slicesOf(days)) {
    const own = nothingDoneFor(merchantNo);
    const today = dayOf(deps.now().getTime(), deps.zone);
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
  }
  return false;
}

/** Does a slice of a backfill. What was published, or could not be, of days outside it is no part of it: the nights tell of that. */
export async function workOnSlice(
  work: MerchantWork,
  outcome: MerchantOutcome,
  options: MerchantWorkOptions,
): Promise<boolean> {
  const isPutOff = await workOnMerchant(work, outcome, options);
  if (outcome.publish === null) return isPutOff;
  const { from, to } = work.days;
  const isOwn = ({ day }: { readonly day: BusinessDay }): boolean => from <= day && day <= to;
  const { withheld, unlinked, leftOut = [] } = outcome.publish;
  const own = {
    withheld: withheld.filter(isOwn),
    unlinked: unlinked.filter(isOwn),
    leftOut: leftOut.filter(isOwn),
  };
  outcome.publish = { ...outcome.publish, ...own };
  return isPutOff;
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
