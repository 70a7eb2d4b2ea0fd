/**
 * Compares stored days with the platform once they are read: the total of all of them in each run, and their entries one
 * by one in rounds of seven nights. Where pages are spans of time, the page that shows the total is the round's next one;
 * otherwise windows of at most a page are asked for.
 *
 * Nothing is written here. A day that differs is only named; then it is read again completely, under a certificate. A window
 * that the platform refuses or cuts short is halved until it is answered, and later windows are no longer than that.
 */
import type { Kysely } from 'kysely';
import { addDays, dayOf, dayWindow, daysFromTo } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { lengthMs } from '../ledger/window.ts';
import { isPlatformError } from '../platform/errors.ts';
import type { LedgerPage, LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import { countByFigures, countStored, type Days, type OlderDaysRound } from '../store/historical-days.ts';
import type { DB } from '../store/engine/schema.ts';
import { isRound } from './caps.ts';
import { isRefusal } from './page-source.ts';
import {
  compareEntries,
  beginRound,
  comparePage,
  compareRefused,
  compareRound,
  nextPageNum,
  windowsLeft,
  withRefused,
} from './historical-round.ts';

/** Most calls of one comparison to find the days that differ. */
export const FOLLOW_CALLS_MAX = 40;
/** Most days that one comparison names; the next night finds the others. */
export const DIFFERING_DAYS_MAX = 14;

const DAY_MS = 86_400_000;

export interface HistoricalCheckOptions {
  readonly reader: LedgerReader;
  readonly db: Kysely<DB>;
  readonly merchant: MerchantAccess;
  readonly zone: string;
  /**
   * Ranges of days under certificate from before this run, the one whose total is compared first. None holds anything that
   * the store cannot count.
   */
  readonly older: readonly Days[];
  /** Days that this run has read and proven, right after the first of these ranges; null if there are none. */
  readonly recent: Days | null;
  readonly clockSkewMs: number;
  readonly round: OlderDaysRound | null;
  /** Most windows of a night whose entries are compared, while the platform answers wide ones. */
  readonly windowsMax: number;
  /** Further ranges of days under certificate, each to be compared by its own total. If left out, none. */
  readonly alsoCompared?: readonly Days[];
  readonly now: Date;
  readonly signal: AbortSignal;
}

export interface TotalDiffers extends Days {
  readonly total: number;
  readonly stored: number;
}

export interface HistoricalCheck extends Days {
  readonly total: number;
  readonly stored: number;
  /** Of the first of the older ranges alone; 0 if there are none. */
  readonly storedOlder: number;
  readonly differing: readonly BusinessDay[];
  readonly alsoDiffering: readonly TotalDiffers[];
  readonly hasMore: boolean;
  /** The total of a range differs, but the totals of its parts do not: it says nothing about any day. */
  readonly isContradicted: boolean;
  /** Two of the windows asked for, apart from each other, have the same round total, and more is stored of both; null if none have. */
  readonly cap: number | null;
  /** The platform refused or cut short a window, and answers shorter ones. */
  readonly isLimitNew: boolean;
  /** A round is not over after seven nights, and no total of all days is known. */
  readonly isOverdue: boolean;
  readonly round: OlderDaysRound;
  readonly requests: number;
}

/** A comparison that was not made. `notMade` says why, as the end of a sentence. */
export interface CheckNotMade {
  readonly notMade: string;
  readonly requests: number;
}

/** Throws what the database throws, and the reason of the signal. A platform that fails ends in `notMade`. */
export async function checkHistoricalDays(
  options: HistoricalCheckOptions,
): Promise<HistoricalCheck | CheckNotMade> {
  const source = sourceOf(options);
  try {
    return await compare(options, source);
  } catch (error) {
    if (!isPlatformError(error)) throw error;
    return { notMade: error.message, requests: source.calls() };
  }
}

async function compare(options: HistoricalCheckOptions, source: Source): Promise<HistoricalCheck> {
  const { zone, older, recent, now } = options;
  const complete = { from: (older[0] ?? recent)!.from, to: (recent ?? older[0])!.to };
  const olderWindows = older.map((days) => windowOf(days, zone)).sort((a, b) => a.beginMs - b.beginMs);
  const storedOlder = older[0] === undefined ? 0 : await countOlder(options, older[0]);
  const others = await Promise.all(older.slice(1).map((days) => countOlder(options, days)));
  const entriesOlder = others.reduce((sum, one) => sum + one, storedOlder);
  const begun = beginRound(options.round, { entries: entriesOlder, windows: olderWindows, now });
  const again = await compareRefused(begun, source, now);
  const before = again.round;
  const asked = lastDays(complete, before.widestMs, zone);

  // Where no other days lie between, the pages of all days are those of the round as well.
  const isPaged = older.length === 1 && before.widestMs === null && windowsLeft(before, olderWindows);
  const main = await compareMain(options, source, { asked, storedOlder, paged: isPaged ? before : null });
  const also = await compareOthers(source, options, {
    followed: main.isHeld ? null : asked,
    widestMs: before.widestMs,
  });
  const widest = narrower(before.widestMs, main.widestMs);
  let round = withRefused({ ...before, widestMs: widest }, windowOf(asked, zone), main.refused, now);
  const isAllCompared = main.areEntriesCompared && asked.from === complete.from && older.length < 2;
  if (isAllCompared)
    round = { ...round, read: round.of, beganAt: now, throughMs: olderWindows.at(-1)?.endMs ?? 0 };
  const paged =
    main.page === null ? { round, days: [] } : await comparePage(source, round, olderWindows, main.page);
  const compared = isAllCompared
    ? { round, days: [], hasMore: false }
    : await compareRound(paged.round, {
        ...{ entries: source, windows: olderWindows, isLimited: widest !== null, now },
        ...{ windowsMax: options.windowsMax, compared: paged.round.throughMs > round.throughMs ? 1 : 0 },
      });
  const inOlder = (day: BusinessDay) =>
    [...older, ...(options.alsoCompared ?? []), complete].some(({ from, to }) => day >= from && day <= to);
  const named = [
    ...new Set([...again.days, ...main.days, ...also.found.days, ...paged.days, ...compared.days]),
  ]
    .filter(inOlder)
    .sort();
  const hasMore =
    [again, main, also.found, compared].some((one) => one.hasMore) || named.length > DIFFERING_DAYS_MAX;
  return {
    ...asked,
    total: main.total ?? main.stored,
    ...{ stored: main.stored, storedOlder },
    differing: named.slice(0, DIFFERING_DAYS_MAX),
    alsoDiffering: also.differing,
    hasMore,
    isContradicted: main.isContradicted || (also.isFollowed && isNothing(also.found)),
    cap: source.cap(),
    isLimitNew: compared.round.widestMs !== null && compared.round.widestMs !== before.widestMs,
    isOverdue: widest !== null && windowsLeft(compared.round, olderWindows) && isLate(compared.round, now),
    // If more days differ than are read again now, the next night begins with the same windows.
    round: hasMore ? { ...compared.round, read: before.read, throughMs: before.throughMs } : compared.round,
    requests: source.calls(),
  };
}

const isLate = ({ beganAt }: OlderDaysRound, now: Date): boolean =>
  now.getTime() - beganAt.getTime() >= 8 * DAY_MS;

/** Compares the total of the days, or their entries if these fit on a page. `paged`: the round whose next page shows the total. */
async function compareMain(
  { zone, older, recent, round }: HistoricalCheckOptions,
  source: Source,
  {
    asked,
    storedOlder,
    paged,
  }: { readonly asked: Days; readonly storedOlder: number; readonly paged: OlderDaysRound | null },
) {
  const isComplete = asked.from === (older[0] ?? recent)!.from;
  const stored = isComplete
    ? storedOlder + (recent === null ? 0 : await source.stored(recent))
    : await source.stored(asked);
  if (stored <= PAGE_SIZE_MAX) {
    const window = windowOf(asked, zone);
    const { total, ...compared } = await compareEntries(source, window, round?.refused ?? null);
    const isHeld = total === stored;
    const isContradicted = compared.widestMs !== null;
    return { ...compared, total, stored, isHeld, page: null, areEntriesCompared: true, isContradicted };
  }
  const holds = async (said: number | null) =>
    said !== null && (said === stored || (await source.isStored(asked, said)));
  const pageNum = paged === null ? 1 : nextPageNum(paged, stored);
  const page = await source.pageOf(asked, pageNum);
  const isPageRight = await holds(page?.total ?? null);
  const total = isPageRight || pageNum === 1 ? (page?.total ?? null) : await source.total(asked);
  const isHeld = isPageRight || (pageNum > 1 && (await holds(total)));
  const found = isHeld ? NOTHING_FOUND : await followDown(source, [asked], DIFFERING_DAYS_MAX);
  return {
    total: isHeld ? stored : total,
    stored,
    isHeld,
    page: isPageRight && paged !== null && paged.order !== 'mixed' ? page : null,
    areEntriesCompared: false,
    days: found.days,
    refused: found.refused.map((day) => dayWindow(day, zone)),
    widestMs: found.days.length > 0 || found.widest === 0 ? null : found.widest * DAY_MS,
    isContradicted: !isHeld && total !== null && isNothing(found),
    hasMore: found.hasMore,
  };
}

const NOTHING_FOUND: Found = { days: [], refused: [], widest: 0, hasMore: false };

/**
 * Compares the further ranges by their totals, a call each. What lies in days that are followed already is left to those,
 * and what is longer than the platform answers to the rounds.
 */
async function compareOthers(
  source: Source,
  { alsoCompared = [], zone }: HistoricalCheckOptions,
  { followed, widestMs }: { readonly followed: Days | null; readonly widestMs: number | null },
) {
  const differing: TotalDiffers[] = [];
  const toFollow: Days[] = [];
  for (const days of alsoCompared) {
    if (widestMs !== null && lengthMs(windowOf(days, zone)) > widestMs) continue;
    const total = await source.total(days);
    if (total !== null && (await source.isStored(days, total))) continue;
    if (total !== null) differing.push({ ...days, total, stored: await source.stored(days) });
    if (followed === null || days.from < followed.from || days.to > followed.to) toFollow.push(days);
  }
  const found = await followDown(source, toFollow, DIFFERING_DAYS_MAX);
  return { differing, found, isFollowed: toFollow.length > 0 };
}

const narrower = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other);

