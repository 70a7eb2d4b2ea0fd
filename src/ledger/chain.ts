/**
 * The balance chain of one account, as a stream: entries go in by time and come out in the order their balances prove,
 * with a break wherever no order can join them.
 *
 * Invariant: every entry comes out exactly once, and each one starts from the balance the one before it ended on, or
 * carries the break that says otherwise. Memory holds the entries of `clockToleranceS` seconds, whatever the day's size.
 */
import {
  breakBetween,
  jumpsIn,
  maxMs,
  startsOf,
  type ChainEntry,
  type ChainStep,
  type Link,
  type Reached,
} from './chain-link.ts';
import type { BusinessDay } from './entry.ts';
import { decimalsOf, toScaled } from './money.ts';
import { coverWithTrails, onlyOrder, type Cover } from './trail.ts';

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

export interface Chain<Entry extends ChainEntry = ChainEntry> {
  /** Takes entries sorted by (bookedMs, batchNo), going on from the last push; returns what is certain by now. */
  readonly push: (entries: readonly Entry[]) => ChainStep<Entry>[];
  /** Returns the rest. */
  readonly end: () => ChainStep<Entry>[];
}

/** Most entries the chain looks at together when it widens a group that does not chain; a burst beyond it stands alone. */
export const WIDENED_ENTRIES_MAX = 200_000;

