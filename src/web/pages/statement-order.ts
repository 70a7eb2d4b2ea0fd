/** Puts some entries of a day in the order that they have in its statement, without reading the complete day. */
import { createChain } from '../../ledger/chain/chain.ts';
import type { LedgerEntry } from '../../ledger/entry.ts';
import { ENTRIES_WITHIN_MAX, entriesAround, entriesByNumber } from '../../store/entries-around.ts';
import type { DayOfAccount, EntryPlace } from '../../store/pages/day-rows.ts';
import type { PagesContext } from './context.ts';

/** Entries chained on each side of those shown: their balances determine the order. */
const CHAINED_AROUND = 60;

export interface InOrder {
  readonly entries: readonly LedgerEntry[];
  /** Whether they stand as in the statement; otherwise they are in order of time, or as they were asked for. */
  readonly isChained: boolean;
}

/**
 * The entries at these neighbouring places, as the statement has them there. Full seconds around them are read, and all
 * that may trade places with them. Where a second holds too many for that, they are given by time.
 */
export async function inStatementOrder(
  { db, settings: { clockToleranceS } }: PagesContext,
  { account, window }: DayOfAccount,
  places: readonly EntryPlace[],
): Promise<InOrder> {
  const [first, last] = [places[0], places.at(-1)];
  if (first === undefined || last === undefined) return { entries: [], isChained: true };
  const span = {
    beginMs: first.bookedMs - clockToleranceS * 1_000,
    endMs: last.bookedMs + clockToleranceS * 1_000,
  };
  const around = await entriesAround(db, account, span, CHAINED_AROUND);
  const within = around.filter(({ bookedMs }) => bookedMs >= span.beginMs && bookedMs <= span.endMs);
  if (within.length >= ENTRIES_WITHIN_MAX) {
    const numbers = places.map(({ batchNo }) => batchNo);
    const found = await entriesByNumber(db, account.merchantNo, numbers);
    return { entries: numbers.flatMap((batchNo) => found.get(batchNo) ?? []), isChained: false };
  }
  const isOfDay = ({ bookedMs }: LedgerEntry): boolean =>
    bookedMs >= window.beginMs && bookedMs <= window.endMs;
  const from = around.filter(isOfDay).findIndex(({ batchNo }) => batchNo === first.batchNo);
  const chain = createChain<LedgerEntry>({ clockToleranceS, start: null });
  const chained = [...chain.push(around), ...chain.end()].map(({ entry }) => entry).filter(isOfDay);
  return { entries: chained.slice(from, from + places.length), isChained: true };
}
