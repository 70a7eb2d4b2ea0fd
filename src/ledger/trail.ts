/**
 * Puts entries without a given order into the order their balances allow.
 *
 * Each entry is an edge from the balance before it to the balance after it; entries are in order when the edges form
 * a trail. Finding one is linear (Hierholzer 1873), and so is the smallest set of trails where one is not enough.
 */

export interface Edge {
  readonly before: bigint;
  readonly after: bigint;
  /** Instant the entry is booked at, ms. */
  readonly bookedMs: number;
  readonly batchNo: string;
}

export interface Cover<E extends Edge> {
  /** Trails in the order they are to be read; between two of them the balance jumps. */
  readonly trails: readonly (readonly E[])[];
  /** Jumps on the way, the one from the incoming balance to the first trail included. */
  readonly jumps: number;
}

const inTime = (a: Edge, b: Edge): number =>
  a.bookedMs - b.bookedMs || (a.batchNo < b.batchNo ? -1 : a.batchNo > b.batchNo ? 1 : 0);

/** Up to so many entries are looked through one by one; beyond that a graph is worth its making. */
const LOOKED_THROUGH_MAX = 16;

/**
 * The one order in which the entries lead on from `start`, or null where there is none or another one as well: then
 * `coverWithTrails` decides. Nearly every second has one, and finding it like this takes a tenth of the time.
 */
export function onlyOrder<E extends Edge>(entries: readonly E[], start: bigint): readonly E[] | null {
  if (entries.length === 1) return entries[0]!.before === start ? entries : null;
  if (entries.length > LOOKED_THROUGH_MAX) return null;
  const trail = [...entries];
  let at = start;
  for (let place = 0; place < trail.length; place += 1) {
    let found = -1;
    for (let index = place; index < trail.length; index += 1) {
      if (trail[index]!.before !== at) continue;
      if (found !== -1) return null;
      found = index;
    }
    if (found === -1) return null;
    const next = trail[found]!;
    trail[found] = trail[place]!;
    trail[place] = next;
    at = next.after;
  }
  return trail;
}

