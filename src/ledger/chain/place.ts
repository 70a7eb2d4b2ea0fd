/**
 * A place is a point between two seconds of the chain, with the balances it can have there and the ways to get there.
 */
import { createSurvey, bestEnds, type Edge } from './survey.ts';
import { inTime, orderBetween, startFor } from './trail.ts';

/** The balances that the chain can have at a place: exactly one, several, or any (null) because nothing came before. */
export type Ends = bigint | ReadonlySet<bigint> | null;

export interface Place<E extends Edge> {
  /** Places are numbered in the order they are made. */
  readonly number: number;
  /** The entries of the second right before this place. */
  links: readonly E[];
  /** That second. */
  readonly ms: number;
  /** How many entries lie before this place, since the chain began. */
  readonly count: number;
  /** The fewest breaks on any way here. */
  jumps: number;
  /** All balances known to be the end of a way with that few breaks. */
  ends: Ends;
  /** True if `links`, in their order, lead here without a break from the only balance of the place before. */
  leadsOn: boolean;
  /** The other ways. For each balance the first way that ends on it counts. */
  ways: readonly Way<E>[];
  /** True once the search for orders that mix seconds has begun here. */
  searched: boolean;
  /**
   * Number of the last place up to this one that has one balance, and of the last that has several; -1 if there is
   * none.
   */
  lastWithOne: number;
  lastWithMore: number;
}

/** An order of all entries between two places. `ends` are the balances that it can end on. */
export interface Way<E extends Edge> {
  readonly from: Place<E>;
  readonly ends: ReadonlySet<bigint>;
  /**
   * The entries in an order that ends on `end`, and the balance it starts from. If `from` does not have that balance,
   * a break comes first. If it may start from several balances, `preferred` is taken.
   */
  readonly spellOut: (
    end: bigint,
    preferred: bigint | null,
  ) => { readonly start: bigint; readonly entries: readonly E[] };
}

export const startOf = <E extends Edge>(ends: Ends): Place<E> => ({
  number: 0,
  links: [],
  ms: Number.NEGATIVE_INFINITY,
  count: 0,
  jumps: 0,
  ends,
  leadsOn: false,
  ways: [],
  searched: false,
  lastWithOne: isOne(ends) ? 0 : -1,
  lastWithMore: isOne(ends) ? -1 : 0,
});

export const isOne = (ends: Ends): ends is bigint => typeof ends === 'bigint';

export const listOf = (ends: Ends): readonly bigint[] | null =>
  isOne(ends) ? [ends] : ends === null ? null : [...ends];

export const oneOrSome = (ends: ReadonlySet<bigint>): Ends => {
  const [first] = ends;
  return ends.size === 1 ? first! : ends;
};

/** The balance to take if later entries do not decide: the preferred one, else the one that the latest entry ends on. */
export function likeliestOf(ends: Ends, preferred: bigint | null): bigint {
  const list = listOf(ends);
  if (preferred !== null && list?.includes(preferred) === true) return preferred;
  const last = list?.at(-1);
  if (last === undefined) throw new Error('a chain without entries has no balance to end on');
  return last;
}

/** The way with the fewest breaks through the entries of some seconds, if every order is allowed. */
export function wayInAnyOrder<E extends Edge>(
  from: Place<E>,
  unordered: readonly E[],
): { readonly way: Way<E>; readonly jumps: number } {
  const links = unordered.toSorted(inTime);
  const { jumps, ends } = bestEnds(createSurvey(links), listOf(from.ends));
  const spellOut = (end: bigint, preferred: bigint | null) => {
    const start = startFor(createSurvey(links), listOf(from.ends), { end, jumps, preferred });
    return { start, entries: orderBetween(links, start, end) };
  };
  return { way: { from, ends, spellOut }, jumps };
}

/**
 * Adds a way to a place. A way with fewer breaks replaces the known ones. With as many breaks it joins them if it
 * ends on other balances. Returns whether it was added.
 */
export function note<E extends Edge>(place: Place<E>, way: Way<E>, jumps: number): boolean {
  if (jumps < place.jumps) {
    place.jumps = jumps;
    place.ends = oneOrSome(way.ends);
    place.ways = [way];
    place.leadsOn = false;
    return true;
  }
  if (jumps > place.jumps || place.ends === null) return false;
  const ends = new Set(listOf(place.ends));
  const known = ends.size;
  for (const end of way.ends) ends.add(end);
  if (ends.size === known) return false;
  place.ends = ends;
  place.ways = [...place.ways, way];
  return true;
}

/**
 * All entries from `places[0]` up to `places[to]`, in an order that ends on `end`. Where several balances are possible
 * before the first break, `preferred` is taken.
 */
export function spellOut<E extends Edge>(
  places: readonly Place<E>[],
  to: number,
  { end, preferred }: { readonly end: bigint; readonly preferred: bigint | null },
): (readonly E[])[] {
  const orders: (readonly E[])[] = [];
  let at = end;
  for (let index = to; index > 0;) {
    const place = places[index]!;
    if (place.leadsOn && place.links.at(-1)!.after === at) {
      orders.push(place.links);
      at = place.links[0]!.before;
      index -= 1;
      continue;
    }
    const balance = at;
    const way = place.ways.find(({ ends }) => ends.has(balance))!;
    const { ends, jumps } = way.from;
    const own = jumps === 0 ? preferred : null;
    const { start, entries } = way.spellOut(balance, own);
    orders.push(entries);
    const entered = isOne(ends) ? ends === start : (ends?.has(start) ?? true);
    at = entered ? start : likeliestOf(ends, own);
    index = places.lastIndexOf(way.from, index - 1);
  }
  return orders.reverse();
}
