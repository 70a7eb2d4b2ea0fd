/**
 * How few jumps some entries need in any order at all, and on which balances such an order can end.
 *
 * With balances as vertices and entries as edges, a connected part needs one trail for each entry by which its vertices
 * are left more often than they are reached, and one if there is none such. Between two trails the balance jumps.
 */

export interface Edge {
  readonly before: bigint;
  readonly after: bigint;
  /** Instant the entry is booked at, ms. */
  readonly bookedMs: number;
  readonly batchNo: string;
}

export interface Survey<E extends Edge = Edge> {
  readonly edges: readonly E[];
  /** Vertex of each edge's balance before and after. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly vertexOf: ReadonlyMap<bigint, number>;
  readonly vertexCount: number;
  /** Edges leaving a vertex minus edges reaching it. */
  readonly surplus: Int32Array;
  /** The part a vertex is of. */
  readonly parts: Int32Array;
  /** Positive surplus of each part; 0 is a circuit. */
  readonly begins: Int32Array;
  readonly partCount: number;
  /** Fewest trails that use every edge once. */
  readonly trails: number;
}

/** `edges` in the order that is to decide where balances do not. */
export function createSurvey<E extends Edge>(edges: readonly E[]): Survey<E> {
  const vertexOf = new Map<bigint, number>();
  const vertex = (balance: bigint): number => {
    let found = vertexOf.get(balance);
    if (found === undefined) vertexOf.set(balance, (found = vertexOf.size));
    return found;
  };
  const from = new Int32Array(edges.length);
  const to = new Int32Array(edges.length);
  edges.forEach((edge, index) => {
    from[index] = vertex(edge.before);
    to[index] = vertex(edge.after);
  });
  const vertexCount = vertexOf.size;
  const surplus = new Int32Array(vertexCount);
  for (let edge = 0; edge < edges.length; edge += 1) {
    surplus[from[edge]!]! += 1;
    surplus[to[edge]!]! -= 1;
  }
  const parts = partsOf(from, to, vertexCount);
  const begins = new Int32Array(vertexCount);
  let partCount = 0;
  let trails = 0;
  for (let at = 0; at < vertexCount; at += 1) {
    if (parts[at] === at) partCount += 1;
    if (surplus[at]! > 0) begins[parts[at]!]! += surplus[at]!;
  }
  for (let at = 0; at < vertexCount; at += 1) if (parts[at] === at) trails += Math.max(1, begins[at]!);
  return { edges, from, to, vertexOf, vertexCount, surplus, parts, begins, partCount, trails };
}

/** Connected parts, by union-find: the root of each vertex. */
function partsOf(from: Int32Array, to: Int32Array, vertexCount: number): Int32Array {
  const parent = Int32Array.from({ length: vertexCount }, (_, index) => index);
  const root = (vertex: number): number => {
    let at = vertex;
    while (parent[at] !== at) at = parent[at] = parent[parent[at]!]!;
    return at;
  };
  for (let edge = 0; edge < from.length; edge += 1) parent[root(from[edge]!)] = root(to[edge]!);
  return parent.map((_, vertex) => root(vertex));
}

const trailsIn = (survey: Survey, part: number): number => Math.max(1, survey.begins[part]!);

/**
 * Fewest jumps on a way from the balance `start` through all entries and on from the balance `end`, which one of them
 * ends on: an imagined entry from `end` back to `start` makes it a circle, which falls into as many trails as it jumps.
 */
export function jumpsBetween(survey: Survey, start: bigint, end: bigint): number {
  const { begins, parts, partCount, surplus, trails, vertexOf } = survey;
  const first = vertexOf.get(start);
  const last = vertexOf.get(end)!;
  const lastPart = parts[last]!;
  const beginsMore = surplus[last]! >= 0 ? 1 : 0;
  if (first === undefined) {
    return trails - trailsIn(survey, lastPart) + Math.max(1, begins[lastPart]! + beginsMore);
  }
  const firstPart = parts[first]!;
  if (firstPart === lastPart) {
    const beginsFewer = surplus[first]! > 0 ? 1 : 0;
    const left = begins[lastPart]! + (first === last ? 0 : beginsMore - beginsFewer);
    if (left === 0 && partCount === 1) return 0;
    return trails - trailsIn(survey, lastPart) + Math.max(1, left);
  }
  const left = begins[firstPart]! + begins[lastPart]! + beginsMore - (surplus[first]! > 0 ? 1 : 0);
  return trails - trailsIn(survey, firstPart) - trailsIn(survey, lastPart) + Math.max(1, left);
}

export interface BestEnds {
  /** Fewest jumps from any of the starts, the jump into the first entry included. */
  readonly jumps: number;
  /** Every balance that an order with so few can end on, by the last entry there. */
  readonly ends: ReadonlySet<bigint>;
}

/** Fewest jumps through all entries from the best of `starts` (null: any balance), and where they can lead to. */
export function bestEnds(survey: Survey, starts: Iterable<bigint> | null): BestEnds {
  const { begins, edges, parts, surplus, to, trails, vertexOf } = survey;
  const entered = starts === null ? vertexOf.keys() : starts;
  const met = new Set<number>();
  const startable = new Set<number>();
  for (const balance of entered) {
    const vertex = vertexOf.get(balance);
    if (vertex === undefined) continue;
    met.add(vertex);
    if (surplus[vertex]! > 0 || begins[parts[vertex]!] === 0) startable.add(vertex);
  }
  const ends = new Set<bigint>();
  const take = (edge: number): void => {
    ends.delete(edges[edge]!.after);
    ends.add(edges[edge]!.after);
  };
  const endsTrail = (vertex: number): boolean => surplus[vertex]! < 0 || begins[parts[vertex]!] === 0;
  if (startable.size === 0) {
    // A jump into any trail; or a trail split at the start, so that what leads up to there comes last.
    for (let edge = 0; edge < edges.length; edge += 1) {
      if (endsTrail(to[edge]!) || met.has(to[edge]!)) take(edge);
    }
    return { jumps: trails, ends };
  }
  const firstParts = new Set<number>();
  for (const vertex of startable) firstParts.add(parts[vertex]!);
  const [firstPart] = firstParts;
  // The only trail of the only part that can come first cannot come last as well, unless it is the only one.
  const notLast = firstParts.size === 1 && trailsIn(survey, firstPart!) === 1 && trails > 1 ? firstPart : -1;
  for (let edge = 0; edge < edges.length; edge += 1) {
    const vertex = to[edge]!;
    // The only circuit ends where it begins.
    const fits =
      trails === 1 && begins[parts[vertex]!] === 0
        ? startable.has(vertex)
        : endsTrail(vertex) && parts[vertex] !== notLast;
    if (fits) take(edge);
  }
  return { jumps: trails - 1, ends };
}
