/** The types of an entry before and after the chain has placed it, and the making of a break between two entries. */
import type { BreakHint, BusinessDay, ContinuityBreak, LedgerEntry } from '../entry.ts';
import { fromScaled, toScaled } from '../money.ts';
import type { Edge } from './survey.ts';

/** The fields of an entry that the chain needs. Of `bookedAt` it reads only the day. */
export type ChainEntry = Pick<
  LedgerEntry,
  'batchNo' | 'credit' | 'debit' | 'balance' | 'bookedAt' | 'bookedMs'
>;

/** An entry in its proven place. */
export interface ChainStep<Entry extends ChainEntry = ChainEntry> {
  readonly entry: Entry;
  readonly day: BusinessDay;
  /** The break between the entry before and this one. */
  readonly break: ContinuityBreak | null;
  /** True if an entry that comes earlier in the chain is booked later than this one. */
  readonly moved: boolean;
  /** Credit minus debit, then the balances before and after the entry, all times 10^scale. */
  readonly net: bigint;
  readonly before: bigint;
  readonly after: bigint;
  readonly scale: number;
}

/** An entry that is not placed yet. Once its place is certain, the same object becomes its `ChainStep`. */
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

/** The balance that the chain has reached (`after`), and the entry that led there or the start of the chain. */
export interface Reached {
  readonly after: bigint;
  /** Other balances that the next entry may start from just as well. */
  readonly others?: readonly bigint[];
  readonly batchNo: string | null;
  readonly bookedMs: number;
}

/** The break between the balance reached and the next entry. Both balances are times 10^scale. */
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
    day: link.day,
  };
}

/** Makes links of entries, their amounts times 10^scale. */
export function createLinkOf<Entry extends ChainEntry>(): (
  entry: Entry,
  scale: number,
  ofDay?: BusinessDay,
) => Link<Entry> {
  /** Neighbouring entries share one string for their day, to save memory. */
  let day: BusinessDay = '-';
  return (entry, scale, ofDay) => {
    if (ofDay !== undefined) day = ofDay;
    else if (!entry.bookedAt.startsWith(day)) day = entry.bookedAt.slice(0, 10);
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
  /** Turns links into steps. The links come in their proven order. */
  readonly take: (links: readonly Link<Entry>[]) => void;
  /** Tells it that the balances of all further links are larger by this factor. */
  readonly widen: (factor: bigint) => void;
  /** Returns the steps made since the last call. */
  readonly given: () => ChainStep<Entry>[];
}

/** Turns links in their proven order into steps: finds the breaks, and the entries out of the order of time. */
export function createSteps<Entry extends ChainEntry>(start: Reached | null): Steps<Entry> {
  let at = start;
  /** The latest time of any entry so far. */
  let latestMs = Number.NEGATIVE_INFINITY;
  let steps: ChainStep<Entry>[] = [];
  const take = (links: readonly Link<Entry>[]): void => {
    for (const link of links) {
      if (at !== null && at.after !== link.before && at.others?.includes(link.before) !== true)
        link.break = breakBetween(at, link, link.scale);
      link.moved = link.bookedMs < latestMs;
      if (link.bookedMs > latestMs) latestMs = link.bookedMs;
      steps.push(link);
      at = link;
    }
  };
  const widen = (factor: bigint): void => {
    if (at === null) return;
    const { batchNo, bookedMs, after, others = [] } = at;
    at = { batchNo, bookedMs, after: after * factor, others: others.map((other) => other * factor) };
  };
  const given = (): ChainStep<Entry>[] => {
    const all = steps;
    steps = [];
    return all;
  };
  return { take, widen, given };
}
