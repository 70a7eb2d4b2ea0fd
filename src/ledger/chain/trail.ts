/**
 * Puts entries into an order that their balances allow, with the fewest breaks, if every order is allowed.
 *
 * Each entry is an edge from the balance before it to the balance after it. Entries chain where the edges form a
 * trail: a path that uses each edge once. Finding a trail takes linear time (Hierholzer 1873), and so does finding
 * the fewest trails where one is not enough.
 */
import { createSurvey, jumpsBetween, type Edge, type Survey } from './survey.ts';

export const inTime = (a: Edge, b: Edge): number =>
  a.bookedMs - b.bookedMs || (a.batchNo < b.batchNo ? -1 : a.batchNo > b.batchNo ? 1 : 0);

/** Up to so many entries are compared one by one. A graph is faster only beyond that. */
const SEARCHED_MAX = 16;

/**
 * The only order in which the entries chain from `start`. Null if there is none, or if there is a choice on the way.
 * Nearly every second has exactly one, and finding it like this takes a tenth of the time.
 */
export function onlyOrder<E extends Edge>(entries: readonly E[], start: bigint): readonly E[] | null {
  if (entries.length === 1) return entries[0]!.before === start ? entries : null;
  if (entries.length > SEARCHED_MAX) return null;
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

/**
 * The entries in an order with the fewest breaks that comes from the balance `start` and ends on `end`. Where
 * balances leave a choice, time decides. `end` must be one of the ends that `bestEnds` gives for starts that include
 * `start`.
 *
 * An imagined entry from `end` back to `start` closes the order to a circle. The circle with the fewest breaks is
 * found part by part, and then cut open at the imagined entry.
 */
export function orderBetween<E extends Edge>(
  unordered: readonly E[],
  start: bigint,
  end: bigint,
): readonly E[] {
  const edges = unordered.toSorted(inTime);
  const closing: Edge = { before: end, after: start, bookedMs: Number.POSITIVE_INFINITY, batchNo: '' };
  const first: E[] = [];
  const last: E[] = [];
  const between: (readonly E[])[] = [];
  for (const { trail, closed } of trailsOf(createSurvey([...edges, closing]))) {
    const own = trail.map((index) => edges[index]);
    const at = own.indexOf(undefined);
    const entries = own.filter((edge) => edge !== undefined);
    if (at === -1) between.push(entries);
    else {
      for (const edge of entries.slice(at)) first.push(edge);
      for (const edge of entries.slice(0, at)) (closed ? first : last).push(edge);
    }
  }
  between.sort((a, b) => inTime(a[0]!, b[0]!));
  return [first, ...between, last].flat();
}

/**
 * The balance out of `starts` (null: any) from which an order with `jumps` breaks ends on `end`. If several do, it is
 * `preferred`, or without it the last.
 */
export function startFor(
  survey: Survey,
  starts: readonly bigint[] | null,
  {
    end,
    jumps,
    preferred,
  }: { readonly end: bigint; readonly jumps: number; readonly preferred: bigint | null },
): bigint {
  const candidates = starts ?? survey.edges.map(({ before }) => before);
  const fits = (start: bigint): boolean => jumpsBetween(survey, start, end) === jumps;
  if (preferred !== null && candidates.includes(preferred) && fits(preferred)) return preferred;
  const found = starts === null ? candidates.find(fits) : candidates.findLast(fits);
  if (found === undefined) throw new Error(`no order of ${jumps} jumps ends on the balance ${end}`);
  return found;
}

/** Stands for a break among the edges of a part. It leads from the end of a trail to the beginning of another. */
const JUMP = -1;

interface Trail {
  /** Edges by their index. */
  readonly trail: readonly number[];
  /** True if the trail ends where it begins. */
  readonly closed: boolean;
}

/** The fewest trails that use every edge once. */
function trailsOf(survey: Survey): Trail[] {
  const { edges, from, to, parts, surplus, vertexCount } = survey;
  const leaving: number[][] = Array.from({ length: vertexCount + 1 }, () => []);
  const begins = new Map<number, number[]>();
  for (let edge = 0; edge < edges.length; edge += 1) leaving[from[edge]!]!.push(edge);
  // A vertex that more entries leave than reach begins a trail for each of the surplus ones.
  for (let vertex = 0; vertex < vertexCount; vertex += 1) {
    for (let n = surplus[vertex]!; n > 0; n -= 1) append(begins, parts[vertex]!, vertex);
    for (let n = surplus[vertex]!; n < 0; n += 1) leaving[vertex]!.push(JUMP);
  }
  const hub = vertexCount;
  const taken = new Int32Array(vertexCount + 1);
  const trails: Trail[] = [];
  const seen = new Set<number>();
  for (let edge = 0; edge < edges.length; edge += 1) {
    const part = parts[from[edge]!]!;
    if (seen.has(part)) continue;
    seen.add(part);
    const partBegins = begins.get(part);
    if (partBegins === undefined) {
      trails.push({ trail: circuitFrom(from[edge]!, leaving, taken, (index) => to[index]!), closed: true });
      continue;
    }
    // All breaks go through one extra vertex, the hub. So the circuit falls apart into exactly the trails.
    leaving[hub] = partBegins.map(() => JUMP);
    taken[hub] = 0;
    const circuit = circuitFrom(hub, leaving, taken, (index, vertex, slot) =>
      index !== JUMP ? to[index]! : vertex === hub ? partBegins[slot]! : hub,
    );
    let trail: number[] = [];
    for (const index of circuit) {
      if (index !== JUMP) trail.push(index);
      else if (trail.length > 0) {
        trails.push({ trail, closed: false });
        trail = [];
      }
    }
  }
  return trails;
}

/**
 * The edges of a circuit from `start` through every edge of its part; a break is `JUMP`. Not recursive, as parts may
 * be large. `taken` counts the edges used up at each vertex, and is shared by all parts.
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
