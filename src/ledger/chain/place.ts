/** Where the chain can stand between two seconds, and the ways that lead there. */
import { createSurvey, bestEnds, type Edge } from './survey.ts';
import { inTime, orderBetween, startFor } from './trail.ts';

/** Balances the chain can stand on: a single one, some, or any (null) as nothing came before. */
export type Ends = bigint | ReadonlySet<bigint> | null;

export interface Place<E extends Edge> {
  /** Places are numbered as they come. */
  readonly number: number;
  /** Entries of the second before this place. */
  links: readonly E[];
  /** That second. */
  readonly ms: number;
  /** Entries before this place, since the chain began. */
  readonly count: number;
  /** Fewest jumps on any way here. */
  jumps: number;
  /** Every balance that a way with so few jumps is known to end on. */
  ends: Ends;
  /** `links` as they stand lead here from the only end of the place before, without a jump. */
  leadsOn: boolean;
  /** The other ways; the first one to an end is taken. */
  ways: readonly Way<E>[];
  /** Orders from here on that mix seconds have been looked for. */
  searched: boolean;
  /** Numbers of the latest places up to this one with one end, and with more; -1 where there is none. */
  lastWithOne: number;
  lastWithMore: number;
}

/** An order of all entries between two places. */
export interface Way<E extends Edge> {
  readonly from: Place<E>;
  readonly ends: ReadonlySet<bigint>;
  /** The entries so that they end on `end`, and the balance they are entered at: one of `from`'s, or by a jump. */
  readonly spellOut: (end: bigint) => { readonly start: bigint; readonly entries: readonly E[] };
}

export const startOf = <E extends Edge>(balance: bigint | null): Place<E> => ({
  number: 0,
  links: [],
  ms: Number.NEGATIVE_INFINITY,
  count: 0,
  jumps: 0,
  ends: balance,
  leadsOn: false,
  ways: [],
  searched: false,
  lastWithOne: balance === null ? -1 : 0,
  lastWithMore: balance === null ? 0 : -1,
});

export const isOne = (ends: Ends): ends is bigint => typeof ends === 'bigint';

export const listOf = (ends: Ends): readonly bigint[] | null =>
  isOne(ends) ? [ends] : ends === null ? null : [...ends];

const oneOrSome = (ends: ReadonlySet<bigint>): Ends => {
  const [first] = ends;
  return ends.size === 1 ? first! : ends;
};

/** The end that is taken where nothing that follows decides: that of the latest entry. */
export function lastOf(ends: Ends): bigint {
  const last = listOf(ends)?.at(-1);
  if (last === undefined) throw new Error('a chain without entries has no balance to end on');
  return last;
}

/** The way through some seconds' entries in any order at all, with the fewest jumps. */
export function wayInAnyOrder<E extends Edge>(
  from: Place<E>,
  unordered: readonly E[],
): { readonly way: Way<E>; readonly jumps: number } {
  const links = unordered.toSorted(inTime);
  const { jumps, ends } = bestEnds(createSurvey(links), listOf(from.ends));
  const spellOut = (end: bigint) => {
    const start = startFor(createSurvey(links), listOf(from.ends), end, jumps);
    return { start, entries: orderBetween(links, start, end) };
  };
  return { way: { from, ends, spellOut }, jumps };
}

/** Notes a way to a place: instead of those known where it has fewer jumps, beside them where it leads to other ends. */
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

/** All entries from `places[0]` up to `places[to]` in the order that ends on `end`. */
export function spellOut<E extends Edge>(
  places: readonly Place<E>[],
  to: number,
  end: bigint,
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
    const { start, entries } = way.spellOut(balance);
    orders.push(entries);
    const { ends } = way.from;
    const entered = isOne(ends) ? ends === start : (ends?.has(start) ?? true);
    at = entered ? start : lastOf(ends);
    index = places.lastIndexOf(way.from, index - 1);
  }
  return orders.reverse();
}
