/**
 * The reader of one pass over a merchant's windows. It counts the calls, lets no reply pass that reaches into time which is
 * not settled by the platform's clock, and asks wider where timestamps differ from the times that the platform filters by.
 *
 * Before all others it reads the newest window, so that the newest entry proves the zone before a row is written: on a
 * day on which the platform's clock changes, an older entry would prove the offset of yesterday. No page is read twice for
 * this: the reading of windows, which goes on meanwhile, gets the page that was read here, once.
 */
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import type { LedgerPage, LedgerPageQuery, LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { pagesOf, type Asked } from './certificate.ts';
import { isFilled } from './certify.ts';
import { isRefusal, pageQuery } from './page-source.ts';
import { placeOf, widened, type PlatformClock } from './clocks.ts';
import { READ_LIMITS } from './limits.ts';
import { PlatformBehind } from './sync-report.ts';
import type { Probe } from './time-zone-proof.ts';
import { wideOf, type WideWindow } from './wide-windows.ts';

/** Most windows that are read, one after the other, until one has entries. */
const WINDOWS_MAX = 8;

export interface PassReader {
  readonly reader: LedgerReader;
  /** The same for the first reading of the windows. A page that `newest` has read is returned once instead of read again. */
  readonly firstReader: LedgerReader;
  readonly probe: Probe;
  /**
   * Entries of the newest window that has any, the newest first; null if the newest windows are empty. Of a window
   * with more pages than `widePages`, only the first and the last are read: whether the platform sends old or new entries first,
   * the newest is on one of them. If it sends them in no order, it may be on neither. A wide window that will be read as its
   * planned ones is checked in the same way.
   */
  readonly newest: () => Promise<{ readonly entries: readonly LedgerEntry[]; readonly asked: Asked } | null>;
  readonly calls: () => number;
}

interface PassReaderOptions extends Settling {
  readonly merchant: MerchantAccess;
  readonly zone: string;
  readonly asked: readonly WideWindow[];
  readonly platformClock: PlatformClock;
  readonly clockSkewMs: number;
  readonly signal: AbortSignal;
}

export function createPassReader(options: PassReaderOptions): PassReader {
  const { merchant, zone, asked, platformClock, clockSkewMs, signal } = options;
  const settled = clockCheckedReader(options, asked, platformClock);
  let calls = 0;
  const counted: LedgerReader = {
    page: (query, stop) => {
      calls += 1;
      return settled.page(query, stop);
    },
  };
  const reader: LedgerReader =
    clockSkewMs === 0
      ? counted
      : {
          page: ({ window, ...query }, stop) =>
            counted.page(
              { ...query, window: widened(window, clockSkewMs, zone), bookedWithin: window },
              stop,
            ),
        };
  return {
    reader,
    ...createNewestPage({ reader, merchant, asked, clockSkewMs, signal }),
    probe: (batchNo, window) => {
      signal.throwIfAborted();
      const query = { merchant, window, pageNum: 1, ...(batchNo === null ? {} : { batchNo }) };
      return counted.page({ ...query, isUrgent: true }, signal);
    },
    calls: () => calls,
  };
}

interface Known {
  readonly page: Promise<LedgerPage>;
  /** The reading of windows has it already. If it asks again, it wants a second reading. */
  isTaken: boolean;
}

function createNewestPage(
  options: Pick<PassReaderOptions, 'merchant' | 'asked' | 'clockSkewMs' | 'signal'> & {
    readonly reader: LedgerReader;
  },
): Pick<PassReader, 'firstReader' | 'newest'> {
  const { reader, merchant, clockSkewMs, signal } = options;
  const known = new Map<string, Known>();
  let isOver = false;

  const readPage = async (asked: Asked, pageNum: number): Promise<LedgerPage> => {
    signal.throwIfAborted();
    const query = pageQuery(merchant, asked, pageNum);
    const key = keyOf(query);
    const kept = known.get(key);
    if (kept !== undefined) return kept.page;
    const page = reader.page({ ...query, isUrgent: true }, signal);
    known.set(key, { page, isTaken: false });
    return page;
  };

  const firstPage = async (asked: WideWindow): Promise<LedgerPage | null> => {
    try {
      return await readPage(asked, 1);
    } catch (error) {
      if (asked.planned.length === 1 || !isRefusal(error)) throw error;
      return null;
    }
  };

  const newest = async (): ReturnType<PassReader['newest']> => {
    const youngest = [...options.asked].sort((a, b) => b.window.endMs - a.window.endMs);
    for (let checked = 0; checked < WINDOWS_MAX && youngest.length > 0; checked += 1) {
      const asked = youngest.shift()!;
      const first = await firstPage(asked);
      if (first === null || (asked.planned.length > 1 && pagesOf(first.total) > READ_LIMITS.widePages)) {
        youngest.unshift(...asked.planned.toReversed().map((window) => wideOf([window])));
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
    firstReader: {
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

function otherPages(first: LedgerPage, fewMax: number): number[] {
  const pages = pagesOf(first.total);
  if (pages === 1 || pages > READ_LIMITS.pageNumMax) return [];
  return pages <= fewMax && isFilled(first) ? Array.from({ length: pages - 1 }, (_, at) => at + 2) : [pages];
}

const keyOf = ({ window, currency, batchNo, pageNum }: LedgerPageQuery): string =>
  JSON.stringify([window.beginMs, window.endMs, currency ?? null, batchNo ?? null, pageNum]);

interface Settling {
  readonly reader: LedgerReader;
  readonly now: () => Date;
  readonly settleDelayMs?: number;
}

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
