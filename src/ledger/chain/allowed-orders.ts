/**
 * Searches for orders without a break that mix entries of different seconds.
 *
 * **An order is allowed when no entry comes before another one that is older by more than the clock tolerance.**
 * Orders in which time never goes back are always allowed. For all others `mayComeNext` decides, and nothing else.
 *
 * ### Example
 *
 * The tolerance is 2 s and the chain stands at 100. A (12:00:01) leads from 130 to 125, B (12:00:02) leads from 100
 * to 130. The order B, A has no break. It is allowed, because A is only 1 s older than B.
 */
import type { Edge } from './survey.ts';

/** Among up to this many entries, an order without a break is always found if there is one. */
export const MIXED_ENTRIES_SURE = 12;
/** Longer orders are not searched for. */
const MIXED_ENTRIES_MAX = 1_000;
/** Most partial orders that one search checks. This is enough for all of those over `MIXED_ENTRIES_SURE` entries. */
const SEARCH_STATES_SURE = 60_000;
/** The same for more entries. Balances seldom repeat, so there are few orders to choose from. */
const SEARCH_STATES_MAX = 1_000;
/** How many entries, counted from the oldest one not yet used, are checked: the bits of one number. */
const LOOKAHEAD_MAX = 31;
/** A state's key is those bits times this, plus the number of a balance. It has to stay an exact integer. */
const BALANCES_MAX = 2 ** 21;

/** Whether an entry may come next in an allowed order. `oldestMs` is the time of the oldest entry not yet used. */
export const mayComeNext = (bookedMs: number, oldestMs: number, toleranceMs: number): boolean =>
  bookedMs - oldestMs <= toleranceMs;

/** An allowed order without a break over all entries that the search was given. */
export interface AllowedOrder<E extends Edge> {
  /** The balance that the order starts from. */
  readonly start: bigint;
  readonly entries: readonly E[];
}

/** A partial order. It uses all entries before index `low`, and of the later ones those whose bit is set in `taken`. */
interface State {
  readonly low: number;
  readonly taken: number;
  /** Number of the balance reached; `ANY` before the first entry where the order may start from any balance. */
  readonly at: number;
  /** The last entry used, and the state before it was used; -1 and null at the start. */
  readonly entry: number;
  readonly before: State | null;
}

const ANY = -1;

/**
 * Finds all allowed orders without a break that start from given balances. It is given the entries second by second.
 */
export class Search<E extends Edge> {
  readonly #toleranceMs: number;
  readonly #entries: E[] = [];
  /** For each entry, the numbers of the balances before and after it. */
  readonly #before: number[] = [];
  readonly #after: number[] = [];
  /**
   * The entry before this one in the same second with the same balance before and after. The two are interchangeable,
   * so they are only used in this order. -1 if there is none.
   */
  readonly #twin: number[] = [];
  readonly #numberOf = new Map<bigint, number>();
  readonly #balances: bigint[] = [];
  /** States seen so far: one set for each `low`, with keys made of `taken` and `at`. */
  readonly #met: Set<number>[] = [];
  #count = 0;
  /** Partial orders that later entries may continue. */
  #open: State[];

  /** Orders start at one of `starts`, or at any balance (null). */
  constructor(starts: readonly bigint[] | null, toleranceMs: number) {
    this.#toleranceMs = toleranceMs;
    const numbers = starts === null ? [ANY] : starts.slice(0, MIXED_ENTRIES_MAX).map((b) => this.#number(b));
    this.#open = numbers.map((at) => ({ low: 0, taken: 0, at, entry: -1, before: null }));
  }

  /** Whether entries booked at that instant or later could still continue an order. */
  isOpenAt(ms: number): boolean {
    this.#open = this.#open.filter((state) => this.#leadsOn(state, ms));
    return this.#open.length > 0;
  }

  /**
   * Takes all entries of the next second, sorted by batchNo. Returns the orders over all entries given so far: for
   * each balance that such an order ends on, a function that spells out one of them.
   */
  add(second: readonly E[]): Map<bigint, () => AllowedOrder<E>> {
    const complete = new Map<bigint, () => AllowedOrder<E>>();
    if (this.#entries.length + second.length > MIXED_ENTRIES_MAX) {
      this.#open = [];
      return complete;
    }
    const known = this.#entries.length;
    const waiting = this.#open.filter((state) => this.#leadsOn(state, second[0]!.bookedMs));
    this.#append(second);
    this.#open = [...waiting];
    const statesMax = this.#entries.length > MIXED_ENTRIES_SURE ? SEARCH_STATES_MAX : SEARCH_STATES_SURE;
    const made: State[] = [];
    for (const state of waiting) this.#extend(state, known, made);
    for (let state = made.pop(); state !== undefined; state = made.pop()) {
      if (this.#count > statesMax) {
        this.#open = [];
        break;
      }
      if (state.low < this.#entries.length) {
        this.#open.push(state);
        this.#extend(state, state.low, made);
      } else {
        const last = state;
        const end = this.#balances[last.at]!;
        if (!complete.has(end)) complete.set(end, () => this.#spellOut(last));
      }
    }
    return complete;
  }

  #leadsOn(state: State, ms: number): boolean {
    const oldest = this.#entries[state.low];
    return oldest === undefined || mayComeNext(ms, oldest.bookedMs, this.#toleranceMs);
  }

  #append(second: readonly E[]): void {
    const lastLike = new Map<string, number>();
    for (const entry of second) {
      const index = this.#entries.push(entry) - 1;
      const before = this.#number(entry.before);
      const after = this.#number(entry.after);
      this.#before.push(before);
      this.#after.push(after);
      const like = `${before} ${after}`;
      this.#twin.push(lastLike.get(like) ?? -1);
      lastLike.set(like, index);
    }
  }

  #number(balance: bigint): number {
    let number = this.#numberOf.get(balance);
    if (number === undefined) {
      number = this.#balances.push(balance) - 1;
      this.#numberOf.set(balance, number);
    }
    return number;
  }

  /** Adds the states reached by using one more entry, out of those from index `first` on. */
  #extend(state: State, first: number, made: State[]): void {
    const { low, taken, at } = state;
    const oldestMs = this.#entries[low]!.bookedMs;
    const end = Math.min(this.#entries.length, low + LOOKAHEAD_MAX);
    // The state made last is checked first. So this loop runs backwards, to try earlier entries first.
    for (let index = end - 1; index >= Math.max(first, low); index -= 1) {
      if (at !== ANY && this.#before[index] !== at) continue;
      if ((taken & (1 << (index - low))) !== 0) continue;
      const twin = this.#twin[index]!;
      if (twin >= low && (taken & (1 << (twin - low))) === 0) continue;
      if (!mayComeNext(this.#entries[index]!.bookedMs, oldestMs, this.#toleranceMs)) continue;
      this.#make(state, index, made);
    }
  }

  #make(state: State, index: number, made: State[]): void {
    let low = state.low;
    let taken = state.taken | (1 << (index - low));
    while ((taken & 1) === 1) {
      taken >>>= 1;
      low += 1;
    }
    const at = this.#after[index]!;
    const met = (this.#met[low] ??= new Set());
    const key = taken * BALANCES_MAX + at;
    if (met.has(key)) return;
    met.add(key);
    this.#count += 1;
    made.push({ low, taken, at, entry: index, before: state });
  }

  #spellOut(last: State): AllowedOrder<E> {
    const entries: E[] = [];
    for (let state: State | null = last; state !== null && state.entry !== -1; state = state.before) {
      entries.push(this.#entries[state.entry]!);
    }
    entries.reverse();
    return { start: entries[0]!.before, entries };
  }
}
