/**
 * The balance chain of one account, as a stream: entries go in by time and come out in the order their balances prove,
 * with a break wherever no order can join them.
 *
 * Invariant: every entry comes out exactly once, and each one starts from the balance the one before it ended on, or
 * carries the break that says otherwise. An order is *allowed* when no entry precedes one that is more than the clock
 * tolerance older (`allowed-orders.ts`); no other ever comes out. Of the orders in which time never goes back, none has
 * fewer breaks. Where a stretch of up to `MIXED_ENTRIES_SURE` entries has an allowed order without a break, it is found.
 * The answer depends neither on the pieces entries come in, nor on their order within a second.
 *
 * Memory holds the last few entries, and as many more as leave open which balance the chain stands on, up to
 * `HELD_ENTRIES_MAX`.
 */
import {
  createLinkOf,
  createSteps,
  widened,
  type ChainEntry,
  type ChainStep,
  type Link,
} from './chain-link.ts';
import { decimalsOf, toScaled } from '../money.ts';
import { Places } from './places.ts';

/** Where the chain takes up: the balance reached, and the entry that reached it. */
export interface ChainStart {
  readonly balance: string;
  readonly batchNo: string | null;
  readonly bookedMs: number;
}

export interface ChainOptions {
  /** Entries within so many seconds may trade places before a break is called. */
  readonly clockToleranceS: number;
  /** Null where nothing came before: the opening is the one that what follows proves. */
  readonly start: ChainStart | null;
}

export interface Chain<Entry extends ChainEntry = ChainEntry> {
  /** Takes entries sorted by (bookedMs, batchNo), going on from the last push; returns what is certain by now. */
  readonly push: (entries: readonly Entry[]) => ChainStep<Entry>[];
  /** Returns the rest. */
  readonly end: () => ChainStep<Entry>[];
  /**
   * Whether another chain may take up from here, all entries booked before `ms` having been pushed: no entry booked
   * at `ms` or later can change order, breaks or opening of those before, unless its own chain `wantsEarlier`.
   */
  readonly isSettledAt: (ms: number) => boolean;
  /** Whether the chain met a break, mended or not, so near its start that the entries before might change it. */
  readonly wantsEarlier: () => boolean;
}

export function createChain<Entry extends ChainEntry = ChainEntry>(options: ChainOptions): Chain<Entry> {
  const { start } = options;
  let scale = start === null ? 0 : decimalsOf(start.balance);
  const reached = start === null ? null : { ...start, after: toScaled(start.balance, scale) };
  const steps = createSteps<Entry>(reached);
  const places = new Places<Link<Entry>>(reached, options.clockToleranceS * 1_000, steps.take);
  const linkOf = createLinkOf<Entry>();
  /** The second being gathered. */
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
  const push = (entries: readonly Entry[]): ChainStep<Entry>[] => {
    for (const entry of entries) {
      const decimals = Math.max(decimalsOf(entry.credit ?? entry.debit!), decimalsOf(entry.balance));
      if (decimals > scale) widen(decimals);
      const link = linkOf(entry, scale);
      if (second.length > 0 && second[0]!.bookedMs !== link.bookedMs) {
        closeSecond();
        places.giveOut(link.bookedMs);
      }
      second.push(link);
    }
    return steps.given();
  };
  const end = (): ChainStep<Entry>[] => {
    closeSecond();
    places.giveOutAll();
    return steps.given();
  };
  const isSettledAt = (ms: number): boolean => {
    closeSecond();
    return places.isSettledAt(ms);
  };
  return { push, end, isSettledAt, wantsEarlier: () => places.wantsEarlier };
}
