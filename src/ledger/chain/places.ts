/**
 * Finds the order of an account's entries second by second, with the fewest breaks. It holds as many places as
 * needed.
 *
 * For every place these are known: the fewest breaks on any way there, and the balances that a way with so few can
 * end on. Any other balance costs just one break more, so no other needs to be kept (dynamic programming). A way is
 * made of:
 *
 * - seconds in the order of time, the entries of each in any order;
 * - neighbouring seconds not further apart than the tolerance, all their entries in any order;
 * - seconds mixed in an allowed order without a break.
 *
 * As soon as all ways agree up to a place, the entries before it are given out.
 */
import { MIXED_ENTRIES_SURE, mayComeNext } from './allowed-orders.ts';
import {
  isOne,
  likeliestOf,
  listOf,
  note,
  oneOrSome,
  spellOut,
  startOf,
  wayInAnyOrder,
  type Place,
  type Way,
} from './place.ts';
import { Searches } from './searches.ts';
import type { Edge } from './survey.ts';
import { onlyOrder } from './trail.ts';

/**
 * Most entries held while more than one balance is possible. If even these do not decide, the best way so far is
 * taken, which may cost one break more than necessary.
 */
const HELD_ENTRIES_MAX = 250_000;

/** What the chain is known to come from. */
export interface Start {
  readonly after: bigint;
  /** Other balances that it may come from just as well. */
  readonly others: readonly bigint[];
  readonly bookedMs: number;
}

/** The balances to take where the entries leave several; null for the one of the latest entry. */
export interface Preferred {
  /** Before the first break. */
  readonly opening: bigint | null;
  /** At the end. */
  readonly closing: bigint | null;
}

export class Places<E extends Edge> {
  readonly #toleranceMs: number;
  readonly #give: (links: readonly E[]) => void;
  /** When the entry right before the chain's start was booked. */
  readonly #startMs: number;
  /** The first place is where the entries given out so far end. */
  #places: Place<E>[];
  #searches: Searches<E>;
  /** The known ways that skip places, by the counts of entries where they begin and end. */
  #passes: { readonly from: number; readonly to: number }[] = [];
  #wantsEarlier = false;
  #preferred: Preferred;
  #otherEnds: readonly bigint[] = [];

  /** `give` receives the entries in their final order. */
  constructor(
    start: Start | null,
    preferred: Preferred,
    toleranceMs: number,
    give: (links: readonly E[]) => void,
  ) {
    this.#preferred = preferred;
    this.#toleranceMs = toleranceMs;
    this.#give = give;
    this.#searches = new Searches(toleranceMs);
    this.#startMs = start?.bookedMs ?? Number.NEGATIVE_INFINITY;
    this.#places = [startOf(start === null ? null : oneOrSome(new Set([...start.others, start.after])))];
  }

