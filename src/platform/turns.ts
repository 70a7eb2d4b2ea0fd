/** Which owner may call next, and when: slots and turns, shared fairly. Pure; line.ts says what each rule is for. */

/** So long after its last call an owner is expected back. */
const LATELY_MS = 10_000;

/** A call that waits. */
export interface Waiting {
  readonly rank: number;
  readonly go: () => void;
}

/** Who calls, with its slots and the calls that wait. */
export interface Owner {
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

/** Who is next now; or nobody, and when somebody will be. */
export interface Next {
  readonly owner: Owner | null;
  /** Infinite if a slot has to come back first. */
  readonly atMs: number;
}

/** The slots of a line and their owners. Every instant is a parameter. */
export class Turns {
  readonly #slots: number;
  readonly #unansweredMax: number;
  readonly #owners = new Map<string, Owner>();
  #inFlight = 0;
  /** Slots held by owners that are not answered. */
  #unanswered = 0;
  #turns = 0;

  constructor(slots: number) {
    this.#slots = slots;
    this.#unansweredMax = Math.max(1, Math.floor(slots / 2));
  }

  get hasFreeSlot(): boolean {
    return this.#inFlight < this.#slots;
  }

  /** The owner of that name; a new one if it has not called before. */
  ownerOf(name: string): Owner {
    let owner = this.#owners.get(name);
    if (owner === undefined) {
      owner = {
        waiting: [],
        inFlight: 0,
        heldUntilMs: Number.NEGATIVE_INFINITY,
        turn: 0,
        lastSeenMs: Number.NEGATIVE_INFINITY,
        isAnswered: false,
        isNew: true,
      };
      this.#owners.set(name, owner);
    }
    return owner;
  }

  /** Of the owners that may have a slot now: one within its share before one beyond it, then the longest unserved. */
  next(nowMs: number): Next {
    const share = this.#shareAt(nowMs);
    let best: Owner | null = null;
    let atMs = Number.POSITIVE_INFINITY;
    for (const owner of this.#owners.values()) {
      if (owner.waiting.length === 0) continue;
      const ownMs = this.#readyMs(owner, nowMs);
      atMs = Math.min(atMs, ownMs);
      if (ownMs > nowMs) continue;
      if (best === null || goesBefore(owner, best, share)) best = owner;
    }
    return best === null ? { owner: null, atMs } : { owner: best, atMs: nowMs };
  }

  /** Gives a slot to the first call of the owner. */
  letThrough(owner: Owner): void {
    this.#inFlight += 1;
    owner.inFlight += 1;
    if (!owner.isAnswered) this.#unanswered += 1;
    owner.turn = this.#turns += 1;
    owner.waiting.shift()!.go();
  }

  /** Takes a slot back. `answered`: see `Leave`. */
  takeBack(owner: Owner, answered: boolean | null, nowMs: number): void {
    this.#inFlight -= 1;
    owner.inFlight -= 1;
    owner.lastSeenMs = nowMs;
    if (!owner.isAnswered) this.#unanswered -= 1;
    if (answered === null) return;
    owner.isNew = false;
    if (answered === owner.isAnswered) return;
    owner.isAnswered = answered;
    this.#unanswered += answered ? -owner.inFlight : owner.inFlight;
  }

  /** Slots for each owner that wants to call or is calling; at least one. */
  #shareAt(nowMs: number): number {
    let contending = 0;
    for (const owner of this.#owners.values()) {
      if (owner.inFlight > 0 || (owner.waiting.length > 0 && owner.heldUntilMs <= nowMs)) contending += 1;
    }
    return Math.max(1, Math.floor(this.#slots / Math.max(1, contending)));
  }

  /** When the owner may have a slot, if only time decides; infinite if a slot has to come back first. */
  #readyMs(owner: Owner, nowMs: number): number {
    const isFirst = owner.isNew && owner.inFlight === 0;
    if (!owner.isAnswered && !isFirst && this.#unanswered >= this.#unansweredMax) {
      return Number.POSITIVE_INFINITY;
    }
    return Math.max(owner.heldUntilMs, this.#awaitedMs(owner), nowMs);
  }

  /** Until when the last slot is kept from an owner that has one already, for those who may be back. */
  #awaitedMs(owner: Owner): number {
    let awaitedMs = Number.NEGATIVE_INFINITY;
    const isLast = this.#slots > 1 && this.#inFlight === this.#slots - 1 && owner.inFlight > 0;
    if (!isLast) return awaitedMs;
    for (const other of this.#owners.values()) {
      if (other.inFlight === 0) awaitedMs = Math.max(awaitedMs, other.lastSeenMs + LATELY_MS);
    }
    return awaitedMs;
  }
}

function goesBefore(one: Owner, other: Owner, share: number): boolean {
  const oneIsOver = one.inFlight >= share;
  const otherIsOver = other.inFlight >= share;
  return oneIsOver === otherIsOver ? one.turn < other.turn : otherIsOver;
}