export function createChain<Entry extends ChainEntry = ChainEntry>(options: ChainOptions): Chain<Entry> {
  const toleranceMs = options.clockToleranceS * 1_000;
  let scale = options.start === null ? 0 : decimalsOf(options.start.balance);
  let reached: Reached | null =
    options.start === null ? null : { ...options.start, after: toScaled(options.start.balance, scale) };
  /** Largest instant that came out so far. */
  let latestMs = Number.NEGATIVE_INFINITY;
  /** Seconds not yet settled, each with its entries, oldest first. */
  let held: Link<Entry>[][] = [];
  /** Settled seconds that a later one may still have to be mixed with, and the balance before the first of them. */
  let recent: { readonly links: readonly Link<Entry>[]; readonly from: Reached | null }[] = [];
  let out: ChainStep<Entry>[] = [];
  let currentDay: BusinessDay = '-';
  /** The second being gathered. */
  let group: Link<Entry>[] = [];

  const widen = (decimals: number): void => {
    const factor = 10n ** BigInt(decimals - scale);
    const grown = (at: Reached | null) => (at === null ? null : { ...at, after: at.after * factor });
    const grownLinks = (links: readonly Link<Entry>[]) =>
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

  const linkOf = (entry: Entry): Link<Entry> => {
    const amount = entry.credit ?? entry.debit!;
    const decimals = Math.max(decimalsOf(amount), decimalsOf(entry.balance));
    if (decimals > scale) widen(decimals);
    const net = entry.credit === null ? -toScaled(amount, scale) : toScaled(amount, scale);
    const after = toScaled(entry.balance, scale);
    return {
      entry,
      day: dayOfEntry(entry),
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

  /** One string a day rather than one an entry. */
  const dayOfEntry = (entry: Entry): BusinessDay => {
    if (!entry.bookedAt.startsWith(currentDay)) currentDay = entry.bookedAt.slice(0, 10);
    return currentDay;
  };

  const release = (links: readonly Link<Entry>[], from: Reached | null): void => {
    let at = from;
    for (const link of links) {
      if (at !== null && at.after !== link.before) link.break = breakBetween(at, link, scale);
      link.moved = link.bookedMs < latestMs;
      link.scale = scale;
      out.push(link);
      if (link.bookedMs > latestMs) latestMs = link.bookedMs;
      at = link;
    }
  };

  const releaseBefore = (ms: number): void => {
    for (let first = recent[0]; first !== undefined && maxMs(first.links) < ms; first = recent[0]) {
      recent.shift();
      release(first.links, first.from);
    }
  };

  const settle = (links: readonly Link<Entry>[]): void => {
    recent.push({ links, from: reached });
    reached = links.at(-1)!;
  };

  /** The order of a second's entries where balances leave just one. */
  const orderAlone = (links: readonly Link<Entry>[]): readonly Link<Entry>[] | null =>
    reached !== null ? onlyOrder(links, reached.after) : links.length === 1 ? links : null;

  /** Settles held seconds that chain, alone first, then mixed with what came just before; says whether any did. */
  const settleWhatChains = (next: ReadonlySet<bigint>): boolean => {
    const alone = orderAlone(held[0]!);
    if (alone !== null) {
      settle(alone);
      held.shift();
      return true;
    }
    const balance = reached?.after ?? null;
    const mixed: Link<Entry>[] = [];
    for (let count = 1; count <= held.length; count += 1) {
      mixed.push(...held[count - 1]!);
      if (mixed.length > WIDENED_ENTRIES_MAX && count > 1) break;
      const cover = coverWithTrails(mixed, balance, count === held.length ? next : startsOf(held[count]!));
      if (cover.jumps === 0 && cover.trails.length === 1) {
        settle(cover.trails[0]!);
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
      const cover = coverWithTrails(all, from?.after ?? null, next);
      if (cover.jumps === 0 && cover.trails.length === 1) {
        recent = recent.slice(0, -back);
        reached = from;
        settle(cover.trails[0]!);
        held = [];
        return true;
      }
    }
    return false;
  };

  /** Nothing chains: the fewest jumps, second by second where that is no worse than all together. */
  const settleBroken = (next: ReadonlySet<bigint>): void => {
    const start = reached?.after ?? null;
    const apart: Cover<Link<Entry>>[] = [];
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
    const jumps = Math.min(jumpsApart, together?.jumps ?? jumpsApart);
    if (settleFewerWithRecent(all, jumps, next)) return;
    if (together !== null && together.jumps < jumpsApart) {
      settle(together.trails.flat());
      held = [];
    } else {
      settle(apart[0]!.trails.flat());
      held.shift();
    }
  };

  /** Mixes the held seconds with those just settled where that saves jumps, with no more of them than it takes. */
  const settleFewerWithRecent = (
    unsettled: readonly Link<Entry>[],
    jumps: number,
    next: ReadonlySet<bigint>,
  ): boolean => {
    let saved = 0;
    let best: { readonly back: number; readonly cover: Cover<Link<Entry>> } | null = null;
    let jumpsBefore = jumps;
    for (let back = 1; back <= recent.length; back += 1) {
      const earlier = recent.slice(-back);
      const { links, from } = earlier[0]!;
      jumpsBefore += jumpsIn(links, from);
      const all = [...earlier.flatMap((second) => second.links), ...unsettled];
      if (all.length > WIDENED_ENTRIES_MAX) break;
      const cover = coverWithTrails(all, from?.after ?? null, next);
      if (jumpsBefore - cover.jumps <= saved) continue;
      saved = jumpsBefore - cover.jumps;
      best = { back, cover };
    }
    if (best === null) return false;
    reached = recent.at(-best.back)!.from;
    recent = recent.slice(0, -best.back);
    settle(best.cover.trails.flat());
    held = [];
    return true;
  };

  /** Settles what can be settled, given that no entry earlier than `knownToMs` is to come. */
  const advance = (knownToMs: number, next: readonly Link<Entry>[]): void => {
    const starts = startsOf(next);
    while (held.length > 0) {
      if (settleWhatChains(starts)) continue;
      const waits = knownToMs - held[0]![0]!.bookedMs <= toleranceMs;
      if (waits) return;
      settleBroken(starts);
    }
  };

  /** The second is whole: `next` begins the one after it. */
  const closeGroup = (next: Link<Entry> | null): void => {
    const alone = held.length === 0 ? orderAlone(group) : null;
    if (alone !== null) {
      settle(alone);
      return;
    }
    held.push(group);
    advance(next?.bookedMs ?? Number.POSITIVE_INFINITY, next === null ? [] : [next]);
  };

  const push = (entries: readonly Entry[]): ChainStep<Entry>[] => {
    for (const entry of entries) {
      const link = linkOf(entry);
      if (group.length > 0 && group[0]!.bookedMs === link.bookedMs) {
        group.push(link);
        continue;
      }
      if (group.length > 0) closeGroup(link);
      releaseBefore(link.bookedMs - toleranceMs);
      group = [link];
    }
    const steps = out;
    out = [];
    return steps;
  };

  const end = (): ChainStep<Entry>[] => {
    if (group.length > 0) closeGroup(null);
    group = [];
    advance(Number.POSITIVE_INFINITY, []);
    releaseBefore(Number.POSITIVE_INFINITY);
    const steps = out;
    out = [];
    return steps;
  };

  return { push, end };
}
