/** Owners with waiting calls and none on the wire: which owner is next, and when the next hold ends. Pure. */
import { SortedList } from './sorted-list.ts';

/** A call that waits. */
export interface Waiting {
  readonly rank: number;
  readonly go: () => void;
  readonly fail: (error: Error) => void;
  /** The platform asked its owner to wait. */
  readonly held: () => void;
}

/** A caller, with its slots and waiting calls. */
export interface Owner {
  readonly name: string;
  /** Order of arrival. */
  readonly number: number;
  /** By rank, then by arrival. */
  readonly waiting: Waiting[];
  inFlight: number;
  heldUntilMs: number;
  /** Number of the last turn it got. */
  turn: number;
  lastSeenMs: number;
  /** Whether its last call was answered; false before the first answer. */
  isAnswered: boolean;
  /** No call of it has ended yet. */
  isNew: boolean;
}

/** Longest unserved first; owners never served by arrival. */
export const byTurn = (one: Owner, other: Owner): number =>
  one.turn - other.turn || one.number - other.number;

/** Orders numbers that may be infinite. */
const inOrder = (one: number, other: number): number => (one === other ? 0 : one < other ? -1 : 1);

/** Least recent call first. */
export const bySeen = (one: Owner, other: Owner): number =>
  inOrder(one.lastSeenMs, other.lastSeenMs) || one.number - other.number;

/** Earliest end of hold first. */
const byHold = (one: Owner, other: Owner): number =>
  inOrder(one.heldUntilMs, other.heldUntilMs) || one.number - other.number;

export class WaitQueue {
  readonly #ready = new SortedList<Owner>(byTurn);
  readonly #held = new SortedList<Owner>(byHold);

  /** An owner's turn and hold must not change while it is queued. */
  add(owner: Owner): void {
    this.#held.add(owner);
  }

  remove(owner: Owner): void {
    this.#held.remove(owner);
    this.#ready.remove(owner);
  }

  /** Moves owners whose hold is over to the ready list. Must be called before the other methods. */
  release(nowMs: number): void {
    for (let owner = this.#held.first; owner !== undefined; owner = this.#held.first) {
      if (owner.heldUntilMs > nowMs) return;
      this.#held.remove(owner);
      this.#ready.add(owner);
    }
  }

  get readyCount(): number {
    return this.#ready.size;
  }

  /** The ready owner whose turn it is. */
  get first(): Owner | null {
    return this.#ready.first ?? null;
  }

  /** When the next hold ends; infinite without a hold. */
  get heldUntilMs(): number {
    return this.#held.first?.heldUntilMs ?? Number.POSITIVE_INFINITY;
  }
}
