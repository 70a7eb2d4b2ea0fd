/**
 * Rounds of seven nights through the entries of older days, in windows of at most a page of stored entries. As each
 * window is a span of time, it does not matter in which order the platform sends entries.
 */
import type { BusinessDay, LedgerEntry, Window } from '../ledger/entry.ts';
import { lengthMs, mergeWindows, subtractWindows, covers } from '../ledger/window.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import { lineOf } from '../store/entries.ts';
import { differingDays, storedIn, type OlderDaysRound } from '../store/historical-days.ts';
import type { Kysely } from 'kysely';
import { addDays, dayOf, dayWindow } from '../ledger/business-day.ts';
import type { DB } from '../store/engine/schema.ts';
import { isRefusal } from './page-source.ts';

/** A round is meant to take so many nights. */
export const ROUND_NIGHTS = 7;
/** Most windows of a night where the platform does not answer wide ones, so that only rounds compare all days. */
const LIMITED_WINDOWS_MAX = 40;
/** Entries of a window: somewhat less than a page, as entries next to it may come where clocks are off. */
const ENTRIES_MAX = 95;
const DAY_MS = 86_400_000;
/** A night may begin somewhat earlier than the one before. */
const EARLY_MS = DAY_MS / 4;

export const nightsSince = (since: Date, now: Date): number =>
  Math.floor((now.getTime() - since.getTime() + EARLY_MS) / DAY_MS);

export const windowsLeft = ({ read, of, throughMs }: OlderDaysRound, windows: readonly Window[]): boolean =>
  read < of && windows.some(({ endMs }) => endMs > throughMs);

/**
 * The round to go on with. A new one tries windows twice as long as the last one, in case the platform had trouble for
 * some nights only.
 */
export function beginRound(
  last: OlderDaysRound | null,
  about: { readonly entries: number; readonly windows: readonly Window[]; readonly now: Date },
): OlderDaysRound {
  const { entries, windows, now } = about;
  const begun = { read: 0, of: entries, beganAt: now, throughMs: 0 };
  if (last === null) return { ...begun, widestMs: null, order: 'oldest first', refused: null };
  if (windowsLeft(last, windows) || nightsSince(last.beganAt, now) < ROUND_NIGHTS) return last;
  const [first, end] = [windows[0], windows.at(-1)];
  const widestMs = last.widestMs === null ? null : 2 * last.widestMs;
  const isWide =
    widestMs !== null &&
    first !== undefined &&
    widestMs >= end!.endMs - first.beginMs + ROUND_NIGHTS * DAY_MS;
  const order = last.order === 'mixed' ? 'oldest first' : last.order;
  return { ...begun, widestMs: isWide ? null : widestMs, order, refused: last.refused };
}

export function withRefused(
  round: OlderDaysRound,
  window: Window,
  refused: readonly Window[],
  now: Date,
): OlderDaysRound {
  const before = round.refused === null ? [] : subtractWindows([round.refused], [window]);
  const [first, ...others] = mergeWindows([...before, ...refused]);
  if (first === undefined) return { ...round, refused: null };
  const left = { beginMs: first.beginMs, endMs: (others.at(-1) ?? first).endMs };
  const { refused: last } = round;
  const since = last !== null && left.beginMs <= last.endMs && left.endMs >= last.beginMs ? last.since : now;
  return { ...round, refused: { ...left, since } };
}

interface RoundStage {
  readonly entries: EntriesSource;
  readonly windows: readonly Window[];
  readonly isLimited: boolean;
  /** Most windows of a night otherwise; two where a round takes seven nights then. */
  readonly windowsMax: number;
  readonly compared: number;
  readonly now: Date;
}

/** Asks once for what an earlier night was refused, if it fits on a page. So it no longer counts once the platform shows it. */
export async function compareRefused(round: OlderDaysRound, entries: EntriesSource, now: Date) {
  const { refused } = round;
  const nothing = { round, days: [], hasMore: false };
  if (refused === null) return nothing;
  const { db, merchantNo } = entries;
  if ((await storedIn(db, merchantNo, refused, ENTRIES_MAX + 1)).length > ENTRIES_MAX) return nothing;
  const { days, hasMore, refused: again } = await compareEntries(entries, refused, refused);
  return { round: withRefused(round, refused, again, now), days, hasMore };
}

