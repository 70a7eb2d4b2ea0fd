/**
 * Puts entries without a given order into one their balances allow, with the fewest jumps.
 *
 * Each entry is an edge from the balance before it to the balance after it; entries are in order when the edges form
 * a trail. Finding one is linear (Hierholzer 1873), and so is the smallest set of trails where one is not enough.
 */
import { createSurvey, jumpsBetween, type Edge, type Survey } from './survey.ts';

export const inTime = (a: Edge, b: Edge): number =>
  a.bookedMs - b.bookedMs || (a.batchNo < b.batchNo ? -1 : a.batchNo > b.batchNo ? 1 : 0);

/** Up to so many entries are looked through one by one; beyond that a graph is worth its making. */
const LOOKED_THROUGH_MAX = 16;

/**
 * The one order in which the entries lead on from `start`, or null where there is none or another one as well.
 * Nearly every second has one, and finding it like this takes a tenth of the time.
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

/**
 * The entries in an order with the fewest jumps that is entered at the balance `start` and ends on `end`, by time
 * where balances leave a choice. `end` is one of the ends that `bestEnds` gives for a set of starts with `start` in it.
 *
 * An imagined entry from `end` back to `start` closes the order to a circle. The circle with the fewest jumps is found
 * part by part, and opened again where the imagined entry stands.
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

/** The balance out of `starts` (null: any) from which an order with `jumps` jumps ends on `end`; the last one there is. */
export function startFor(
  survey: Survey,
  starts: Iterable<bigint> | null,
  end: bigint,
  jumps: number,
): bigint {
  if (starts === null) {
    const first = survey.edges.find(({ before }) => jumpsBetween(survey, before, end) === jumps);
    if (first !== undefined) return first.before;
  }
  let found: bigint | undefined;
  for (const start of starts ?? []) if (jumpsBetween(survey, start, end) === jumps) found = start;
  if (found === undefined) throw new Error(`no order of ${jumps} jumps ends on the balance ${end}`);
  return found;
}

/** Stands for a jump among the edges of a part: out of a trail's end, or into another's begin. */
const JUMP = -1;

interface Trail {
  /** Edges by their index. */
  readonly trail: readonly number[];
  /** Ends where it begins. */
  readonly closed: boolean;
}

/** The fewest trails that use every edge once. */
function trailsOf(survey: Survey): Trail[] {
  const { edges, from, to, parts, surplus, vertexCount } = survey;
  const leaving: number[][] = Array.from({ length: vertexCount + 1 }, () => []);
  const begins = new Map<number, number[]>();
  for (let edge = 0; edge < edges.length; edge += 1) leaving[from[edge]!]!.push(edge);
  // A vertex with more entries leaving than arriving begins a trail for each of them.
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
    // Every jump goes through the hub, so that the circuit falls apart into just the trails.
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
