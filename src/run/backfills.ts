/** Backfills: requests for days that are read slice by slice, in addition to the nightly work. What is left of a long `run` is one, too. */
import { addDays, dayOf, daysFromTo, dayWindow } from '../ledger/business-day.ts';
import type { Window } from '../ledger/entry.ts';
import { subtractWindows } from '../ledger/window.ts';
import type { Db } from '../store/engine/database.ts';
import {
  backfillParts,
  closeRequests,
  openRequests,
  recordRequests,
  type RequestRow,
} from '../store/requests.ts';
import { backfillPace } from '../store/runs.ts';
import { withMissing, type Clock, type OpenRange } from './coverage.ts';
import type { DayRange } from './range.ts';
import { sliceFrom } from './slices.ts';
import { EXIT, UsageError, type ExitCode } from './verdict/exit-codes.ts';

export const BACKFILL_COMMAND = 'backfill';
const FAILURES_SHOWN = 10;

/**
 * Records a backfill of these days for these merchants. Returns its number. Throws `UsageError` if its last day is not over, or if
 * an open backfill has the same days of one of the merchants.
 */
export async function beginBackfill(
  { from, to, merchants }: DayRange & { readonly merchants: readonly string[] },
  { db, now, zone }: Readonly<{ db: Db; now: () => Date; zone: string }>,
): Promise<number> {
  const yesterday = addDays(dayOf(now().getTime(), zone), -1);
  if (to > yesterday)
    throw new UsageError(`--to ${to} is not over yet; the last day a backfill can have is ${yesterday}.`);
  const open = await openRequests(db, 'backfill', merchants);
  const same = open.find((one) => one.from === from && one.to === to);
  if (same !== undefined) {
    throw new UsageError(
      `backfill ${same.id} has these days of ${same.merchantNo} already; \`daybook backfill list\` shows how far it is.`,
    );
  }
  return recordRequests(db, { askedBy: 'backfill', merchants, from, to, runId: null, now: now() });
}

/** Gives up what is left of an open backfill. False if no open backfill has the number. */
export const cancelBackfill = async (db: Db, id: number, now: Date): Promise<boolean> =>
  (await closeRequests(db, [id], { askedBy: 'backfill', state: 'cancelled', now })) > 0;

export interface FailingMerchant extends Pick<RequestRow, 'merchantNo' | 'attempts'> {
  /** The first day that is left. */
  readonly nextDay: string;
  readonly problem: string;
  readonly tryAt: Date;
}

export interface BackfillStatus extends DayRange {
  readonly id: number;
  /** Whether a `run` asked for it. */
  readonly isRun: boolean;
  readonly requestedAt: Date;
  /** Null while it is open. */
  readonly endedAt: Date | null;
  readonly isCancelled: boolean;
  readonly merchants: number;
  readonly merchantsLeft: number;
  /** Days of all merchants; none is left once it has ended. */
  readonly daysDone: number;
  readonly daysLeft: number;
  readonly failing: number;
  /** The most severe end of its merchants; null while it is open. */
  readonly exitCode: ExitCode | null;
  /** How long the days left take at the pace of the last slices, in ms; null while it is not known. */
  readonly leftMs: number | null;
  readonly failures: readonly FailingMerchant[];
}

/** Backfills, the newest first. `isOpen`: only those of which something is left. */
export async function backfillStatuses(
  db: Db,
  clock: Clock,
  { isOpen = false, id }: { readonly isOpen?: boolean; readonly id?: number } = {},
): Promise<BackfillStatus[]> {
  const parts = isOpen ? await openRequests(db, 'backfill', null) : await backfillParts(db, id);
  const asked = id === undefined ? parts : parts.filter((part) => part.id === id);
  if (asked.length === 0) return [];
  const missing = new Map(
    (
      await withMissing(
        db,
        asked.filter(({ state }) => state !== 'ended'),
        clock,
      )
    ).map((one) => [partName(one), one]),
  );
  const pace = asked.every(({ state }) => state !== 'waiting') ? null : await backfillPace(db);
  const groups = [...Map.groupBy(asked, (part) => part.id)].sort(([a], [b]) => b - a);
  return groups.map(([, own]) => statusOfParts(own, missing, pace));
}