export async function compareRound(from: OlderDaysRound, stage: RoundStage) {
  const { entries, windows, isLimited, now } = stage;
  const isShort = from.of <= 2 * ROUND_NIGHTS * ENTRIES_MAX;
  const most = isLimited ? LIMITED_WINDOWS_MAX : Math.max(isShort ? 2 : 1, stage.windowsMax);
  const days = new Set<BusinessDay>();
  let round = from;
  let hasMore = false;
  for (let count = stage.compared; count < most && isBehind(round, stage) && !hasMore; count += 1) {
    const next = await nextWindow(entries, round, windows);
    if (next === null) break;
    const { window, stored } = next;
    if ((stored > 0 && stored <= ENTRIES_MAX) || isLimited) {
      if (entries.callsLeft() < 1) break;
      const compared = await compareEntries(entries, window, round.refused);
      for (const day of compared.days) days.add(day);
      hasMore = compared.hasMore;
      const widestMs = compared.widestMs ?? round.widestMs;
      round = withRefused({ ...round, widestMs }, window, compared.refused, now);
    }
    round = { ...round, read: Math.min(round.of, round.read + stored), throughMs: window.endMs };
  }
  return { round, days: [...days], hasMore };
}

/**
 * The page of all older and recent days that shows the round's next entries, where pages are spans of time. `entries` is how
 * many all these days have.
 */
export function nextPageNum({ read, order }: OlderDaysRound, entries: number): number {
  if (order === 'mixed') return 1;
  const before = order === 'oldest first' ? read : Math.max(0, entries - read - 1);
  return Math.floor(before / PAGE_SIZE_MAX) + 1;
}

/** Most entries read in the time span of a page: those on it, and those that it should show as well. */
const NEAR_MAX = 3 * PAGE_SIZE_MAX;

/**
 * Compares a page of all older and recent days: the round goes on to the last instant of which the page shows all that is
 * stored. It stays where it is if the page leaves a gap, or is no span of time. Named are the days of entries that differ.
 */
export async function comparePage(
  { db, merchantNo }: EntriesSource,
  round: OlderDaysRound,
  windows: readonly Window[],
  { entries, unreadable }: LedgerPage,
): Promise<{ readonly round: OlderDaysRound; readonly days: readonly BusinessDay[] }> {
  const order = orderOf(entries, round.order);
  if (order !== round.order || unreadable.length > 0) return { round: { ...round, order }, days: [] };
  if (entries.length === 0) return { round, days: [] };
  const times = entries.map(({ bookedMs }) => bookedMs);
  const window = {
    beginMs: Math.max(round.throughMs + 1, windows[0]?.beginMs ?? 0),
    endMs: Math.max(...times),
  };
  const beginMs = Math.min(window.beginMs, ...times);
  const near = await storedIn(db, merchantNo, { beginMs, endMs: window.endMs }, NEAR_MAX);
  // Only entries that are not stored as they came have to be searched for.
  const lines = new Map(near.map(({ batchNo, line }) => [batchNo, line]));
  const unlike = entries.filter((entry) => lines.get(entry.batchNo) !== lineOf(entry));
  const days =
    unlike.length === 0 ? [] : await differingDays(db, { merchantNo, entries: unlike, unreadable: [] });
  if (days.length > 0) return { round, days };
  const shown = new Set(entries.map(({ batchNo }) => batchNo));
  const stored =
    near.length < NEAR_MAX
      ? near.filter(({ bookedMs }) => bookedMs >= window.beginMs)
      : await storedIn(db, merchantNo, window, 2 * PAGE_SIZE_MAX);
  const lacking = stored.find(({ batchNo }) => !shown.has(batchNo));
  const throughMs = (lacking?.bookedMs ?? window.endMs + 1) - 1;
  const compared = stored.filter(({ bookedMs }) => bookedMs <= throughMs).length;
  if (compared === 0) return { round, days };
  return { round: { ...round, throughMs, read: Math.min(round.of, round.read + compared) }, days };
}

function orderOf(entries: readonly LedgerEntry[], last: OlderDaysRound['order']): OlderDaysRound['order'] {
  const steps = entries.slice(1).map(({ bookedMs }, at) => Math.sign(bookedMs - entries[at]!.bookedMs));
  if (steps.includes(1)) return steps.includes(-1) ? 'mixed' : 'oldest first';
  return steps.includes(-1) ? 'newest first' : last;
}

function isBehind(round: OlderDaysRound, { windows, isLimited, now }: RoundStage): boolean {
  const share = Math.min(1, (nightsSince(round.beganAt, now) + 1) / ROUND_NIGHTS);
  if (!isLimited || round.read < round.of * share) return round.read < round.of * share;
  if (share === 1) return true;
  const [all, left] = [windows, subtractWindows(windows, [{ beginMs: 0, endMs: round.throughMs }])].map(
    (some) => some.reduce((sum, one) => sum + lengthMs(one), 0),
  ) as [number, number];
  return all - left < all * share;
}

