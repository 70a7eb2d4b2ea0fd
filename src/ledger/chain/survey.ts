/**
 * Counts the fewest breaks that some entries need if any order is allowed, and finds the balances they can end on.
 *
 * Balances are vertices and entries are edges of a graph. An order without a break is a trail: a path that uses each
 * edge once. For each vertex that more edges leave than reach, count the difference: a connected part needs as many
 * trails as these add up to, and at least one. Between two trails the chain breaks.
 */

export interface Edge {
  readonly before: bigint;
  readonly after: bigint;
  /** When the entry is booked, in ms. */
  readonly bookedMs: number;
  readonly batchNo: string;
}

export interface Survey<E extends Edge = Edge> {
  readonly edges: readonly E[];
  /** For each edge, the vertex of the balance before it, and of the balance after it. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly vertexOf: ReadonlyMap<bigint, number>;
  readonly vertexCount: number;
  /** Edges leaving a vertex minus edges reaching it. */
  readonly surplus: Int32Array;
  /** The connected part that each vertex is in. */
  readonly parts: Int32Array;
  /** For each part, how many trails must begin in it; 0 means that the part is a circuit. */
  readonly begins: Int32Array;
  readonly partCount: number;
  /** The fewest trails that use every edge once. */
  readonly trails: number;
}

/** The order of `edges` decides where the balances leave a choice. */
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

/** Connected parts, by union-find: for each vertex the root of its part. */
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
 * The fewest breaks on a way that comes from the balance `start`, uses all entries and ends on the balance `end`,
 * which one of the entries ends on. An imagined entry from `end` back to `start` closes the way. The closed way has
 * as many breaks as trails, except that a single circuit has none.
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
  /** The fewest breaks from any of the starts, counting a break into the first entry. */
  readonly jumps: number;
  /** Every balance that an order with so few breaks can end on, sorted by the last entry that ends there. */
  readonly ends: ReadonlySet<bigint>;
}

/**
 * The fewest breaks through all entries from the best of `starts` (null: any balance), and the balances they can end
 * on.
 */
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
    // Either the chain breaks into some trail. Or one trail is cut at the start: its second part comes first, and the
    // part that leads up to the start comes last.
    for (let edge = 0; edge < edges.length; edge += 1) {
      if (endsTrail(to[edge]!) || met.has(to[edge]!)) take(edge);
    }
    return { jumps: trails, ends };
  }
  const firstParts = new Set<number>();
  for (const vertex of startable) firstParts.add(parts[vertex]!);
  const [firstPart] = firstParts;
  // If only one part can come first, and it needs just one of several trails, then it cannot come last as well.
  const notLast = firstParts.size === 1 && trailsIn(survey, firstPart!) === 1 && trails > 1 ? firstPart : -1;
  for (let edge = 0; edge < edges.length; edge += 1) {
    const vertex = to[edge]!;
    // If the only trail is a circuit, it ends where it begins.
    const fits =
      trails === 1 && begins[parts[vertex]!] === 0
        ? startable.has(vertex)
        : endsTrail(vertex) && parts[vertex] !== notLast;
    if (fits) take(edge);
  }
  return { jumps: trails - 1, ends };
}