function lastDays({ from, to }: Days, widestMs: number | null, zone: string): Days {
  if (widestMs === null) return { from, to };
  const first = addDays(to, 1 - Math.max(1, Math.floor(widestMs / DAY_MS)));
  return { from: first < from ? from : dayOf(dayWindow(first, zone).beginMs, zone), to };
}

const countOlder = ({ db, merchant, zone }: HistoricalCheckOptions, days: Days): Promise<number> =>
  countByFigures(db, merchant.merchantNo, days, windowOf(days, zone));

export const windowOf = ({ from, to }: Days, zone: string): Window => ({
  beginMs: dayWindow(from, zone).beginMs,
  endMs: dayWindow(to, zone).endMs,
});

/** What the platform says of days, and what is stored of them. It counts the calls. */
function sourceOf(options: HistoricalCheckOptions) {
  const { reader, db, merchant, zone, clockSkewMs, signal, alsoCompared = [] } = options;
  const { merchantNo } = merchant;
  let calls = 0;
  const lesser: Omit<TotalDiffers, 'stored'>[] = [];
  const ask = ({ beginMs, endMs }: Window, slackMs: number, pageNum: number): Promise<LedgerPage> => {
    signal.throwIfAborted();
    calls += 1;
    const window = { beginMs: beginMs - slackMs, endMs: endMs + slackMs };
    return reader.page({ merchant, window, pageNum }, signal);
  };
  /** Narrower by the slack, so that every entry that comes is booked on these days. Null if the platform refuses. */
  const pageOf = async (days: Days, pageNum: number): Promise<LedgerPage | null> => {
    try {
      return await ask(windowOf(days, zone), -clockSkewMs, pageNum);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return null;
    }
  };
  const stored = (days: Days): Promise<number> => countStored(db, merchantNo, windowOf(days, zone));
  return {
    ...{ db, merchantNo, zone, pageOf, stored },
    calls: (): number => calls,
    callsLeft: (): number => 1 + alsoCompared.length + FOLLOW_CALLS_MAX - calls,
    /** Wider by the slack, so that every entry stored in the window comes. */
    page: (window: Window): Promise<LedgerPage> => ask(window, clockSkewMs, 1),
    cap: (): number | null =>
      lesser.find((one) =>
        lesser.some(({ from, to, total }) => total === one.total && (from > one.to || to < one.from)),
      )?.total ?? null,
    total: async (days: Days): Promise<number | null> => (await pageOf(days, 1))?.total ?? null,
    /** Whether so many entries are stored. Entries near the edges, within the slack, may be counted or not. */
    isStored: async (days: Days, total: number): Promise<boolean> => {
      const most = await stored(days);
      if (total < most && isRound(total)) lesser.push({ ...days, total });
      if (clockSkewMs === 0 || total >= most) return total === most;
      const complete = windowOf(days, zone);
      const inner = { beginMs: complete.beginMs + 2 * clockSkewMs, endMs: complete.endMs - 2 * clockSkewMs };
      return total >= (await countStored(db, merchantNo, inner));
    },
  };
}

