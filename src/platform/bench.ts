/** Owners whose calls wait while none is on the wire: who of them is next, and when the next hold ends. Pure. */
import { Sorted } from './sorted.ts';

/** A call that waits. */
export interface Waiting {
  readonly rank: number;
  readonly go: () => void;
  readonly fail: (error: Error) => void;
  /** Its owner was told to wait. */
  readonly held: () => void;
}

/** Who calls, with its slots and the calls that wait. */
export interface Owner {
  readonly name: string;
  /** Counts owners up, in the order in which they came. */
  readonly number: number;
  /** By rank; of equals, the one that came first. */
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

/** The longest unserved first; of those never served, the one that came first. */
export const byTurn = (one: Owner, other: Owner): number =>
  one.turn - other.turn || one.number - other.number;

/** Orders numbers that may be infinite. */
const inOrder = (one: number, other: number): number => (one === other ? 0 : one < other ? -1 : 1);

/** The one that called longest ago first. */
export const bySeen = (one: Owner, other: Owner): number =>
  inOrder(one.lastSeenMs, other.lastSeenMs) || one.number - other.number;

/** The one whose hold ends next first. */
const byHold = (one: Owner, other: Owner): number =>
  inOrder(one.heldUntilMs, other.heldUntilMs) || one.number - other.number;

export class Bench {
  readonly #ready = new Sorted<Owner>(byTurn);
  readonly #held = new Sorted<Owner>(byHold);

  /** An owner's turn and hold must not change while it is on the bench. */
  add(owner: Owner): void {
    this.#held.add(owner);
  }

  remove(owner: Owner): void {
    this.#held.remove(owner);
    this.#ready.remove(owner);
  }

  /** Lets those go whose hold is over. Call it before the others. */
  release(nowMs: number): void {
    for (let owner = this.#held.first; owner !== undefined; owner = this.#held.first) {
      if (owner.heldUntilMs > nowMs) return;
      this.#held.remove(owner);
      this.#ready.add(owner);
    }
  }

  /** How many are not held. */
  get readyCount(): number {
    return this.#ready.size;
  }

  /** Of those not held, the one whose turn it is. */
  get first(): Owner | null {
    return this.#ready.first ?? null;
  }

  /** When the next hold ends; infinite if nobody is held. */
  get heldUntilMs(): number {
    return this.#held.first?.heldUntilMs ?? Number.POSITIVE_INFINITY;
  }
}
