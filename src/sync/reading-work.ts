/**
 * What the reading of one merchant's windows has cost so far, and what totals the platform stated meanwhile. It ends a
 * reading that leads nowhere: one that takes more calls than its work is worth, and one of a platform that states the same
 * total for every window, because it counts all of the ledger.
 */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { Window } from '../ledger/entry.ts';
import { counted } from '../ledger/text.ts';
import { isWithin, overlaps } from '../ledger/window.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import { pagesOf, type Asked } from './certificate.ts';
import type { ReadLimits } from './limits.ts';

/** The reading of a merchant's windows was stopped before its end, as it led nowhere. */
class ReadingStopped extends ExpectedError {
  override readonly name = 'ReadingStopped';
  readonly exitCode = EXIT.incomplete;
}

/** `changed`: an entry came meanwhile, and the window is to be read again. */
export type CapFinding =
  | { readonly kind: 'none' | 'changed' }
  | { readonly kind: 'capped'; readonly sentence: string; readonly parts: number };

export interface ReadingWork {
  /** To be called before each call for a page. Throws `ReadingStopped` at the limit of calls. */
  readonly countCall: () => void;
  /** To be called with each window of entries that is proven. */
  readonly countProven: (asked: Asked, total: number) => void;
  /** To be called with each first page. Throws `ReadingStopped` where every window states the same total. */
  readonly noteTotal: (asked: Asked, page: LedgerPage) => void;
  /** Whether another window states this total, too. */
  readonly isStatedElsewhere: (asked: Asked, total: number) => boolean;
  /**
   * Asks about one window with a total that others state, too. If it is not capped, the others with that total are not asked
   * about; if it is, each is.
   */
  readonly onceFor: (total: number, ask: () => Promise<CapFinding>) => Promise<CapFinding>;
  /** A window was capped at this total. `isInParts`: it is read in parts already. */
  readonly noteCapped: (total: number, isInParts?: Asked) => void;
  /** Windows that were proven with a total before another one showed that it is a cap: they are to be read again. */
  readonly takeProvenAtCap: () => Asked[];
  readonly noteCap: (sentence: string) => void;
  /** Sentences about caps that the platform has on its results, each once. */
  readonly caps: () => readonly string[];
}

/** A smaller total is no cap, but that of small windows that are alike. */
const CAP_MIN = 100;
/** Most totals remembered. A merchant of more windows has other signs. */
const TOTALS_MAX = 10_000;
/** Most windows in a row with the same total that are compared with each other. */
const WINDOWS_MAX = 100;

interface Stated {
  readonly total: number;
  readonly windows: Window[];
  isShort: boolean;
}

export function createReadingWork(
  windows: number,
  { callsMin, callsPerWindow, callsPerPage }: ReadLimits,
): ReadingWork {
  let calls = 0;
  let proven = 0;
  let run: Stated = { total: 0, windows: [], isShort: false };
  const statedBy = new Map<number, string>();
  const caps = new Set<string>();
  const cappedAt = new Set<number>();
  const asked = new Map<number, Promise<CapFinding>>();
  const provenAt = new Map<number, Asked[]>();

  return {
    countCall: () => {
      const callsMax = callsMin + callsPerWindow * windows + callsPerPage * proven;
      if (calls >= callsMax) throw new ReadingStopped(tooManyCalls(calls, windows, proven));
      calls += 1;
    },
    countProven: (proved, total) => {
      proven += pagesOf(total);
      const known = provenAt.get(total) ?? [];
      if (total > 0 && !cappedAt.has(total) && known.length < WINDOWS_MAX)
        provenAt.set(total, [...known, proved]);
    },
    onceFor: async (total, ask) => {
      const first = asked.get(total);
      if (first !== undefined) {
        const { kind } = await first;
        return kind === 'none' ? first : ask();
      }
      const finding = ask();
      asked.set(total, finding);
      return finding;
    },
    noteCapped: (total, isInParts) => {
      cappedAt.add(total);
      const left = (provenAt.get(total) ?? []).filter(
        ({ window }) => isInParts === undefined || !isSame(window, isInParts.window),
      );
      provenAt.set(total, left);
    },
    takeProvenAtCap: () =>
      [...cappedAt].flatMap((total) => {
        const again = provenAt.get(total) ?? [];
        provenAt.delete(total);
        return again;
      }),
    noteTotal: ({ window }, page) => {
      const { total } = page;
      const key = keyOf(window);
      if (!statedBy.has(total) && statedBy.size < TOTALS_MAX) statedBy.set(total, key);
      if (total !== run.total) run = { total, windows: [], isShort: false };
      run.isShort ||= page.entries.length + page.unreadable.length < Math.min(PAGE_SIZE_MAX, total);
      if (total === 0 || run.windows.length >= WINDOWS_MAX || run.windows.some((one) => isSame(one, window)))
        return;
      run.windows.push(window);
      if (run.isShort && holdsTwoApart(run.windows))
        throw new ReadingStopped(alikeText(total, run.windows.length));
    },
    isStatedElsewhere: ({ window }, total) => {
      if (cappedAt.has(total)) return true;
      if (total < CAP_MIN) return false;
      const by = statedBy.get(total);
      return by !== undefined && by !== keyOf(window);
    },
    noteCap: (sentence) => void caps.add(sentence),
    caps: () => [...caps],
  };
}

const keyOf = ({ beginMs, endMs }: Window): string => `${beginMs} ${endMs}`;

const isSame = (one: Window, other: Window): boolean =>
  one.beginMs === other.beginMs && one.endMs === other.endMs;

/** Whether one of the windows holds two others that do not overlap: no total but 0 can be that of all three. */
function holdsTwoApart(windows: readonly Window[]): boolean {
  const last = windows.at(-1)!;
  return windows.some((outer) => {
    if (isSame(outer, last) || !isWithin(last, outer)) return false;
    return windows.some((one) => !isSame(one, outer) && isWithin(one, outer) && !overlaps(one, last));
  });
}

const alikeText = (total: number, windows: number): string =>
  `the platform states the total ${total} for each of ${windows} windows of different lengths, and the windows within ` +
  'another add up to more: it counts all of the ledger instead of the window asked for. No window can be proven by such ' +
  'totals, so reading was stopped: ask the platform to count what lies between beginDate and endDate of sp2404';

const tooManyCalls = (calls: number, windows: number, proven: number): string =>
  `reading was stopped after ${calls} calls, the limit for ${counted(windows, 'window')} and ` +
  `${counted(proven, 'proven page')} of entries of one merchant in one run: the replies do not add up`;
