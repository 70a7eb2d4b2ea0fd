/**
 * Reads the newest window before all others, so that the newest entry proves the zone before a row is written. On a
 * day on which the platform's clock changes, an older entry would prove the offset of yesterday. Other windows are
 * read at the same time.
 *
 * No page is read twice for this: the reading of windows gets the page that was read here, once.
 */
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import type { LedgerPage, LedgerPageQuery, LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { pagesOf, type Asked } from './certificate.ts';
import { isFilled, isRefusal } from './certify.ts';
import { placeOf, type PlatformClock } from './clocks.ts';
import { READ_LIMITS } from './limits.ts';
import type { WideWindow } from './wide-windows.ts';
import { PlatformBehind } from './sync-report.ts';

/** Most windows that are read, one after the other, until one has entries. */
const WINDOWS_MAX = 8;

export interface NewestPage {
  /** For the reading of windows. A page that `newest` has read is returned once instead of read again. */
  readonly reader: LedgerReader;
  /**
   * Entries of the newest window that has any, the newest first; null if the newest windows are empty. Of a window
   * with more pages than `widePages`, only the first and the last are read: whether the platform sends old or new entries first,
   * the newest is on one of them. If it sends them in no order, it may be on neither. A wide window that will be read as its
   * planned ones is checked in the same way.
   */
  readonly newest: () => Promise<{ readonly entries: readonly LedgerEntry[]; readonly asked: Asked } | null>;
}

interface NewestPageOptions {
  readonly reader: LedgerReader;
  readonly merchant: MerchantAccess;
  readonly asked: readonly WideWindow[];
  readonly clockSkewMs: number;
  readonly signal: AbortSignal;
}

interface Known {
  readonly page: Promise<LedgerPage>;
  /** The reading of windows has it already. If it asks again, it wants a second reading. */
  isTaken: boolean;
}

export function createNewestPage(options: NewestPageOptions): NewestPage {
  const { reader, merchant, clockSkewMs, signal } = options;
  const known = new Map<string, Known>();
  let isOver = false;

  const readPage = async ({ window, currency }: Asked, pageNum: number): Promise<LedgerPage> => {
    signal.throwIfAborted();
    const query = { merchant, window, pageNum, ...(currency === null ? {} : { currency }) };
    const key = keyOf(query);
    const kept = known.get(key);
    if (kept !== undefined) return kept.page;
    const page = reader.page({ ...query, isUrgent: true }, signal);
    known.set(key, { page, isTaken: false });
    return page;
  };

  /** Null if the platform refuses a wide window. */
  const firstPage = async (asked: WideWindow): Promise<LedgerPage | null> => {
    try {
      return await readPage(asked, 1);
    } catch (error) {
      if (asked.planned.length === 1 || !isRefusal(error)) throw error;
      return null;
    }
  };

  const newest = async (): ReturnType<NewestPage['newest']> => {
    const youngest = [...options.asked].sort((a, b) => b.window.endMs - a.window.endMs);
    for (let checked = 0; checked < WINDOWS_MAX && youngest.length > 0; checked += 1) {
      const asked = youngest.shift()!;
      const first = await firstPage(asked);
      if (first === null || (asked.planned.length > 1 && pagesOf(first.total) > READ_LIMITS.widePages)) {
        youngest.unshift(...asked.planned.toReversed().map((window) => plannedOf(asked, window)));
        continue;
      }
      // Of a day that will be read together with others, no more pages than these are asked for.
      const isAsked = options.asked.includes(asked);
      const pageNums = otherPages(first, isAsked ? READ_LIMITS.widePages : 0);
      const others = await Promise.all(pageNums.map((pageNum) => readPage(asked, pageNum)));
      const entries = [first, ...others]
        .flatMap((page) => page.entries)
        .filter((entry) => placeOf(entry, asked.window, clockSkewMs) !== 'outside')
        .sort((a, b) => b.bookedMs - a.bookedMs);
      if (entries.length > 0) return { entries, asked };
    }
    return null;
  };

  return {
    reader: {
      page: (query, stop) => {
        const key = keyOf(query);
        const kept = known.get(key);
        if (kept !== undefined && !kept.isTaken) {
          kept.isTaken = true;
          if (isOver) known.delete(key);
          return kept.page;
        }
        const page = reader.page(query, stop);
        if (!isOver) known.set(key, { page, isTaken: true });
        return page;
      },
    },
    newest: () =>
      newest().finally(() => {
        isOver = true;
        for (const [key, { isTaken }] of known) if (isTaken) known.delete(key);
      }),
  };
}

const plannedOf = ({ currency }: WideWindow, window: Window): WideWindow => ({
  window,
  currency,
  planned: [window],
});

/** The pages after the first on which the newest entry may be: all of them if they are few, else the last. */
function otherPages(first: LedgerPage, fewMax: number): number[] {
  const pages = pagesOf(first.total);
  if (pages === 1 || pages > READ_LIMITS.pageNumMax) return [];
  return pages <= fewMax && isFilled(first) ? Array.from({ length: pages - 1 }, (_, at) => at + 2) : [pages];
}

const keyOf = ({ window, currency, batchNo, pageNum }: LedgerPageQuery): string =>
  JSON.stringify([window.beginMs, window.endMs, currency ?? null, batchNo ?? null, pageNum]);

/** Watches the platform's clock while windows are read: none may reach into time that is not settled there. */

interface Settling {
  readonly reader: LedgerReader;
  readonly now: () => Date;
  readonly settleDelayMs?: number;
}

/** The instant up to which all is settled, by a clock that is so far behind ours. */
export const settledByMs = ({ now, settleDelayMs = 0 }: Settling, behindMs: number): number =>
  now().getTime() - behindMs - settleDelayMs;

/**
 * Checks the platform's clock in each reply before it is used. If a reply shows that one of the windows reaches
 * beyond what is settled there, it rejects with `PlatformBehind`. From then on it also rejects each reply for such a
 * window: that call was on its way already, and must not count as read.
 */
export function clockCheckedReader(
  options: Settling,
  asked: readonly Asked[],
  platformClock: PlatformClock,
): LedgerReader {
  const lastMs = Math.max(...asked.map(({ window }) => window.endMs));
  const isOneAsked = ({ beginMs, endMs }: Window): boolean =>
    asked.some(({ window }) => window.beginMs <= beginMs && window.endMs >= endMs);
  return {
    page: async (query, signal) => {
      const page = await options.reader.page(query, signal);
      const isFurther = platformClock.note(page.clock);
      const settledMs = settledByMs(options, platformClock.behindMs());
      const span = query.bookedWithin ?? query.window;
      // While nothing shows that the platform is behind, the windows are right: they were planned by our own clock.
      const isUnsettled = platformClock.behindMs() > 0 && span.endMs > settledMs && isOneAsked(span);
      if (isUnsettled || (isFurther && lastMs > settledMs)) throw new PlatformBehind();
      return page;
    },
  };
}
