/**
 * Orders without a break that mix entries of different seconds.
 *
 * **An order is allowed when no entry precedes one that is more than the clock tolerance older.** Orders in which time
 * never goes back are always allowed; which of the others are is decided here alone, by `mayComeNext`.
 */
import type { Edge } from './survey.ts';

/** An order without a break over up to so many entries is always found where there is one. */
export const MIXED_ENTRIES_SURE = 12;
/** No order that mixes more entries is looked for. */
const MIXED_ENTRIES_MAX = 1_000;
/** Ways to begin an order that are looked at: enough for every one of `MIXED_ENTRIES_SURE` entries. */
const SEARCH_STATES_SURE = 60_000;
/** The same where there are more entries: those of a true order are few, as balances seldom repeat. */
const SEARCH_STATES_MAX = 1_000;
/** So many entries after the oldest one not yet taken are looked at, as bits of one number. */
const LOOKED_AHEAD_MAX = 31;
/** Room for the number of a balance beside those bits, in a number that stays exact. */
const BALANCES_MAX = 2 ** 21;

/** Whether an entry may come next in an allowed order while `oldest` is the oldest one that has not come. */
export const mayComeNext = (bookedMs: number, oldestMs: number, toleranceMs: number): boolean =>
  bookedMs - oldestMs <= toleranceMs;

/** An allowed order without a break over all entries that a search was given. */
export interface AllowedOrder<E extends Edge> {
  /** The balance it was entered at. */
  readonly start: bigint;
  readonly entries: readonly E[];
}

/** The beginning of an order: all entries before `low` are taken, and those after it that `taken` has a bit for. */
interface State {
  readonly low: number;
  readonly taken: number;
  /** The balance reached, by its number; `ANY` before the first entry of an order that may start anywhere. */
  readonly at: number;
  /** The entry taken last, and the state before that; -1 and null at the start. */
  readonly entry: number;
  readonly before: State | null;
}

const ANY = -1;

/** All allowed orders without a break, from some balances on, over entries that come second by second. */
export class Search<E extends Edge> {
  readonly #toleranceMs: number;
  readonly #entries: E[] = [];
  /** Numbers of the balances before and after each entry. */
  readonly #before: number[] = [];
  readonly #after: number[] = [];
  /** The entry before this one in the same second that leads from the same balance to the same: one stands for both. */
  readonly #twin: number[] = [];
  readonly #numberOf = new Map<bigint, number>();
  readonly #balances: bigint[] = [];
  /** States met, by the oldest entry not taken, then by those taken and the balance. */
  readonly #met: Set<number>[] = [];
  #count = 0;
  /** States that entries to come may lead on from. */
  #open: State[];

  /** Orders start at one of `starts`, or at any balance (null). */
  constructor(starts: readonly bigint[] | null, toleranceMs: number) {
    this.#toleranceMs = toleranceMs;
    const numbers = starts === null ? [ANY] : starts.slice(0, MIXED_ENTRIES_MAX).map((b) => this.#number(b));
    this.#open = numbers.map((at) => ({ low: 0, taken: 0, at, entry: -1, before: null }));
  }

  /** Whether entries booked at that instant or later could still become part of an order. */
  isOpenAt(ms: number): boolean {
    this.#open = this.#open.filter((state) => this.#leadsOn(state, ms));
    return this.#open.length > 0;
  }

  /**
   * Takes the entries of the next second, in order of their batchNos. Returns the orders over all entries given so far:
   * by the balance they end on, how to spell out one of them.
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
        const whole = state;
        const end = this.#balances[whole.at]!;
        if (!complete.has(end)) complete.set(end, () => this.#spellOut(whole));
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

  /** Adds the states that one entry more leads to, of those from index `first` on. */
  #extend(state: State, first: number, made: State[]): void {
    const { low, taken, at } = state;
    const oldestMs = this.#entries[low]!.bookedMs;
    const end = Math.min(this.#entries.length, low + LOOKED_AHEAD_MAX);
    // The last one made is looked at first: earlier entries are to come before later ones.
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

  #spellOut(whole: State): AllowedOrder<E> {
    const entries: E[] = [];
    for (let state: State | null = whole; state !== null && state.entry !== -1; state = state.before) {
      entries.push(this.#entries[state.entry]!);
    }
    entries.reverse();
    return { start: entries[0]!.before, entries };
  }
}
