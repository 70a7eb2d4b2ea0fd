/**
 * The balance chain of one account, as a stream: entries go in by time and come out in the order that their balances
 * prove, with a break wherever no order joins them.
 *
 * ### Example
 *
 * The account stands at 100. Three entries come in one second: B (debit 30, balance 120), C (credit 5, balance 130)
 * and A (credit 50, balance 150). Only the order A, B leads on from 100: 100 to 150, 150 to 120. C starts from 125,
 * so it comes out last with a break: 120 expected, 125 found, a net credit of 5 is missing.
 *
 * What always holds:
 *
 * - Every entry comes out exactly once. It starts from the balance the one before it ended on, or it carries a break.
 * - An order is *allowed* when no entry comes before another one that is older by more than the clock tolerance
 *   (`allowed-orders.ts`). Only allowed orders come out.
 * - No order in which time never goes back has fewer breaks.
 * - If up to `MIXED_ENTRIES_SURE` entries have an allowed order without a break, it is found.
 * - The result does not depend on how the entries are cut into pushes, nor on their order within a second.
 *
 * Entries that cancel within a second fit several openings: A (credit 50, balance 150) and B (debit 50, balance 100) lead
 * from 100 to 100, or from 150 to 150. Later entries may decide. If none does, `otherClosings` says what fits as well.
 *
 * Memory holds the last few entries. It holds more, up to `HELD_ENTRIES_MAX`, while the balance reached is still
 * ambiguous.
 */
import {
  createLinkOf,
  createSteps,
  widened,
  type ChainEntry,
  type ChainStep,
  type Link,
} from './chain-link.ts';
import type { BusinessDay } from '../entry.ts';
import { decimalsOf, fromScaled, toScaled } from '../money.ts';
import { Places } from './places.ts';

/** Where the chain continues from: a balance, and the entry that ended on it. */
export interface ChainStart {
  readonly balance: string;
  /** Other balances that it may continue from just as well. */
  readonly others?: readonly string[];
  readonly batchNo: string | null;
  readonly bookedMs: number;
}

export interface ChainOptions {
  /** Entries booked within so many seconds of each other may trade places if that avoids a break. */
  readonly clockToleranceS: number;
  /** Null if nothing came before. The entries themselves then show the opening. */
  readonly start: ChainStart | null;
  /** The balances to take where the entries leave several; null: the one of the latest entry. */
  readonly preferred?: { readonly opening: string | null; readonly closing: string | null };
}

export interface Chain<Entry extends ChainEntry = ChainEntry> {
  /**
   * Takes entries sorted by (bookedMs, batchNo), later than those of the last push. Returns the steps now certain. They are
   * of `day`; if it is left out, each is of the date of its time.
   */
  readonly push: (entries: readonly Entry[], day?: BusinessDay) => ChainStep<Entry>[];
  /** Ends the chain and returns the remaining steps. */
  readonly end: () => ChainStep<Entry>[];
  /**
   * Whether another chain may continue from here, once all entries booked before `ms` are pushed. If so, no entry
   * booked at `ms` or later changes order, breaks or opening of the earlier ones, unless that chain says
   * `wantsEarlier`, or decides between several closings.
   */
  readonly isSettledAt: (ms: number) => boolean;
  /** Whether the entries pushed so far, whose last second `isSettledAt` has ended, can end on one balance only. */
  readonly hasOneEnd: () => boolean;
  /** Whether there was a break, solved or not, so near the start that earlier entries might change it. */
  readonly wantsEarlier: () => boolean;
  /** After `end`: the other balances that the entries may end on with as few breaks. */
  readonly otherClosings: () => readonly string[];
}

export function createChain<Entry extends ChainEntry = ChainEntry>(options: ChainOptions): Chain<Entry> {
  const { start, preferred = { opening: null, closing: null } } = options;
  const { opening, closing } = preferred;
  const known = [...(start === null ? [] : [start.balance, ...(start.others ?? [])]), opening, closing];
  let scale = Math.max(0, ...known.map((amount) => (amount === null ? 0 : decimalsOf(amount))));
  const scaled = (amount: string | null): bigint | null => (amount === null ? null : toScaled(amount, scale));
  const reached = start && {
    ...start,
    after: toScaled(start.balance, scale),
    others: (start.others ?? []).map((other) => toScaled(other, scale)),
  };
  const steps = createSteps<Entry>(reached);
  const places = new Places<Link<Entry>>(
    reached,
    { opening: scaled(opening), closing: scaled(closing) },
    options.clockToleranceS * 1_000,
    steps.take,
  );
  const linkOf = createLinkOf<Entry>();
  /** The entries of the current second so far. */
  let second: Link<Entry>[] = [];

  const widen = (decimals: number): void => {
    const factor = 10n ** BigInt(decimals - scale);
    second = second.map((link) => widened(link, decimals));
    places.widen(factor, (link) => widened(link, decimals));
    steps.widen(factor);
    scale = decimals;
  };
  const closeSecond = (): void => {
    if (second.length > 0) places.add(second);
    second = [];
  };
  const push = (entries: readonly Entry[], day?: BusinessDay): ChainStep<Entry>[] => {
    for (const entry of entries) {
      const decimals = Math.max(decimalsOf(entry.credit ?? entry.debit!), decimalsOf(entry.balance));
      if (decimals > scale) widen(decimals);
      const link = linkOf(entry, scale, day);
      if (second.length > 0 && second[0]!.bookedMs !== link.bookedMs) {
        closeSecond();
        places.emit(link.bookedMs);
      }
      second.push(link);
    }
    return steps.given();
  };
  const end = (): ChainStep<Entry>[] => {
    closeSecond();
    places.emitAll();
    return steps.given();
  };
  const isSettledAt = (ms: number): boolean => {
    closeSecond();
    return places.isSettledAt(ms);
  };
  const otherClosings = () => places.otherEnds.map((end) => fromScaled(end, scale));
  return {
    ...{ push, end, isSettledAt, otherClosings },
    hasOneEnd: () => places.hasOneEnd,
    wantsEarlier: () => places.wantsEarlier,
  };
}