type Source = ReturnType<typeof sourceOf>;

interface Found {
  readonly days: readonly BusinessDay[];
  readonly refused: readonly BusinessDay[];
  /** The longest part of these ranges, in days, whose total agrees; 0 if none does. */
  readonly widest: number;
  readonly hasMore: boolean;
}

const isNothing = ({ days, refused, hasMore }: Found): boolean =>
  days.length + refused.length === 0 && !hasMore;

/**
 * The single days whose totals differ, found by halving ranges whose total differs; up to `daysMax` of them, and as far as
 * calls are left.
 */
async function followDown(source: Source, ranges: readonly Days[], daysMax: number): Promise<Found> {
  const found: BusinessDay[] = [];
  const refused: BusinessDay[] = [];
  let widest = 0;
  const differing: (Days & { readonly isRefused?: boolean })[] = [...ranges];
  for (let days = differing.shift(); days !== undefined; days = differing.shift()) {
    if (days.from === days.to) {
      (days.isRefused === true ? refused : found).push(days.from);
      continue;
    }
    const halves = halvesOf(days);
    if (found.length >= daysMax || source.callsLeft() < halves.length) {
      return { days: found, refused, widest, hasMore: true };
    }
    for (const half of halves) {
      const total = await source.total(half);
      if (total !== null && (await source.isStored(half, total)))
        widest = Math.max(widest, daysFromTo(half.from, half.to).length);
      else differing.push({ ...half, isRefused: total === null });
    }
    // The oldest first: each is halved down to single days before the next one.
    differing.sort((a, b) => (a.from < b.from ? -1 : 1));
  }
  return { days: found, refused, widest, hasMore: false };
}

function halvesOf({ from, to }: Days): Days[] {
  const days = daysFromTo(from, to);
  const middle = Math.floor(days.length / 2);
  return [
    { from, to: days[middle - 1]! },
    { from: days[middle]!, to },
  ];
}
