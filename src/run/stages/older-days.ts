/**
 * Compares a merchant's older days (before those a night reads) with the platform. Days that differ are read again in
 * the same run.
 */
import { isChecked } from '../../ledger/checks.ts';
import { addDays } from '../../ledger/business-day.ts';
import type { BusinessDay, Window } from '../../ledger/entry.ts';
import { lengthMs, mergeWindows, subtractWindows } from '../../ledger/window.ts';
import {
  countStored,
  uncountableSpans,
  type Days,
  type OlderDaysComparison,
} from '../../store/older-days.ts';
import { lookAtOlderDays, windowOf } from '../../sync/older-days.ts';
import type { SyncReport } from '../../sync/sync.ts';
import { daysTouched, wholeDays } from '../coverage.ts';
import type { OlderDaysReport } from '../report.ts';
import { addSyncReports } from './sync-tally.ts';
import type { MerchantWork, RunDeps, RunRequest } from '../active-run.ts';

/** Share of a night's calls that may be used for pages of older days. */
const CALLS_SHARE = 0.01;

/** Whether a run compares older days: a nightly run of every currency does, unless the check is switched off. */
export const looksAtOlderDays = ({ range, currencies }: RunRequest, { checks }: RunDeps): boolean =>
  range === null && currencies === null && isChecked('wide', checks);

export interface OlderDaysTask {
  readonly work: MerchantWork;
  /** What the night read, and with how many calls. */
  readonly windows: readonly Window[];
  readonly requests: number;
  /** How far timestamps may differ from the times that the platform filters by. */
  readonly slackMs: number;
  /** Reads these days again as whole days with certificates, and stores them. */
  readonly readAnew: (days: readonly BusinessDay[]) => Promise<SyncReport>;
  /** Called with how far the comparison has come. It is recorded with the merchant's end. */
  readonly onCompared: (comparison: OlderDaysComparison) => void;
}

/**
 * Compares the merchant's older days with the platform, and reads again those that differ. Null if
 * there are no older days under certificate that can be compared. Throws what `syncMerchant` throws.
 */
export async function olderDaysOf(task: OlderDaysTask): Promise<OlderDaysReport | null> {
  const { work, windows } = task;
  const { deps, merchant, merchantNo } = work;
  const days = await olderDays(work, windows);
  if (days === null) return null;
  const before = work.known.olderDays;
  const look = await lookAtOlderDays({
    ...deps,
    merchant,
    days,
    slackMs: task.slackMs,
    round: before?.round ?? null,
    pagesMax: Math.max(1, Math.floor(CALLS_SHARE * task.requests)),
    now: deps.now(),
  });
  if ('notMade' in look) return { kind: 'not made', ...look };
  const again = look.differing.length === 0 ? null : await task.readAnew(look.differing);
  const { from, to, total, stored, round } = look;
  const window = windowOf(days, deps.zone);
  const storedNow = again === null ? stored : await countStored(deps.db, merchantNo, window);
  task.onCompared({ from, to, total, isHeld: total === storedNow, lookedAt: deps.now(), round });
  return { kind: 'looked', look, again };
}

/**
 * The longest range of whole certified days, before those a night reads, whose total can be compared with what is
 * stored. Only one range is compared, as each takes a call.
 */
async function olderDays(
  { deps, days, merchantNo, known }: MerchantWork,
  windows: readonly Window[],
): Promise<Days | null> {
  const { db, zone } = deps;
  const endMs = windowOf(days, zone).beginMs - 1;
  const certified = subtractWindows(days.certifiedBefore, windows);
  const outer = mergeWindows(certified);
  if (outer.length === 0) return null;
  const span = { beginMs: outer[0]!.beginMs, endMs };
  // Days that were taken up may have brought some in this run.
  const mayHaveSome = known.hasUnreadable || days.takenUp.length > 0;
  const uncountable = mayHaveSome ? await uncountableSpans(db, merchantNo, span) : [];
  const left = subtractWindows(
    outer,
    uncountable.map((one) => windowOf(daysTouched(one, zone), zone)),
  );
  const longest = left
    .flatMap((window) => wholeDays(window, zone) ?? [])
    .map((days) => ({ days, ms: lengthMs(windowOf(days, zone)) }))
    .sort((a, b) => b.ms - a.ms)[0];
  return longest?.days ?? null;
}

/** The days, which are in order, as ranges: days that follow each other become one. */
export function stretchesOf(days: readonly BusinessDay[]): Days[] {
  const stretches: Days[] = [];
  for (const day of days) {
    const last = stretches.at(-1);
    if (last !== undefined && addDays(last.to, 1) === day) {
      stretches[stretches.length - 1] = { from: last.from, to: day };
    } else stretches.push({ from: day, to: day });
  }
  return stretches;
}

/** Adds the calls of the comparison, and what reading days again brought, to the night's report. */
export function withOlderDays(night: SyncReport, olderDays: OlderDaysReport): SyncReport {
  const looked = olderDays.kind === 'looked' ? olderDays.look : olderDays;
  const again = olderDays.kind === 'looked' ? olderDays.again : null;
  const both = again === null ? night : addSyncReports(night, again);
  return { ...both, requests: both.requests + looked.requests };
}