const partName = ({ id, merchantNo }: Pick<RequestRow, 'id' | 'merchantNo'>): string => `${id} ${merchantNo}`;

function statusOfParts(
  parts: readonly RequestRow[],
  missing: ReadonlyMap<string, OpenRange>,
  pace: Awaited<ReturnType<typeof backfillPace>>,
): BackfillStatus {
  const [first] = parts as [RequestRow];
  const open = parts.filter(({ state }) => state === 'waiting');
  const daysLeftOf = (part: RequestRow): number =>
    (missing.get(partName(part))?.missingDays ?? []).reduce((sum, days) => sum + countDays(days), 0);
  const daysLeft = open.reduce((sum, part) => sum + daysLeftOf(part), 0);
  const failing = open.filter(({ attempts }) => attempts > 0);
  const times = parts.map(({ finishedAt }) => finishedAt?.getTime() ?? 0);
  return {
    ...{ id: first.id, from: first.from, to: first.to, isRun: first.runId !== null },
    requestedAt: first.requestedAt,
    endedAt: open.length > 0 ? null : new Date(Math.max(...times)),
    isCancelled: parts.some(({ state }) => state === 'cancelled'),
    ...{ merchants: parts.length, merchantsLeft: open.length },
    daysDone: parts.reduce((sum, part) => sum + countDays(part) - daysLeftOf(part), 0),
    daysLeft,
    failing: failing.length,
    exitCode: open.length > 0 ? null : worst(parts),
    leftMs: leftMs(daysLeft, pace),
    failures: failing.slice(0, FAILURES_SHOWN).map((part) => ({
      ...{ merchantNo: part.merchantNo, attempts: part.attempts, problem: part.problem ?? '' },
      nextDay: missing.get(partName(part))?.missingDays[0]?.from ?? part.from,
      tryAt: part.tryAt ?? part.requestedAt,
    })),
  };
}

const worst = (parts: readonly RequestRow[]): ExitCode =>
  Math.max(...parts.map(({ exitCode }) => exitCode ?? EXIT.done)) as ExitCode;

const countDays = ({ from, to }: DayRange): number => daysFromTo(from, to).length;

const leftMs = (daysLeft: number, pace: { readonly days: number; readonly tookMs: number } | null) =>
  daysLeft === 0 ? 0 : pace === null ? null : Math.round((pace.tookMs * daysLeft) / pace.days);

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
 * What a night takes for certified, given what is and the open backfills of the merchant. Nights take a short gap
 * between certificates for days that downtime left unread. A gap that an open backfill is at counts as certified here:
 * the next slice, and the days from there to the next certificate. A merchant of whom only backfills
 * have read anything has no certificate here. Pure.
 */
export function withoutBackfills(
  certified: readonly Window[],
  open: readonly DayRange[],
  zone: string,
): readonly Window[] {
  if (open.length === 0) return certified;
  const covered: Window[] = [];
  let isReadBeyond = false;
  for (const { from, to } of open) {
    const { endMs } = dayWindow(to, zone);
    const [missing] = subtractWindows([{ beginMs: dayWindow(from, zone).beginMs, endMs }], certified);
    if (missing === undefined) {
      isReadBeyond = true;
      continue;
    }
    const sliceEndMs = dayWindow(sliceFrom(dayOf(missing.beginMs, zone), to).to, zone).endMs;
    const beyond = certified.filter((window) => window.endMs > sliceEndMs);
    if (beyond.length === 0) continue;
    isReadBeyond = true;
    const nextMs = Math.max(sliceEndMs, Math.min(...beyond.map((window) => window.beginMs)) - 1);
    covered.push({ beginMs: missing.beginMs, endMs: Math.min(nextMs, endMs) });
  }
  return isReadBeyond ? [...certified, ...covered] : [];
}
