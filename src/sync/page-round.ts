/**
 * Decides which pages of older days are read next, so that a page a night gets through all of them in one round. Pure.
 *
 * The ledger grows during a round. A round is over when it has read as many entries as there were at its begin. If
 * pages come oldest first, growth moves no entry. If they come newest first, growth moves all that are left by its
 * size; in any other order, by its share.
 *
 * ### Example
 *
 * A round began with 1,000 entries, and 300 are read. Now there are 1,100. Oldest first, entry 300 comes next. Newest
 * first, the 100 new ones are in front: entry 400 comes next. In no order, it is about entry 330.
 */
import type { LedgerEntry } from '../ledger/entry.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';

export type PageOrder = 'oldest first' | 'newest first' | 'mixed';

/** How far a round got. */
export interface PageRound {
  /** Entries that were read so far. */
  readonly read: number;
  /** Entries there were when the round began. */
  readonly of: number;
  readonly beganAt: Date;
  readonly order: PageOrder;
}

/**
 * The next entry is seldom the first of a page. Its page is read, part of it for the second time. If a smaller share
 * than this would be new, the page after it is read, and these few entries are left for another round.
 */
const NEW_SHARE_MIN = 0.2;

/**
 * The round to go on with, among so many entries: a new one if the last is over, or had more entries than there are.
 */
export function roundNow(last: PageRound | null, entries: number, now: Date): PageRound {
  const isOver = last === null || last.read >= last.of || firstPage(last, entries) * PAGE_SIZE_MAX >= entries;
  return isOver ? { read: 0, of: entries, beganAt: now, order: last?.order ?? 'mixed' } : last;
}

/** The pages to read now, counted from 0: at least one, at most `pagesMax`, and none beyond the last page. */
export function pagesNow(round: PageRound, entries: number, pagesMax: number): number[] {
  const first = firstPage(round, entries);
  const pages = Math.max(1, Math.ceil(entries / PAGE_SIZE_MAX));
  return Array.from({ length: Math.max(1, Math.min(pagesMax, pages - first)) }, (_, at) => first + at);
}

/** The round after these pages were read. `shown`: the entries of the first one. */
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
  // In no order, the place is a guess anyway.
  if (round.order === 'mixed') return Math.round(at);
  const page = Math.floor(at);
  return 1 - (at - page) < NEW_SHARE_MIN ? page + 1 : page;
}

/** The place of the round's next entry among all there are now. */
function placeOf({ read, of, order }: PageRound, entries: number): number {
  if (order === 'oldest first') return read;
  if (order === 'newest first') return Math.max(0, entries - of) + read;
  return of === 0 ? 0 : (read * entries) / of;
}

/** How many entries of the round are read, if all before a place are. */
function readAt({ of, order }: PageRound, entries: number, place: number): number {
  if (order === 'oldest first') return place;
  if (order === 'newest first') return place - Math.max(0, entries - of);
  return entries === 0 ? of : (place * of) / entries;
}

/** The order that one page shows; `before` if all its entries are booked in one second. */
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
