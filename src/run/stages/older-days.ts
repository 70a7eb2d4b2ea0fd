/** The nightly look at a merchant's days before those read: what differs of them is read anew in the same run. */
import { isChecked } from '../../ledger/checks.ts';
import { addDays } from '../../ledger/business-day.ts';
import type { BusinessDay, Window } from '../../ledger/entry.ts';
import type { MerchantAccess } from '../../platform/ledger-reader.ts';
import { lengthMs, mergeWindows, subtractWindows } from '../../ledger/window.ts';
import {
  countStored,
  keepOlderDaysComparison,
  olderDaysComparison,
  uncountableSpans,
  type Days,
} from '../../store/older-days.ts';
import { certifiedWindows } from '../../store/windows.ts';
import { lookAtOlderDays, windowOf, type LookNotMade, type OlderDaysLook } from '../../sync/older-days.ts';
import type { SyncReport } from '../../sync/sync.ts';
import { daysTouched, wholeDays } from '../coverage.ts';
import { addSyncReports } from './sync-tally.ts';
import type { RunDeps, RunRequest, ActiveRun } from '../active-run.ts';

/** What a look came to, for the report. */
export type OlderDaysReport =
  | {
      readonly kind: 'looked';
      readonly look: OlderDaysLook;
      /** Of the days read anew; null where none was. */
      readonly again: SyncReport | null;
    }
  | ({ readonly kind: 'not made' } & LookNotMade);

/** Share of a night's calls that may go to pages of older days. */
const CALLS_SHARE = 0.01;

/** Whether a run looks at older days: a nightly one of every currency, unless it is switched off. */
export const looksAtOlderDays = ({ range, currencies }: RunRequest, { checks }: RunDeps): boolean =>
  range === null && currencies === null && isChecked('wide', checks);

export interface OlderDaysTask {
  readonly run: ActiveRun;
  readonly merchant: MerchantAccess;
  /** What the night read, and in how many calls. */
  readonly windows: readonly Window[];
  readonly requests: number;
  /** How far timestamps may lie from the times the platform filters by. */
  readonly slackMs: number;
  readonly signal: AbortSignal;
  /** Reads days anew, whole and under certificate, and stores them. */
  readonly readAnew: (days: readonly BusinessDay[]) => Promise<SyncReport>;
}

/** Null where there are no older days under certificate. Throws what `syncMerchant` throws. */
export async function olderDaysOf(task: OlderDaysTask): Promise<OlderDaysReport | null> {
  const { run, merchant, windows, signal } = task;
  const { deps, lease } = run;
  const days = await olderDays(run, merchant.merchantNo, windows);
  if (days === null) return null;
  const before = await olderDaysComparison(deps.db, merchant.merchantNo);
  const look = await lookAtOlderDays({
    ...deps,
    merchant,
    days,
    slackMs: task.slackMs,
    round: before?.round ?? null,
    pagesMax: Math.max(1, Math.floor(CALLS_SHARE * task.requests)),
    now: deps.now(),
    signal,
  });
  if ('notMade' in look) return { kind: 'not made', ...look };
  const again = look.differing.length === 0 ? null : await task.readAnew(look.differing);
  const { from, to, total, stored, round } = look;
  const window = windowOf(days, deps.zone);
  const storedNow = again === null ? stored : await countStored(deps.db, merchant.merchantNo, window);
  const comparison = { from, to, total, isHeld: total === storedNow, lookedAt: deps.now(), round };
  await keepOlderDaysComparison(deps.db, lease, merchant.merchantNo, comparison);
  return { kind: 'looked', look, again };
}

/**
 * The longest stretch of whole days before the night's first that is under certificate and holds nothing a total cannot
 * be held against: one window a stretch would be too many calls.
 */
async function olderDays(
  { deps, ranges }: ActiveRun,
  merchantNo: string,
  windows: readonly Window[],
): Promise<Days | null> {
  const { db, zone } = deps;
  const endMs = windowOf(ranges.get(merchantNo)!, zone).beginMs - 1;
  const before = { beginMs: 0, endMs };
  const certified = subtractWindows(await certifiedWindows(db, merchantNo, before), windows);
  const outer = mergeWindows(certified);
  if (outer.length === 0) return null;
  const uncountable = await uncountableSpans(db, merchantNo, { beginMs: outer[0]!.beginMs, endMs });
  const left = subtractWindows(
    outer,
    uncountable.map((span) => windowOf(daysTouched(span, zone), zone)),
  );
  const longest = left
    .flatMap((window) => wholeDays(window, zone) ?? [])
    .map((days) => ({ days, ms: lengthMs(windowOf(days, zone)) }))
    .sort((a, b) => b.ms - a.ms)[0];
  return longest?.days ?? null;
}

/** Days in order, those that follow each other as one. */
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

/** A night's report with what the look at older days cost and brought. */
export function withOlderDays(night: SyncReport, olderDays: OlderDaysReport): SyncReport {
  const looked = olderDays.kind === 'looked' ? olderDays.look : olderDays;
  const again = olderDays.kind === 'looked' ? olderDays.again : null;
  const both = again === null ? night : addSyncReports(night, again);
  return { ...both, requests: both.requests + looked.requests };
}
