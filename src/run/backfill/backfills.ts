/** Backfills: ranges of days that are read slice by slice, in addition to the nightly work. A long `run` is one, too. */
import type { Kysely, Transaction } from 'kysely';
import { addDays, dayOf, daysFromTo, dayWindow } from '../../ledger/business-day.ts';
import type { BusinessDay, Window } from '../../ledger/entry.ts';
import type { DB } from '../../store/engine/schema.ts';
import { finishOpenRun, startRun } from '../../store/runs.ts';
import type { RunDeps, RunRequest } from '../active-run.ts';
import type { DayRange } from '../range.ts';
import { EXIT, UsageError, type ExitCode } from '../verdict/exit-codes.ts';
import {
  cancelParts,
  failingMerchants,
  listBackfills,
  recentSlices,
  recordBackfill,
  sameBackfill,
  sliceTotals,
  type BackfillProgress,
  type FailingMerchant,
  type OpenPart,
  type RecentSlices,
} from './tasks.ts';

export const BACKFILL_COMMAND = 'backfill';
/** Days of a slice: long enough that its first calls weigh little, short enough that a killed process loses little. */
const SLICE_DAYS = 31;
/** A `run` over more days is done in slices, as a backfill is. */
export const LONG_RUN_DAYS = 92;
const FAILURES_SHOWN = 10;

/**
 * Records a backfill of these days for these merchants, and the run under which its slices write. Returns its number.
 * Throws `UsageError` if its last day is not over, or if an open backfill has the same days of one of the merchants.
 */
export async function beginBackfill(
  { from, to, merchants }: DayRange & { readonly merchants: readonly string[] },
  { db, now, holder, zone }: Pick<RunDeps, 'db' | 'now' | 'holder' | 'zone'>,
): Promise<number> {
  const at = now();
  const yesterday = addDays(dayOf(at.getTime(), zone), -1);
  if (to > yesterday)
    throw new UsageError(`--to ${to} is not over yet; the last day a backfill can have is ${yesterday}.`);
  const same = await sameBackfill(db, { from, to, merchants });
  if (same !== undefined) {
    throw new UsageError(
      `backfill ${same.id} has these days of ${same.merchantNo} already; \`daybook backfill list\` shows how far it is.`,
    );
  }
  return db.transaction().execute(async (trx) => {
    const run = { command: BACKFILL_COMMAND, holder, fromDay: from, toDay: to, now: at };
    return recordBackfill(trx, { from, to, merchants, runId: await startRun(trx, run), now: at });
  });
}

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
  { db, now, zone }: Pick<RunDeps, 'db' | 'zone'> & { readonly now: Date },
  runId: number,
): Promise<DayRange | null> {
  const { from, to } = request.range;
  if (!isLong(request)) return request.range;
  const today = dayOf(now.getTime(), zone);
  const yesterday = addDays(today, -1);
  const merchants = request.merchants.map(({ merchantNo }) => merchantNo);
  await recordBackfill(db, { from, to: to < yesterday ? to : yesterday, merchants, runId, now });
  return to > yesterday ? { from: today, to } : null;
}

/** Cancels an open backfill, and ends its run with 4. False if no open backfill has the number. */
export async function cancelBackfill(trx: Transaction<DB>, id: number, now: Date): Promise<boolean> {
  const runId = await cancelParts(trx, id, now);
  if (runId === null) return false;
  const { needPerson, ...totals } = await sliceTotals(trx, runId);
  const figures = { ...totals, notes: ['it was cancelled; what was read stays'], interrupted: true };
  await finishOpenRun(trx, runId, { exitCode: EXIT.incomplete, figures, now });
  return true;
}

export interface BackfillStatus extends BackfillProgress {
  /** How long the days left take at the pace of the last slices, in ms; null while it is not known. */
  readonly leftMs: number | null;
  readonly failures: readonly FailingMerchant[];
}

/** Backfills, the newest first, as `listBackfills` chooses them. */
export async function backfillStatuses(
  db: Kysely<DB>,
  which: Parameters<typeof listBackfills>[1] = {},
): Promise<BackfillStatus[]> {
  const all = await listBackfills(db, which);
  return Promise.all(
    all.map(async (one) => ({
      ...one,
      leftMs: leftMs(one.daysLeft, await recentSlices(db, one.id)),
      failures: one.failing === 0 ? [] : await failingMerchants(db, one.id, FAILURES_SHOWN),
    })),
  );
}

/**
 * The exit code of open backfills: 4 once a slice has failed, or where days are left that `run` was asked for; else 0,
 * however much is left.
 */
export const backfillsExitCode = (
  backfills: readonly Pick<BackfillStatus, 'failing' | 'isRun' | 'daysLeft'>[],
): ExitCode =>
  backfills.some(({ failing, isRun, daysLeft }) => failing > 0 || (isRun && daysLeft > 0))
    ? EXIT.incomplete
    : EXIT.done;

/**
 * How long the days that are left take at the pace of the slices done last, in ms; null if that is not known yet. Pauses
 * between these slices count, so workers side by side and nights in between are in it.
 */
function leftMs(daysLeft: number, { days, beganAt, doneAt }: RecentSlices): number | null {
  if (daysLeft === 0) return 0;
  if (beganAt === null || doneAt === null || days === 0) return null;
  const tookMs = doneAt.getTime() - beganAt.getTime();
  return tookMs <= 0 ? null : Math.round((tookMs * daysLeft) / days);
}

/**
 * The slice that begins with `from`. The oldest is done first: each day opens on the closing of the day before it. With the
 * newest first, each older slice would move the openings of all later days, and revise what is published of them.
 */
export function sliceFrom(from: BusinessDay, last: BusinessDay): DayRange {
  const to = addDays(from, SLICE_DAYS - 1);
  return { from, to: to < last ? to : last };
}

export function slicesOf({ from, to }: DayRange): DayRange[] {
  const slices: DayRange[] = [];
  for (let begin = from; begin <= to; begin = addDays(slices.at(-1)!.to, 1))
    slices.push(sliceFrom(begin, to));
  return slices;
}

/**
 * What a night takes for certified, given what is and the open backfills of the merchant. Nights take a short gap
 * between certificates for days that downtime left unread. A gap that an open backfill is at counts as certified here:
 * the slice that may be half read, and the days from there to the next certificate. A merchant of whom only backfills
 * have read anything has no certificate here. Pure.
 */
export function withoutBackfills(
  certified: readonly Window[],
  open: readonly Pick<OpenPart, 'nextDay' | 'toDay'>[],
  zone: string,
): readonly Window[] {
  if (open.length === 0) return certified;
  const covered: Window[] = [];
  let isReadBeyond = false;
  for (const { nextDay, toDay } of open) {
    const { beginMs } = dayWindow(nextDay, zone);
    const sliceEndMs = dayWindow(sliceFrom(nextDay, toDay).to, zone).endMs;
    const beyond = certified.filter(({ endMs }) => endMs > sliceEndMs);
    if (beyond.length === 0) continue;
    isReadBeyond = true;
    const nextMs = Math.max(sliceEndMs, Math.min(...beyond.map((window) => window.beginMs)) - 1);
    covered.push({ beginMs, endMs: Math.min(nextMs, dayWindow(toDay, zone).endMs) });
  }
  return isReadBeyond ? [...certified, ...covered] : [];
}
