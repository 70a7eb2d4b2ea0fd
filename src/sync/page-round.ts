/**
 * Which pages of older days come next, so that a page a night goes through all of them, whatever order they come in. Pure.
 *
 * The ledger grows while a round goes on, and a round is through once it has shown what there was when it began. Where
 * pages come oldest first, growth moves nothing; where they come newest first, it moves all that is left by as much; in
 * any other order, by its share.
 */
import type { LedgerEntry } from '../ledger/entry.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';

export type PageOrder = 'oldest first' | 'newest first' | 'mixed';

/** How far a round is. */
export interface PageRound {
  /** Of the entries there were when it began, so many were gone through. */
  readonly read: number;
  readonly of: number;
  readonly beganAt: Date;
  readonly order: PageOrder;
}

/**
 * Where the next entry lies seldom begins a page. The page that holds it is read, with what was read before; but where so
 * little of that page would be new, the next one is, and the little is left for another round.
 */
const NEW_SHARE_MIN = 0.2;

/** The round to go on with among so many entries: a new one where the last is through, or was of more than there are. */
export function roundNow(last: PageRound | null, entries: number, now: Date): PageRound {
  const isOver = last === null || last.read >= last.of || firstPage(last, entries) * PAGE_SIZE_MAX >= entries;
  return isOver ? { read: 0, of: entries, beganAt: now, order: last?.order ?? 'mixed' } : last;
}

/** The pages to ask for now, counted from 0: at least one, at most `pagesMax`, and none beyond the last. */
export function pagesNow(round: PageRound, entries: number, pagesMax: number): number[] {
  const first = firstPage(round, entries);
  const pages = Math.max(1, Math.ceil(entries / PAGE_SIZE_MAX));
  return Array.from({ length: Math.max(1, Math.min(pagesMax, pages - first)) }, (_, at) => first + at);
}

/** The round once these pages were read, of which the first held these entries. */
export function roundAfter(
  round: PageRound,
  entries: number,
  pages: readonly number[],
  shown: readonly Pick<LedgerEntry, 'bookedMs'>[],
): PageRound {
  const after = { ...round, order: orderOf(shown, round.order) };
  const through = Math.min(entries, (pages.at(-1)! + 1) * PAGE_SIZE_MAX);
  return { ...after, read: Math.min(round.of, Math.ceil(readAt(after, entries, through))) };
}

function firstPage(round: PageRound, entries: number): number {
  const at = placeOf(round, entries) / PAGE_SIZE_MAX;
  // The share is a guess of the place, as good a little later.
  if (round.order === 'mixed') return Math.round(at);
  const page = Math.floor(at);
  return 1 - (at - page) < NEW_SHARE_MIN ? page + 1 : page;
}

/** Where the next entry of the round lies among all there are now. */
function placeOf({ read, of, order }: PageRound, entries: number): number {
  if (order === 'oldest first') return read;
  if (order === 'newest first') return Math.max(0, entries - of) + read;
  return of === 0 ? 0 : (read * entries) / of;
}

/** How much of the round is gone through where all before a place is. */
function readAt({ of, order }: PageRound, entries: number, place: number): number {
  if (order === 'oldest first') return place;
  if (order === 'newest first') return place - Math.max(0, entries - of);
  return entries === 0 ? of : (place * of) / entries;
}

/** What one page shows of the order; a page of one second shows nothing new. */
function orderOf(shown: readonly Pick<LedgerEntry, 'bookedMs'>[], before: PageOrder): PageOrder {
  const [first, last] = [shown[0]?.bookedMs, shown.at(-1)?.bookedMs];
  if (first === undefined || last === undefined || first === last) return before;
  const sign = Math.sign(last - first);
  const isSorted = shown.every(
    ({ bookedMs }, at) => at === 0 || sign * (bookedMs - shown[at - 1]!.bookedMs) >= 0,
  );
  if (!isSorted) return 'mixed';
  return sign > 0 ? 'oldest first' : 'newest first';
}
