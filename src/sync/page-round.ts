/**
 * Which pages of older days come next, so that some pages a night go through all of them, whatever order they come in.
 * Pure.
 *
 * The ledger grows while a round goes on. Where pages come oldest first that moves none of them, and the round goes from
 * page to page, up to as many as there were when it began. In any other order new entries push the others on, so the
 * place is kept as a share of the pages: it never jumps over what came between. Growth of a page a night makes such a
 * round two thirds longer.
 */
import type { LedgerEntry } from '../ledger/entry.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';

/** Where a round stands; pages are counted from 0. */
export interface PageRound {
  readonly nextPage: number;
  /** Pages there were at the last look. */
  readonly pages: number;
  /** Pages there were when the round began. */
  readonly roundPages: number;
  readonly roundBeganAt: Date;
  readonly isOldestFirst: boolean;
}

/** A round from the first page on. */
export const newRound = (entries: number, now: Date, isOldestFirst = false): PageRound => {
  const pages = pagesOf(entries);
  return { nextPage: 0, pages, roundPages: pages, roundBeganAt: now, isOldestFirst };
};

const pagesOf = (entries: number): number => Math.max(1, Math.ceil(entries / PAGE_SIZE_MAX));

/** The round over as many entries as there are now; a new one where the last came to its end. */
export function roundNow(last: PageRound | null, entries: number, now: Date): PageRound {
  if (last === null) return newRound(entries, now);
  const pages = pagesOf(entries);
  const nextPage = last.isOldestFirst ? last.nextPage : Math.floor((last.nextPage * pages) / last.pages);
  const end = last.isOldestFirst ? Math.min(last.roundPages, pages) : pages;
  return nextPage >= end ? newRound(entries, now, last.isOldestFirst) : { ...last, nextPage, pages };
}

/** The pages to ask for: the next ones, at most `pagesMax`, and none beyond the round's end. */
export function pagesNow(
  { nextPage, pages, roundPages, isOldestFirst }: PageRound,
  pagesMax: number,
): number[] {
  const end = isOldestFirst ? Math.min(roundPages, pages) : pages;
  return Array.from({ length: Math.min(pagesMax, end - nextPage) }, (_, at) => nextPage + at);
}

/** The round once so many more pages were read, in the order the entries came in. */
export function roundAfter(
  round: PageRound,
  pagesRead: number,
  entries: readonly Pick<LedgerEntry, 'bookedMs'>[],
): PageRound {
  return { ...round, nextPage: round.nextPage + pagesRead, isOldestFirst: isOldestFirst(entries, round) };
}

/** What one page shows of the order; a page of one second shows nothing new. */
function isOldestFirst(
  entries: readonly Pick<LedgerEntry, 'bookedMs'>[],
  { isOldestFirst: before }: PageRound,
): boolean {
  const [first, last] = [entries[0]?.bookedMs, entries.at(-1)?.bookedMs];
  if (first === undefined || first === last) return before;
  return entries.every(({ bookedMs }, at) => at === 0 || bookedMs >= entries[at - 1]!.bookedMs);
}
