/**
 * The balance chain of one account, as a stream: entries go in by time and come out in the order their balances prove,
 * with a break wherever no order can join them.
 *
 * Invariant: every entry comes out exactly once, and each one starts from the balance the one before it ended on, or
 * carries the break that says otherwise. Memory holds the entries of `clockToleranceS` seconds, whatever the day's size.
 */
import type { BreakHint, BusinessDay, ContinuityBreak, LedgerEntry } from './entry.ts';
import { decimalsOf, fromScaled, toScaled } from './money.ts';
import { coverWithTrails, type Cover, type Edge } from './trail.ts';

/** Where the chain takes up: the balance reached, and the entry that reached it. */
export interface ChainStart {
  readonly balance: string;
  readonly batchNo: string | null;
  readonly bookedMs: number;
}

export interface ChainOptions {
  /** Entries within so many seconds may trade places before a break is called. */
  readonly clockToleranceS: number;
  /** Null where nothing came before: the first entry's opening is derived from it. */
  readonly start: ChainStart | null;
}

/** One entry in its proven place. */
export interface ChainStep {
  readonly entry: LedgerEntry;
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

export interface Chain {
  /** Takes entries sorted by (bookedMs, batchNo), going on from the last push; returns what is certain by now. */
  readonly push: (entries: readonly LedgerEntry[]) => ChainStep[];
  /** Returns the rest. */
  readonly end: () => ChainStep[];
}

interface Link extends Edge {
  readonly entry: LedgerEntry;
  readonly net: bigint;
}

interface Reached {
  readonly balance: bigint;
  readonly batchNo: string | null;
  readonly bookedMs: number;
}

/** Most entries the chain looks at together when it widens a group that does not chain; a burst beyond it stands alone. */
export const WIDENED_ENTRIES_MAX = 200_000;

export function createChain(options: ChainOptions): Chain {
  const toleranceMs = options.clockToleranceS * 1_000;
  let scale = options.start === null ? 0 : decimalsOf(options.start.balance);
  let reached: Reached | null =
    options.start === null ? null : { ...options.start, balance: toScaled(options.start.balance, scale) };
  /** Largest instant that came out so far. */
  let latestMs = Number.NEGATIVE_INFINITY;
  /** Seconds not yet settled, each with its entries, oldest first. */
  let held: Link[][] = [];
  /** Settled seconds that a later one may still have to be mixed with, and the balance before the first of them. */
  let recent: { readonly links: Link[]; readonly from: Reached | null }[] = [];
  let out: ChainStep[] = [];
  let currentDay: BusinessDay = '-';
  /** The second being gathered. */
  let group: Link[] = [];

  const widen = (decimals: number): void => {
    const factor = 10n ** BigInt(decimals - scale);
    const grown = (at: Reached | null) => (at === null ? null : { ...at, balance: at.balance * factor });
    const grownLinks = (links: Link[]) =>
      links.map((link) => ({
        ...link,
        before: link.before * factor,
        after: link.after * factor,
        net: link.net * factor,
      }));
    reached = grown(reached);
    held = held.map(grownLinks);
    group = grownLinks(group);
    recent = recent.map(({ links, from }) => ({ links: grownLinks(links), from: grown(from) }));
    scale = decimals;
  };

  const linkOf = (entry: LedgerEntry): Link => {
    const amount = entry.credit ?? entry.debit!;
    const decimals = Math.max(decimalsOf(amount), decimalsOf(entry.balance));
    if (decimals > scale) widen(decimals);
    const net = entry.credit === null ? -toScaled(amount, scale) : toScaled(amount, scale);
    const after = toScaled(entry.balance, scale);
    return { entry, net, before: after - net, after, bookedMs: entry.bookedMs, batchNo: entry.batchNo };
  };

  /** One string a day rather than one an entry. */
  const dayOfEntry = (entry: LedgerEntry): BusinessDay => {
    if (!entry.bookedAt.startsWith(currentDay)) currentDay = entry.bookedAt.slice(0, 10);
    return currentDay;
  };

  const release = (links: readonly Link[], from: Reached | null): void => {
    let at = from;
    for (const link of links) {
      const jump = at !== null && at.balance !== link.before ? breakBetween(at, link, scale) : null;
      out.push({
        entry: link.entry,
        day: dayOfEntry(link.entry),
        break: jump,
        moved: link.bookedMs < latestMs,
        net: link.net,
        before: link.before,
        after: link.after,
        scale,
      });
      if (link.bookedMs > latestMs) latestMs = link.bookedMs;
      at = { balance: link.after, batchNo: link.batchNo, bookedMs: link.bookedMs };
    }
  };

  const releaseBefore = (ms: number): void => {
    let count = 0;
    while (
      count < recent.length &&
      recent[count]!.links.at(-1)!.bookedMs < ms &&
      maxMs(recent[count]!.links) < ms
    ) {
      const { links, from } = recent[count]!;
      release(links, from);
      count += 1;
    }
    if (count > 0) recent = recent.slice(count);
  };

  const settle = (links: Link[]): void => {
    recent.push({ links, from: reached });
    const last = links.at(-1)!;
    reached = { balance: last.after, batchNo: last.batchNo, bookedMs: last.bookedMs };
  };

  /** Settles held seconds that chain, alone first, then mixed with what came just before; says whether any did. */
  const settleWhatChains = (next: ReadonlySet<bigint>): boolean => {
    const first = held[0]!;
    if (first.length === 1 && (reached === null || reached.balance === first[0]!.before)) {
      settle(first);
      held.shift();
      return true;
    }
    const balance = reached?.balance ?? null;
    const mixed: Link[] = [];
    for (let count = 1; count <= held.length; count += 1) {
      mixed.push(...held[count - 1]!);
      if (mixed.length > WIDENED_ENTRIES_MAX && count > 1) break;
      const cover = coverWithTrails(mixed, balance, count === held.length ? next : startsOf(held[count]!));
      if (cover.jumps === 0 && cover.trails.length === 1) {
        settle([...cover.trails[0]!]);
        held = held.slice(count);
        return true;
      }
    }
    for (let back = 1; back <= recent.length; back += 1) {
      const earlier = recent.slice(-back);
      const from = earlier[0]!.from;
      const all = [...earlier.flatMap(({ links }) => links), ...mixed];
      if (all.length > WIDENED_ENTRIES_MAX) break;
      if (earlier.some(({ links, from: at }) => jumpsIn(links, at) > 0)) break;
      const cover = coverWithTrails(all, from?.balance ?? null, next);
      if (cover.jumps === 0 && cover.trails.length === 1) {
        recent = recent.slice(0, -back);
        reached = from;
        settle([...cover.trails[0]!]);
        held = [];
        return true;
      }
    }
    return false;
  };

  /** Nothing chains: the fewest jumps, second by second where that is no worse than all together. */
  const settleBroken = (next: ReadonlySet<bigint>): void => {
    const start = reached?.balance ?? null;
    const apart: Cover<Link>[] = [];
    let balance = start;
    held.forEach((links, index) => {
      const following = held[index + 1];
      const cover = coverWithTrails(links, balance, following === undefined ? next : startsOf(following));
      apart.push(cover);
      balance = cover.trails.at(-1)!.at(-1)!.after;
    });
    const jumpsApart = apart.reduce((sum, { jumps }) => sum + jumps, 0);
    const all = held.flat();
    const together =
      held.length > 1 && all.length <= WIDENED_ENTRIES_MAX ? coverWithTrails(all, start, next) : null;
    if (together !== null && together.jumps < jumpsApart) {
      settle(together.trails.flat());
      held = [];
    } else {
      settle(apart[0]!.trails.flat());
      held.shift();
    }
  };

  /** Settles what can be settled, given that no entry earlier than `knownToMs` is to come. */
  const advance = (knownToMs: number, next: readonly Link[]): void => {
    const starts = startsOf(next);
    while (held.length > 0) {
      if (settleWhatChains(starts)) continue;
      const waits = knownToMs - held[0]![0]!.bookedMs <= toleranceMs;
      if (waits) return;
      settleBroken(starts);
    }
  };

  const closeGroup = (next: readonly Link[], knownToMs: number): void => {
    if (group.length === 0) return;
    const only = group.length === 1 && held.length === 0 ? group[0]! : null;
    if (only !== null && (reached === null || reached.balance === only.before)) {
      settle(group);
      group = [];
      return;
    }
    held.push(group);
    group = [];
    advance(knownToMs, next);
  };

  const push = (entries: readonly LedgerEntry[]): ChainStep[] => {
    for (const entry of entries) {
      const link = linkOf(entry);
      if (group.length > 0 && group[0]!.bookedMs !== link.bookedMs) {
        closeGroup([link], link.bookedMs);
        releaseBefore(link.bookedMs - toleranceMs);
      }
      group.push(link);
    }
    const steps = out;
    out = [];
    return steps;
  };

  const end = (): ChainStep[] => {
    closeGroup([], Number.POSITIVE_INFINITY);
    advance(Number.POSITIVE_INFINITY, []);
    releaseBefore(Number.POSITIVE_INFINITY);
    const steps = out;
    out = [];
    return steps;
  };

  return { push, end };
}

const startsOf = (links: readonly Link[]): ReadonlySet<bigint> => new Set(links.map(({ before }) => before));
const maxMs = (links: readonly Link[]): number =>
  links.length === 1 ? links[0]!.bookedMs : links.reduce((ms, link) => Math.max(ms, link.bookedMs), 0);

function jumpsIn(links: readonly Link[], from: Reached | null): number {
  let jumps = 0;
  let balance = from?.balance ?? links[0]!.before;
  for (const link of links) {
    if (link.before !== balance) jumps += 1;
    balance = link.after;
  }
  return jumps;
}

function breakBetween(at: Reached, link: Link, scale: number): ContinuityBreak {
  return {
    afterBatchNo: at.batchNo,
    beforeBatchNo: link.batchNo,
    expectedBalance: fromScaled(at.balance, scale),
    foundBalance: fromScaled(link.before, scale),
    missingNet: fromScaled(link.before - at.balance, scale),
    hint: 'unexplained' satisfies BreakHint,
    hintBatchNo: null,
    span: {
      beginMs: Math.min(at.bookedMs, link.bookedMs),
      endMs: Math.max(at.bookedMs, link.bookedMs) + 999,
    },
    day: link.entry.bookedAt.slice(0, 10),
  };
}
