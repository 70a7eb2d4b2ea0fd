/** The running searches for orders that mix seconds. Each begins at one place. */
import { Search } from './allowed-orders.ts';
import type { Place, Way } from './place.ts';
import type { Edge } from './survey.ts';
import { inTime } from './trail.ts';

/**
 * Most searches at once; beyond that the one that began furthest back ends. A stretch of `MIXED_ENTRIES_SURE` entries
 * needs fewer.
 */
const RUNNING_MAX = 32;

interface Running<E extends Edge> {
  readonly search: Search<E>;
  readonly from: Place<E>;
  /** Breaks up to the place where the search begins, and the break into it if it starts from any balance. */
  readonly jumps: number;
}

export interface FoundWay<E extends Edge> {
  readonly way: Way<E>;
  readonly jumps: number;
  /** True if it began without a break. */
  readonly isComplete: boolean;
}

export class Searches<E extends Edge> {
  readonly #toleranceMs: number;
  #running: Running<E>[] = [];

  constructor(toleranceMs: number) {
    this.#toleranceMs = toleranceMs;
  }

  get areDone(): boolean {
    return this.#running.length === 0;
  }

  /**
   * Begins a search at a place and gives it the seconds after that place. `starts` null means from any balance, which
   * costs one break more.
   */
  begin(from: Place<E>, following: readonly Place<E>[], starts: readonly bigint[] | null): void {
    const search = new Search<E>(starts, this.#toleranceMs);
    for (const { links } of following) search.add(links.toSorted(inTime));
    const jumps = from.jumps + (starts === null && from.ends !== null ? 1 : 0);
    this.#running.push({ search, from, jumps });
    if (this.#running.length <= RUNNING_MAX) return;
    const furthest = this.#running.reduce((a, b) => (b.from.number < a.from.number ? b : a));
    this.#running.splice(this.#running.indexOf(furthest), 1);
  }

  /** Gives every search the next second. Returns the ways that end with it. */
  add(links: readonly E[]): FoundWay<E>[] {
    if (this.areDone) return [];
    const second = links.toSorted(inTime);
    return this.#running.flatMap(({ search, from, jumps }) =>
      [...search.add(second)].map(([end, spellOut]) => ({
        way: { from, ends: new Set([end]), spellOut },
        jumps,
        isComplete: jumps === from.jumps,
      })),
    );
  }

  /** Ends the searches that no entry booked at `nextMs` or later can continue. */
  endBefore(nextMs: number): void {
    if (this.areDone) return;
    this.#running = this.#running.filter(({ search }) => search.isOpenAt(nextMs));
  }

  passOver(place: Place<E>): boolean {
    return this.#running.some(({ from }) => from.number < place.number);
  }
}
