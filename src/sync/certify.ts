/**
 * Reads one window until it is certified, or says into which parts it has to be split, or gives up loudly.
 *
 * A window with more pages than its grain allows is split before it is paged. A window of several pages that does not
 * add up is read again, and then split into parts of one page: a page is one reply, so neither order nor a change
 * between pages can touch it. Where time cannot split it (one second), readings of an unchanged total are united until
 * they show as many entries as that total; only what still does not add up is split below the second. Patience is
 * limited per planned window by the calls that led nowhere.
 */
import type { LedgerEntry, UnreadableEntry } from '../ledger/entry.ts';
import { PlatformRejected, PlatformReplyInvalid } from '../platform/errors.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import type { WindowReading } from '../store/window-reading.ts';
import {
  distinctOf,
  judgePages,
  needsConfirming,
  pagesOf,
  uniteReadings,
  type Asked,
  type Reading,
  type UnreadableSeen,
  type Stranger,
} from './certificate.ts';
import { isDivisible, readsMaxOf, splitDeep, splitUnsteady, type Grain, type Split } from './grain.ts';
import type { ReadLimits } from './limits.ts';

/** What one planned window has wasted and achieved; shared by all its parts. */
export interface Patience {
  failedCalls: number;
  /** Pages with entries in parts already certified. */
  certifiedPages: number;
}

export interface CertifyTask extends Asked {
  readonly grain: Grain;
  readonly patience: Patience;
}

/** What reading touches. */
export interface PageSource {
  readonly page: (asked: Asked, pageNum: number) => Promise<LedgerPage>;
  /** Waits until so many more pages may be in memory. Asked at most once a window. */
  readonly holdPages: (pages: number) => Promise<void>;
  /** Told of each reading's first page at once, so that the zone's proof runs beside the paging. */
  readonly onFirstPage: (page: LedgerPage, asked: Asked) => void;
}

/** A reading with what it noticed. */
export interface NotedReading {
  readonly reading: WindowReading;
  readonly notices: readonly string[];
  /** What came and was not asked for; without certificate, the reading keeps it among the unreadable. */
  readonly strangers: readonly LedgerEntry[];
}

export type Outcome =
  | ({ readonly kind: 'read' } & NotedReading)
  /** `orderUnsteady`: pages of an unchanged window did not fit together, as order differs from call to call. */
  | ({ readonly kind: 'split'; readonly orderUnsteady: boolean } & Split);

/** Entries one reading keeps that were not asked for: a platform that ignores what it is asked sends its whole book. */
const STRANGERS_KEPT_MAX = 100;

export async function certifyWindow(
  task: CertifyTask,
  source: PageSource,
  limits: ReadLimits,
): Promise<Outcome> {
  const { window, grain, patience } = task;
  const everSeen = {
    entries: new Map<string, LedgerEntry>(),
    unreadable: new Map<string, UnreadableSeen>(),
    strangers: new Map<string, Stranger>(),
  };
  let united: Reading | null = null;
  let requests = 0;
  let isHolding = false;

  for (let reads = 1; ; reads += 1) {
    const first = await source.page(task, 1);
    requests += 1;
    source.onFirstPage(first, task);
    const { total } = first;

    const deep = splitDeep(window, total, grain, limits);
    if (deep !== null && isFilled(first) && !isSpent(patience, limits)) return split(patience, deep, false);

    const rest = pagesToFollow(first, task, deep !== null, limits);
    if (rest > 0 && !isHolding) {
      isHolding = true;
      await source.holdPages(rest);
    }
    const pages = [first, ...(await pagesFromSecond(task, source, total, rest))];
    requests += rest;

    const reading: Reading = judgePages(pages, task, limits.clockSlackMs);
    united = united === null ? reading : uniteReadings(united, reading);
    if (united.problem === null) {
      if (total > 0) patience.certifiedPages += pagesOf(total);
      return read(united, { requests, problem: null });
    }
    // Once all are known, seeing them again leads somewhere.
    if (united.seenOnce === null || distinctOf(united) < united.total) patience.failedCalls += pages.length;
    for (const entry of reading.entries.values()) everSeen.entries.set(entry.batchNo, entry);
    for (const [key, entry] of reading.unreadable) everSeen.unreadable.set(key, entry);
    for (const [key, stranger] of reading.strangers) everSeen.strangers.set(key, stranger);

    if (!isSpent(patience, limits)) {
      if (reads < readsMaxOf(window, total, grain, limits)) continue;
      const finer = splitUnsteady(window, total, grain, limits);
      if (finer !== null) return split(patience, finer, united.mayUnite);
    }
    const problem = `${spanText(task)} could not be certified in ${reads} reading${reads === 1 ? '' : 's'}: ${united.problem}`;
    return read({ ...united, ...everSeen }, { requests, problem });
  }
}