  /** The balance to end on. */
  #endOf({ ends, jumps, ways }: Place<E>): bigint {
    const { opening, closing } = this.#preferred;
    const list = listOf(ends)!;
    if (closing !== null && list.includes(closing)) return closing;
    if (jumps > 0 || isOne(ends)) return list.at(-1)!;
    // Without a break, several ends mean that the chain ends on its opening, whichever it is. The order of time is
    // likelier than one that mixes seconds; its way is the first one.
    return opening !== null && list.includes(opening) ? opening : likeliestOf(ways[0]!.ends, null);
  }

  /** Whether entries before the start might have avoided a break. */
  get wantsEarlier(): boolean {
    return this.#wantsEarlier;
  }

  /** Whether the entries so far can end on one balance only. */
  get hasOneEnd(): boolean {
    return isOne(this.#places.at(-1)!.ends);
  }

  /** After `emitAll`, the other balances that the entries may end on with as few breaks. */
  get otherEnds(): readonly bigint[] {
    return this.#otherEnds;
  }

  /** Takes all entries of the next second. */
  add(second: readonly E[]): void {
    const last = this.#places.at(-1)!;
    const alone = isOne(last.ends) ? onlyOrder(second, last.ends) : null;
    const place: Place<E> = {
      number: last.number + 1,
      links: alone ?? second,
      ms: second[0]!.bookedMs,
      count: last.count + second.length,
      jumps: last.jumps,
      ends: alone === null ? null : alone.at(-1)!.after,
      leadsOn: alone !== null,
      ways: [],
      searched: false,
      lastWithOne: last.lastWithOne,
      lastWithMore: last.lastWithMore,
    };
    if (alone === null && !this.#reachInTime(place, last)) this.#lookBack(place);
    if (this.#isUneasy(place)) this.#mix(place);
    if (isOne(place.ends)) place.lastWithOne = place.number;
    else place.lastWithMore = place.number;
    this.#places.push(place);
  }

  /** Gives out, in order, the entries that can no longer be moved by entries booked at `nextMs` or later. */
  emit(nextMs: number): void {
    this.#searches.endBefore(nextMs);
    while (this.#places.length > 1 && this.#isFinal(1, nextMs)) this.#emitTo(1);
    const last = this.#places.at(-1)!;
    if (this.#places.length === 1 || !this.#isUneasy(last)) return;
    const first = this.#places[0]!.number;
    for (let index = last.lastWithOne - first; index > 0;) {
      if (this.#isFinal(index, nextMs)) {
        this.#emitTo(index);
        break;
      }
      index = this.#places[index - 1]!.lastWithOne - first;
    }
    if (this.#places.length > 2 && last.count - this.#places[0]!.count > HELD_ENTRIES_MAX) this.emitAll();
  }

  /** Gives out all remaining entries. */
  emitAll(): void {
    const last = this.#places.at(-1)!;
    if (this.#places.length === 1) return;
    const end = this.#endOf(last);
    this.#otherEnds = listOf(last.ends)!.filter((other) => other !== end);
    last.ends = end;
    last.lastWithOne = last.number;
    if (last.lastWithMore === last.number) last.lastWithMore = -1;
    this.#searches = new Searches(this.#toleranceMs);
    this.#emitTo(this.#places.length - 1);
  }

  /**
   * Whether entries booked at `ms` or later leave order and breaks of the earlier ones unchanged, once it is known which
   * of the balances that they may end on is the right one.
   */
  isSettledAt(ms: number): boolean {
    this.#searches.endBefore(ms);
    const last = this.#places.at(-1)!;
    if (last.ends === null || !this.#searches.areDone) return false;
    for (let index = this.#places.length - 2; index >= 0; index -= 1) {
      const place = this.#places[index]!;
      if (!mayComeNext(ms, this.#places[index + 1]!.ms, this.#toleranceMs)) break;
      if (place.jumps < last.jumps || !isOne(place.ends)) return false;
    }
    return true;
  }

  /** Makes all held places again after amounts got more decimals. Balances grow by `factor`. */
  widen(factor: bigint, widened: (link: E) => E): void {
    const [first, ...held] = this.#places as [Place<E>, ...Place<E>[]];
    const ends = listOf(first.ends)?.map((end) => end * factor) ?? null;
    first.ends = ends === null ? null : ends.length === 1 ? ends[0]! : new Set(ends);
    first.searched = false;
    first.lastWithOne = isOne(first.ends) ? first.number : -1;
    first.lastWithMore = isOne(first.ends) ? -1 : first.number;
    this.#places = [first];
    this.#searches = new Searches(this.#toleranceMs);
    this.#passes = [];
    const { opening, closing } = this.#preferred;
    this.#preferred = {
      opening: opening === null ? null : opening * factor,
      closing: closing === null ? null : closing * factor,
    };
    for (const { links } of held) this.add(links.map(widened));
  }

  /**
   * Adds the way through this second alone. Returns whether it has no break and comes from a place with one balance.
   */
  #reachInTime(place: Place<E>, last: Place<E>): boolean {
    const { way, jumps } = wayInAnyOrder(last, place.links);
    place.jumps = Number.POSITIVE_INFINITY;
    note(place, way, last.jumps + jumps);
    return jumps === 0 && isOne(last.ends);
  }

  /** Whether another order may still win: a search is running, or a held place has several balances or fewer breaks. */
  #isUneasy(place: Place<E>): boolean {
    const first = this.#places[0]!;
    return (
      !this.#searches.areDone ||
      first.jumps < place.jumps ||
      !isOne(place.ends) ||
      place.lastWithMore >= first.number
    );
  }

  /** Begins searches for orders that mix this second with those before it. */
  #lookBack(place: Place<E>): void {
    const places = this.#places;
    let index = places.length;
    do {
      index -= 1;
      const from = places[index]!;
      if (!from.searched) this.#searches.begin(from, places.slice(index + 1), listOf(from.ends));
      from.searched = true;
    } while (index > 0 && this.#isNear(place, index, places[index]!.ms, places[index - 1]!.count));
    // Earlier entries may be booked up to the tolerance later than the one that the chain starts from.
    const startMs = this.#startMs + this.#toleranceMs;
    if (places[index]!.number === 0 && this.#isNear(place, 0, startMs, 0)) this.#wantsEarlier = true;
    // After a break the chain may continue from any balance, as at the start of a history.
    const last = places.at(-1)!;
    if (place.jumps > last.jumps && last.ends !== null) this.#searches.begin(last, [], null);
  }

  /**
   * Whether the second that ends at `ms` is worth mixing with `place`: close to the second after it, and not far
   * back.
   */
  #isNear(place: Place<E>, index: number, ms: number, entriesBefore: number): boolean {
    const following = this.#places[index + 1] ?? place;
    return (
      mayComeNext(following.ms, ms, this.#toleranceMs) &&
      (mayComeNext(place.ms, ms, this.#toleranceMs) ||
        this.#places.at(-1)!.count - entriesBefore < MIXED_ENTRIES_SURE)
    );
  }

  /** Adds the ways to a place that mix its second with earlier ones. */
  #mix(place: Place<E>): void {
    let links = place.links;
    for (let index = this.#places.length - 2; index >= 0; index -= 1) {
      const from = this.#places[index]!;
      const following = this.#places[index + 1]!;
      if (!mayComeNext(place.ms, following.ms, this.#toleranceMs)) break;
      links = [...following.links, ...links];
      if (from.jumps >= place.jumps && isOne(from.ends)) continue;
      const { way, jumps } = wayInAnyOrder(from, links);
      if (jumps === 0 || from.jumps + jumps < place.jumps) this.#note(place, way, from.jumps + jumps);
    }
    for (const { way, jumps, isComplete } of this.#searches.add(place.links)) {
      if (isComplete || jumps < place.jumps) this.#note(place, way, jumps);
    }
  }

  #note(place: Place<E>, way: Way<E>, jumps: number): void {
    if (note(place, way, jumps)) this.#passes.push({ from: way.from.count, to: place.count });
  }

  /** Whether all ways to come go through the place at that index. */
  #isFinal(index: number, nextMs: number): boolean {
    const place = this.#places[index]!;
    if (!isOne(place.ends) || mayComeNext(nextMs, place.ms, this.#toleranceMs)) return false;
    const followingMs = this.#places[index + 1]?.ms ?? nextMs;
    const isFar =
      !mayComeNext(followingMs, place.ms, this.#toleranceMs) ||
      this.#places.at(-1)!.count - place.count >= MIXED_ENTRIES_SURE;
    return (
      isFar &&
      !this.#searches.passOver(place) &&
      this.#passes.every(({ from, to }) => place.count <= from || place.count >= to)
    );
  }

  #emitTo(index: number): void {
    const place = this.#places[index]!;
    if (index === 1 && place.leadsOn) {
      this.#give(place.links);
      this.#places.shift();
    } else {
      const preferred = this.#preferred.opening;
      const order = spellOut(this.#places, index, { end: likeliestOf(place.ends, preferred), preferred });
      this.#places.splice(0, index);
      for (const links of order) this.#give(links);
    }
    if (this.#passes.length > 0) this.#passes = this.#passes.filter(({ to }) => to > place.count);
  }
}