interface Graph<E extends Edge> {
  readonly edges: readonly E[];
  /** Vertex of each edge's balance before and after. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly vertexOf: ReadonlyMap<bigint, number>;
  readonly count: number;
}

function graphOf<E extends Edge>(edges: readonly E[]): Graph<E> {
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
  return { edges, from, to, vertexOf, count: vertexOf.size };
}

/** Connected parts, by union-find: the root of each vertex. */
function partsOf(graph: Graph<Edge>): Int32Array {
  const parent = Int32Array.from({ length: graph.count }, (_, index) => index);
  const root = (vertex: number): number => {
    let at = vertex;
    while (parent[at] !== at) at = parent[at] = parent[parent[at]!]!;
    return at;
  };
  for (let edge = 0; edge < graph.edges.length; edge += 1)
    parent[root(graph.from[edge]!)] = root(graph.to[edge]!);
  return parent.map((_, vertex) => root(vertex));
}

/** Stands for a jump among the edges of a part: out of a trail's end, or into another's begin. */
const JUMP = -1;

/**
 * Edges of the circuit from `start` over every edge of its part, jumps as -1. Iterative, as groups may be large;
 * `taken` counts the edges used up a vertex and is shared by all parts.
 */
function circuitFrom(
  start: number,
  leaving: readonly (readonly number[])[],
  taken: Int32Array,
  target: (edge: number, vertex: number, slot: number) => number,
): number[] {
  const circuit: number[] = [];
  const vertices = [start];
  const walked: number[] = [];
  while (vertices.length > 0) {
    const vertex = vertices.at(-1)!;
    const slot = taken[vertex]!;
    const edge = leaving[vertex]![slot];
    if (edge !== undefined) {
      taken[vertex] = slot + 1;
      vertices.push(target(edge, vertex, slot));
      walked.push(edge);
    } else {
      vertices.pop();
      const arrived = walked.pop();
      if (arrived !== undefined) circuit.push(arrived);
    }
  }
  return circuit.reverse();
}

const append = (lists: Map<number, number[]>, key: number, value: number): void => {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
};

/**
 * The fewest trails that use every entry once, in a reproducible order: the one that starts at `start` first, one that
 * ends where `next` goes on last, the others by time. `start` null means nothing came before, so the first trail is
 * no jump. The answer does not depend on the order of `unordered`.
 */
export function coverWithTrails<E extends Edge>(
  unordered: readonly E[],
  start: bigint | null,
  next: ReadonlySet<bigint> = new Set(),
): Cover<E> {
  const edges = [...unordered].sort(inTime);
  const graph = graphOf(edges);
  const surplus = new Int32Array(graph.count);
  const leaving: number[][] = Array.from({ length: graph.count + 1 }, () => []);
  for (let edge = 0; edge < edges.length; edge += 1) {
    surplus[graph.from[edge]!]! += 1;
    surplus[graph.to[edge]!]! -= 1;
    leaving[graph.from[edge]!]!.push(edge);
  }
  const parts = partsOf(graph);
  const startVertex = start === null ? undefined : graph.vertexOf.get(start);
  // A vertex with more entries leaving than arriving begins a trail for each of them.
  const begins = new Map<number, number[]>();
  for (let vertex = 0; vertex < graph.count; vertex += 1) {
    for (let n = surplus[vertex]!; n > 0; n -= 1) append(begins, parts[vertex]!, vertex);
    for (let n = surplus[vertex]!; n < 0; n += 1) leaving[vertex]!.push(JUMP);
  }

  const hub = graph.count;
  const taken = new Int32Array(graph.count + 1);
  const trails: E[][] = [];
  const seen = new Set<number>();
  for (let edge = 0; edge < edges.length; edge += 1) {
    const part = parts[graph.from[edge]!]!;
    if (seen.has(part)) continue;
    seen.add(part);
    const partBegins = begins.get(part);
    if (partBegins === undefined) {
      const from = circuitStart(graph, parts, part, startVertex, next) ?? graph.from[edge]!;
      trails.push(
        circuitFrom(from, leaving, taken, (index) => graph.to[index]!).map((index) => edges[index]!),
      );
      continue;
    }
    const first = startVertex === undefined ? -1 : partBegins.indexOf(startVertex);
    if (first > 0) partBegins.unshift(...partBegins.splice(first, 1));
    // Every jump goes through the hub, so that the circuit falls apart into just the trails.
    leaving[hub] = partBegins.map(() => JUMP);
    taken[hub] = 0;
    const circuit = circuitFrom(hub, leaving, taken, (index, vertex, slot) =>
      index !== JUMP ? graph.to[index]! : vertex === hub ? partBegins[slot]! : hub,
    );
    let trail: E[] = [];
    for (const index of circuit) {
      if (index !== JUMP) trail.push(edges[index]!);
      else if (trail.length > 0) {
        trails.push(trail);
        trail = [];
      }
    }
  }
  return ordered(trails, start, next);
}

/** Where a part that is one circuit is best entered: at the incoming balance, else where the next entries go on. */
function circuitStart(
  graph: Graph<Edge>,
  parts: Int32Array,
  part: number,
  startVertex: number | undefined,
  next: ReadonlySet<bigint>,
): number | undefined {
  if (startVertex !== undefined && parts[startVertex] === part) return startVertex;
  for (const balance of next) {
    const vertex = graph.vertexOf.get(balance);
    if (vertex !== undefined && parts[vertex] === part) return vertex;
  }
  return undefined;
}

function ordered<E extends Edge>(trails: E[][], start: bigint | null, next: ReadonlySet<bigint>): Cover<E> {
  const byTime = [...trails].sort((a, b) => inTime(a[0]!, b[0]!));
  const firstIndex = start === null ? -1 : byTime.findIndex((trail) => trail[0]!.before === start);
  const first = firstIndex === -1 ? [] : byTime.splice(firstIndex, 1);
  const lastIndex = byTime.findLastIndex((trail) => next.has(trail.at(-1)!.after));
  const last = lastIndex === -1 ? [] : byTime.splice(lastIndex, 1);
  const all = [...first, ...byTime, ...last];
  let jumps = 0;
  let balance = start;
  for (const trail of all) {
    if (balance !== null && trail[0]!.before !== balance) jumps += 1;
    balance = trail.at(-1)!.after;
  }
  return { trails: all, jumps };
}
