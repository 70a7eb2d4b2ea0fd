/** One entry on its way into the balance chain, and the break between two of them. */
import type { BreakHint, BusinessDay, ContinuityBreak, LedgerEntry } from '../entry.ts';
import { fromScaled, toScaled } from '../money.ts';
import type { Edge } from './survey.ts';

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
  readonly scale: number;
  break: ContinuityBreak | null;
  moved: boolean;
}

export const widened = <Entry extends ChainEntry>(link: Link<Entry>, decimals: number): Link<Entry> => {
  const factor = 10n ** BigInt(decimals - link.scale);
  return {
    ...link,
    before: link.before * factor,
    after: link.after * factor,
    net: link.net * factor,
    scale: decimals,
  };
};

/** Where the chain stands: at the entry that got it there, or at its start. */
export interface Reached {
  readonly after: bigint;
  readonly batchNo: string | null;
  readonly bookedMs: number;
}

/** The jump between where the chain stands and the link after it; both balances are times 10^scale. */
function breakBetween(at: Reached, link: Link, scale: number): ContinuityBreak {
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

/** Makes links of entries, their amounts times 10^scale. */
export function createLinkOf<Entry extends ChainEntry>(): (entry: Entry, scale: number) => Link<Entry> {
  /** One string a day rather than one an entry. */
  let day: BusinessDay = '-';
  return (entry, scale) => {
    if (!entry.bookedAt.startsWith(day)) day = entry.bookedAt.slice(0, 10);
    const net = entry.credit === null ? -toScaled(entry.debit!, scale) : toScaled(entry.credit, scale);
    const after = toScaled(entry.balance, scale);
    return {
      entry,
      day,
      break: null,
      moved: false,
      net,
      before: after - net,
      after,
      scale,
      bookedMs: entry.bookedMs,
      batchNo: entry.batchNo,
    };
  };
}

export interface Steps<Entry extends ChainEntry> {
  /** Moves links, in their proven order, to the steps. */
  readonly take: (links: readonly Link<Entry>[]) => void;
  /** The links to come have balances larger by that factor. */
  readonly widen: (factor: bigint) => void;
  /** The steps taken since the last call. */
  readonly given: () => ChainStep<Entry>[];
}

/** Makes steps of links in their proven order: finds breaks between them, and those that moved. */
export function createSteps<Entry extends ChainEntry>(start: Reached | null): Steps<Entry> {
  let at = start;
  /** Latest instant of any entry so far. */
  let latestMs = Number.NEGATIVE_INFINITY;
  let steps: ChainStep<Entry>[] = [];
  const take = (links: readonly Link<Entry>[]): void => {
    for (const link of links) {
      if (at !== null && at.after !== link.before) link.break = breakBetween(at, link, link.scale);
      link.moved = link.bookedMs < latestMs;
      if (link.bookedMs > latestMs) latestMs = link.bookedMs;
      steps.push(link);
      at = link;
    }
  };
  const widen = (factor: bigint): void => {
    if (at !== null) at = { batchNo: at.batchNo, bookedMs: at.bookedMs, after: at.after * factor };
  };
  const given = (): ChainStep<Entry>[] => {
    const all = steps;
    steps = [];
    return all;
  };
  return { take, widen, given };
}
