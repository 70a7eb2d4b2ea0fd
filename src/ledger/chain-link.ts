/** One entry on its way into the balance chain, and what can be said of a row of them. */
import type { BreakHint, BusinessDay, ContinuityBreak, LedgerEntry } from './entry.ts';
import { fromScaled } from './money.ts';
import type { Edge } from './trail.ts';

/** What the chain looks at of an entry; of `bookedAt` it reads the day alone. */
export type ChainEntry = Pick<
  LedgerEntry,
  'batchNo' | 'credit' | 'debit' | 'balance' | 'bookedAt' | 'bookedMs'
>;

/** One entry in its proven place. */
export interface ChainStep<Entry extends ChainEntry = ChainEntry> {
  readonly entry: Entry;
  readonly day: BusinessDay;
  /** The jump between the entry before and this one. */
  readonly break: ContinuityBreak | null;
  /** Booked before an entry that comes earlier in the chain. */
  readonly moved: boolean;
  /** Credit minus debit, and the balances around the entry, all times 10^scale. */
  readonly net: bigint;
  readonly before: bigint;
  readonly after: bigint;
  readonly scale: number;
}

/** An entry on its way to its place; the step it comes out as, once that is certain, is the same object. */
export interface Link<Entry extends ChainEntry = ChainEntry> extends Edge {
  readonly entry: Entry;
  readonly day: BusinessDay;
  readonly net: bigint;
  break: ContinuityBreak | null;
  moved: boolean;
  scale: number;
}

/** Where the chain stands: at the entry that got it there, or at its start. */
export interface Reached {
  readonly after: bigint;
  readonly batchNo: string | null;
  readonly bookedMs: number;
}

export const startsOf = (links: readonly Link[]): ReadonlySet<bigint> =>
  new Set(links.map(({ before }) => before));
export const maxMs = (links: readonly Link[]): number =>
  links.length === 1 ? links[0]!.bookedMs : links.reduce((ms, link) => Math.max(ms, link.bookedMs), 0);

/** Jumps on the way through the links as they stand, the one from where the chain stood included. */
export function jumpsIn(links: readonly Link[], from: Reached | null): number {
  let jumps = 0;
  let balance = from?.after ?? links[0]!.before;
  for (const link of links) {
    if (link.before !== balance) jumps += 1;
    balance = link.after;
  }
  return jumps;
}

/** The jump between where the chain stands and the link after it; both balances are times 10^scale. */
export function breakBetween(at: Reached, link: Link, scale: number): ContinuityBreak {
  return {
    afterBatchNo: at.batchNo,
    beforeBatchNo: link.batchNo,
    expectedBalance: fromScaled(at.after, scale),
    foundBalance: fromScaled(link.before, scale),
    missingNet: fromScaled(link.before - at.after, scale),
    hint: 'unexplained' satisfies BreakHint,
    hintBatchNo: null,
    span: {
      beginMs: Math.min(at.bookedMs, link.bookedMs),
      endMs: Math.max(at.bookedMs, link.bookedMs) + 999,
    },
    day: link.entry.bookedAt.slice(0, 10),
  };
}