async function nextWindow(
  { db, merchantNo }: EntriesSource,
  { throughMs, widestMs }: OlderDaysRound,
  windows: readonly Window[],
): Promise<{ readonly window: Window; readonly stored: number } | null> {
  const range = windows.find(({ endMs }) => endMs > throughMs);
  if (range === undefined) return null;
  const beginMs = Math.max(range.beginMs, throughMs + 1);
  const endMs = widestMs === null ? range.endMs : Math.min(range.endMs, beginMs + widestMs - 1);
  const rows = await storedIn(db, merchantNo, { beginMs, endMs }, ENTRIES_MAX + 1);
  const beyond = rows[ENTRIES_MAX];
  if (beyond === undefined) return { window: { beginMs, endMs }, stored: rows.length };
  const before = rows.filter(({ bookedMs }) => bookedMs < beyond.bookedMs);
  // One second that has more entries than a page is compared by its total only.
  if (before.length === 0) return { window: { beginMs, endMs: beyond.bookedMs + 999 }, stored: rows.length };
  return { window: { beginMs, endMs: beyond.bookedMs - 1 }, stored: before.length };
}

/**
 * Compares the entries of a window with what is stored, one by one. A window that is refused, cut short or answered with
 * something else is halved, down to days. So a limit on the length of a window costs a few calls, and hides nothing.
 */
export interface EntriesSource {
  readonly db: Kysely<DB>;
  readonly merchantNo: string;
  readonly zone: string;
  readonly page: (window: Window) => Promise<LedgerPage>;
  readonly callsLeft: () => number;
}

interface ComparedEntries {
  readonly total: number | null;
  readonly days: readonly BusinessDay[];
  readonly refused: readonly Window[];
  /** The longest window that was answered in full although a longer one around it was not; null if none was cut. */
  readonly widestMs: number | null;
  readonly hasMore: boolean;
}

/** What the platform refused to show before (`refusedBefore`) is asked for without halving it. */
export async function compareEntries(
  source: EntriesSource,
  window: Window,
  refusedBefore: Window | null,
): Promise<ComparedEntries> {
  const { zone } = source;
  const days = new Set<BusinessDay>();
  const refused: Window[] = [];
  const waiting = [{ window, isPart: false }];
  let widestMs: number | null = null;
  let total: number | null | undefined;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const shown = await differingIn(source, next.window);
    if (total === undefined) total = shown?.total ?? null;
    const differing = shown?.days ?? null;
    if (differing?.length === 0) {
      if (next.isPart) widestMs = Math.max(widestMs ?? 0, lengthMs(next.window));
      continue;
    }
    const isRefusedAgain =
      differing === null && refusedBefore !== null && covers([refusedBefore], next.window);
    if (isRefusedAgain || dayOf(next.window.beginMs, zone) === dayOf(next.window.endMs, zone)) {
      if (differing === null) refused.push(next.window);
      for (const day of differing ?? []) days.add(day);
      continue;
    }
    if (source.callsLeft() < waiting.length + 2)
      return { total, days: [...days, ...(differing ?? [])].sort(), refused, widestMs, hasMore: true };
    waiting.unshift(...halvesOf(next.window, zone).map((half) => ({ window: half, isPart: true })));
  }
  // Where a day differs, the windows around it differ because of it.
  const widest = days.size > 0 ? null : widestMs;
  return { total: total ?? null, days: [...days].sort(), refused, widestMs: widest, hasMore: false };
}

async function differingIn(
  source: EntriesSource,
  window: Window,
): Promise<{ readonly total: number; readonly days: readonly BusinessDay[] } | null> {
  const { db, merchantNo, zone } = source;
  const stored = await storedIn(db, merchantNo, window);
  const page = await source.page(window).catch((error: unknown) => {
    if (isRefusal(error)) return null;
    throw error;
  });
  if (page === null) return null;
  const differing = await differingDays(db, { merchantNo, ...page });
  const records = [...page.entries, ...page.unreadable];
  const shown = new Set(records.map(({ batchNo }) => batchNo));
  const lacking = stored.filter(({ batchNo }) => !shown.has(batchNo));
  const days = [...differing, ...lacking.map(({ bookedMs }) => dayOf(bookedMs, zone))];
  if (days.length === 0 && page.total !== records.length) days.push(dayOf(window.beginMs, zone));
  return { total: page.total, days: [...new Set(days)] };
}

function halvesOf({ beginMs, endMs }: Window, zone: string): Window[] {
  const middle = dayOf((beginMs + endMs) / 2, zone);
  const begin = dayWindow(middle, zone).beginMs;
  const cutMs = begin > beginMs ? begin : dayWindow(addDays(middle, 1), zone).beginMs;
  return [
    { beginMs, endMs: cutMs - 1 },
    { beginMs: cutMs, endMs },
  ];
}
