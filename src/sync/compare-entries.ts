/**
 * Compares the entries of a window with what is stored, one by one. A window that is refused, cut short or answered with
 * something else is halved, down to days. So a limit on the length of a window costs a few calls, and hides nothing.
 */
import type { Kysely } from 'kysely';
import { addDays, dayOf, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { covers, lengthMs } from '../ledger/window.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';
import type { DB } from '../store/engine/schema.ts';
import { differingDays, storedIn } from '../store/historical-days.ts';
import { isRefusal } from './certify.ts';

export interface EntriesSource {
  readonly db: Kysely<DB>;
  readonly merchantNo: string;
  readonly zone: string;
  readonly page: (window: Window) => Promise<LedgerPage>;
  readonly callsLeft: () => number;
}

export interface ComparedEntries {
  /** What the platform said is the total of the entire window; null if it refused. */
  readonly total: number | null;
  /** Days on which an entry differs from the stored one, is missing or was not known; in order. */
  readonly days: readonly BusinessDay[];
  /** Windows of at most a day that the platform refuses. */
  readonly refused: readonly Window[];
  /** The longest window that was answered in full although a longer one around it was not; null if none was cut. */
  readonly widestMs: number | null;
  /** Calls ran out before all was compared. */
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

/** The days on which the window's entries differ from what is stored; null if the platform refuses to show them. */
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
  const differing = await differingDays(db, merchantNo, page.entries, page.unreadable);
  const records = [...page.entries, ...page.unreadable];
  const shown = new Set(records.map(({ batchNo }) => batchNo));
  const lacking = stored.filter(({ batchNo }) => !shown.has(batchNo));
  const days = [...differing, ...lacking.map(({ bookedMs }) => dayOf(bookedMs, zone))];
  if (days.length === 0 && page.total !== records.length) days.push(dayOf(window.beginMs, zone));
  return { total: page.total, days: [...new Set(days)] };
}

/** A window of several days, cut where a day begins. */
function halvesOf({ beginMs, endMs }: Window, zone: string): Window[] {
  const middle = dayOf((beginMs + endMs) / 2, zone);
  const begin = dayWindow(middle, zone).beginMs;
  const cutMs = begin > beginMs ? begin : dayWindow(addDays(middle, 1), zone).beginMs;
  return [
    { beginMs, endMs: cutMs - 1 },
    { beginMs: cutMs, endMs },
  ];
}