/**
 * Spent once, a window is no longer read again or split, but still paged, so that what it holds is stored even without
 * certificate. Spent `times` 2, only first pages are read.
 */
const isSpent = ({ failedCalls, certifiedPages }: Patience, limits: ReadLimits, times = 1): boolean =>
  failedCalls >= times * (limits.failedCallsMax + limits.failedCallsPerPage * certifiedPages);

/** Whether a first page holds as much as its total promises; a total it contradicts is not worth acting on. */
const isFilled = ({ total, entries, unreadable }: LedgerPage): boolean =>
  entries.length + unreadable.length >= Math.min(PAGE_SIZE_MAX, total);

/** Pages to read after the first, with the confirming one; none where the total is not believed or beyond limits. */
function pagesToFollow(first: LedgerPage, task: CertifyTask, isDeep: boolean, limits: ReadLimits): number {
  const pages = pagesOf(first.total);
  const isLastResort = isSpent(task.patience, limits) || !isDivisible(task.window, task.grain.unitMs);
  if (isSpent(task.patience, limits, 2) || (!isFilled(first) && !isLastResort)) return 0;
  if (pages > (isDeep ? limits.pageNumMax : limits.pageNumIndivisibleMax)) return 0;
  return pages - 1 + (needsConfirming(first.total) ? 1 : 0);
}

/**
 * Pages 2 to `rest` + 1. A platform that refuses the confirming one says, its own way, that there is none: it counts as
 * empty, as its total would be the first page's.
 */
function pagesFromSecond(
  task: CertifyTask,
  source: PageSource,
  total: number,
  rest: number,
): Promise<LedgerPage[]> {
  return Promise.all(
    Array.from({ length: rest }, async (_, index) => {
      const pageNum = index + 2;
      try {
        return await source.page(task, pageNum);
      } catch (error) {
        const isRefusal = error instanceof PlatformRejected || error instanceof PlatformReplyInvalid;
        if (!isRefusal || pageNum <= pagesOf(total)) throw error;
        return { total, entries: [], unreadable: [], notices: [] };
      }
    }),
  );
}

/** A split costs patience by its parts, so that totals made up without end come to one. */
function split(patience: Patience, { parts, grain }: Split, orderUnsteady: boolean): Outcome {
  patience.failedCalls += parts.length;
  return { kind: 'split', parts, grain, orderUnsteady };
}

function read(from: Reading, { requests, problem }: { requests: number; problem: string | null }): Outcome {
  const { total, entries, neighbours, unreadable, notices } = from;
  const strangers = [...from.strangers.values()];
  const reading = {
    entries: [...entries.values()],
    unreadable: [
      ...[...unreadable.values()].flatMap(({ entry, times }) => Array.from({ length: times }, () => entry)),
      ...strangers.slice(0, STRANGERS_KEPT_MAX).map(strangerKept),
    ],
    total: Math.max(0, total - neighbours.size),
    requests,
    certified: problem === null,
    problem,
  };
  return { kind: 'read', reading, notices, strangers: strangers.map(({ entry }) => entry) };
}

/** What was not asked for is kept like what cannot be read: with what it says, and why it is not booked. */
const strangerKept = ({ entry, reason }: Stranger): UnreadableEntry => {
  const { batchNo, currency, transactionType, credit, debit, balance, bookedAt } = entry;
  const raw = JSON.stringify({ batchNo, currency, transactionType, credit, debit, balance, bookedAt });
  return { batchNo, raw, reason };
};

/** The span in words, for sentences a person reads. */
export const spanText = ({ window, currency }: Asked): string => {
  const [begin, end] = [window.beginMs, window.endMs].map((ms) => new Date(ms).toISOString());
  return `the window ${String(begin)} to ${String(end)}${currency === null ? '' : ` in ${currency}`}`;
};
