/**
 * Reads the newest window before all others, so that the zone is proven by the newest entry before a row is written: an
 * older one would prove the offset of yesterday on the very day that the platform's clock changed.
 *
 * No call is made for it: what it reads is kept, and given once to whoever asks for that page next.
 */
import type { LedgerEntry } from '../ledger/entry.ts';
import type { LedgerPage, LedgerPageQuery, LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { pagesOf, type Asked } from './certificate.ts';
import { placeOf } from './clock-slack.ts';
import { READ_LIMITS } from './limits.ts';

/** Windows looked at, one after the other, until one has entries. */
const WINDOWS_MAX = 8;

export interface NewestPage {
  /** Answers from what is kept, once, and else from the reader given. */
  readonly reader: LedgerReader;
  /**
   * Entries of the newest window that has any, the newest in front, and none where the newest windows are empty. Of a
   * window of several pages its first and last one are seen, as pages come in time's order either way or in none.
   */
  readonly newest: () => Promise<{ readonly entries: readonly LedgerEntry[]; readonly asked: Asked } | null>;
}

export interface NewestPageOptions {
  readonly reader: LedgerReader;
  readonly merchant: MerchantAccess;
  readonly asked: readonly Asked[];
  readonly slackMs: number;
  readonly signal: AbortSignal;
}

export function createNewestPage(options: NewestPageOptions): NewestPage {
  const { reader, merchant, slackMs, signal } = options;
  const kept = new Map<string, LedgerPage>();

  const read = async ({ window, currency }: Asked, pageNum: number): Promise<LedgerPage> => {
    const query = { merchant, window, pageNum, ...(currency === undefined ? {} : { currency }) };
    signal.throwIfAborted();
    const page = await reader.page(query, signal);
    kept.set(keyOf(query), page);
    return page;
  };

  return {
    reader: {
      page: (query, stop) => {
        const key = keyOf(query);
        const page = kept.get(key);
        if (page === undefined) return reader.page(query, stop);
        kept.delete(key);
        return Promise.resolve(page);
      },
    },
    newest: async () => {
      const youngest = [...options.asked]
        .sort((a, b) => b.window.endMs - a.window.endMs)
        .slice(0, WINDOWS_MAX);
      for (const asked of youngest) {
        const first = await read(asked, 1);
        const pages = pagesOf(first.total);
        const isPaged = pages > 1 && pages <= READ_LIMITS.pageNumMax;
        const seen = isPaged ? [first, await read(asked, pages)] : [first];
        const entries = seen
          .flatMap((page) => page.entries)
          .filter((entry) => placeOf(entry, asked.window, slackMs) !== 'stranger')
          .sort((a, b) => b.bookedMs - a.bookedMs);
        if (entries.length > 0) return { entries, asked };
      }
      return null;
    },
  };
}

const keyOf = ({ window, currency, batchNo, pageNum }: LedgerPageQuery): string =>
  JSON.stringify([window.beginMs, window.endMs, currency ?? null, batchNo ?? null, pageNum]);
