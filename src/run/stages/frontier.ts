/**
 * Decides how far into today a nightly run reads. Today's first entries have to start from yesterday's closing. So if
 * yesterday's last entry is missing, this shows the same night, as soon as another entry follows it.
 */
import { dayOf, dayWindow } from '../../ledger/business-day.ts';
import { isChecked } from '../../ledger/checks.ts';
import type { Window } from '../../ledger/entry.ts';
import { PAGE_SIZE_MAX } from '../../platform/wire.ts';
import { planWindows } from '../../sync/windows-of-days.ts';
import type { RunDeps, RunRequest } from '../active-run.ts';

/** Today is read at least this far, if that much has passed. At night this is all of today so far. */
const FRONTIER_MIN_MS = 2 * 3_600_000;
/**
 * Today is read up to the settle delay and this long before the present, and no further. If the platform's clock is
 * behind ours by more than this, the reading has to start again.
 */
const CLOCK_BEHIND_MS = 10 * 60_000;
const DAY_MS = 86_400_000;

/**
 * The windows of today that a run without dates reads as well. They cover two hours, or longer if, at the rate of the
 * busiest recent day, one page covers more time than that. So this costs one call, unless two hours hold more than a
 * page. None if the check is off or if dates were asked for, as then only those days are read.
 */
export function frontierWindows(
  { range }: Pick<RunRequest, 'range'>,
  deps: Pick<RunDeps, 'zone' | 'now' | 'settleDelayMs' | 'checks'>,
  busiestDay: number,
): Window[] {
  if (range !== null || !isChecked('frontier', deps.checks)) return [];
  const { zone } = deps;
  const nowMs = deps.now().getTime();
  const today = dayOf(nowMs, zone);
  const { beginMs } = dayWindow(today, zone);
  const settledMs = frontierEndMs(nowMs, deps);
  const isShort = settledMs - beginMs <= FRONTIER_MIN_MS;
  const lengthMs = isShort ? FRONTIER_MIN_MS : lengthOfAPage(busiestDay);
  const latestMs = Math.min(settledMs, beginMs + Math.max(FRONTIER_MIN_MS, lengthMs) - 1);
  return planWindows({ fromDay: today, toDay: today, zone, latestMs });
}

/** The instant up to which today may be read. In the first minutes of a day it lies before the day's beginning. */
export const frontierEndMs = (nowMs: number, { settleDelayMs }: Pick<RunDeps, 'settleDelayMs'>): number =>
  nowMs - settleDelayMs - CLOCK_BEHIND_MS;

/** The time that a page covers on the busiest of the last days. */
const lengthOfAPage = (busiestDay: number): number => (DAY_MS * PAGE_SIZE_MAX) / Math.max(busiestDay, 1);
