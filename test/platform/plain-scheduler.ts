/**
 * The scheduler's rules in their simplest form: each step iterates over all owners, and none is forgotten. The real
 * scheduler must decide the same.
 */
const LATELY_MS = 10_000;

export interface PlainOwner {
  readonly name: string;
  waiting: number;
  inFlight: number;
  heldUntilMs: number;
  turn: number;
  lastSeenMs: number;
  isAnswered: boolean;
  isNew: boolean;
}

export class PlainScheduler {
  readonly #slots: number;
  readonly #unansweredMax: number;
  readonly #owners = new Map<string, PlainOwner>();
  #inFlight = 0;
  /** Slots held by owners that are not answered. */
  #unanswered = 0;
  #scheduler = 0;

  constructor(slots: number) {
    this.#slots = slots;
    this.#unansweredMax = Math.max(1, Math.floor(slots / 2));
  }

  get hasFreeSlot(): boolean {
    return this.#inFlight < this.#slots;
  }

  add(name: string, nowMs: number): void {
    const owner = this.ownerOf(name);
    owner.lastSeenMs = nowMs;
    owner.waiting += 1;
  }

  remove(name: string): void {
    this.ownerOf(name).waiting -= 1;
  }

  hold(name: string, untilMs: number): void {
    const owner = this.ownerOf(name);
    owner.heldUntilMs = Math.max(owner.heldUntilMs, untilMs);
  }

  ownerOf(name: string): PlainOwner {
    let owner = this.#owners.get(name);
    if (owner === undefined) {
      owner = {
        name,
        waiting: 0,
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

  next(nowMs: number): { owner: PlainOwner | null; atMs: number } {
    const share = this.#shareAt(nowMs);
    let best: PlainOwner | null = null;
    let atMs = Number.POSITIVE_INFINITY;
    for (const owner of this.#owners.values()) {
      if (owner.waiting === 0) continue;
      const ownMs = this.#readyMs(owner, nowMs);
      atMs = Math.min(atMs, ownMs);
      if (ownMs > nowMs) continue;
      if (best === null || goesBefore(owner, best, share)) best = owner;
    }
    return best === null ? { owner: null, atMs } : { owner: best, atMs: nowMs };
  }

  start(owner: PlainOwner): void {
    this.#inFlight += 1;
    owner.inFlight += 1;
    if (!owner.isAnswered) this.#unanswered += 1;
    owner.turn = this.#scheduler += 1;
    owner.waiting -= 1;
  }

  release(owner: PlainOwner, answered: boolean | null, nowMs: number): void {
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
      if (owner.inFlight > 0 || (owner.waiting > 0 && owner.heldUntilMs <= nowMs)) contending += 1;
    }
    return Math.max(1, Math.floor(this.#slots / Math.max(1, contending)));
  }

  /** When the owner may have a slot, if only time decides; infinite if a slot has to come back first. */
  #readyMs(owner: PlainOwner, nowMs: number): number {
    const isFirst = owner.isNew && owner.inFlight === 0;
    if (!owner.isAnswered && !isFirst && this.#unanswered >= this.#unansweredMax) {
      return Number.POSITIVE_INFINITY;
    }
    return Math.max(owner.heldUntilMs, this.#awaitedMs(owner), nowMs);
  }

  /** Until when the last slot is kept from an owner that has one already, for those who may be back. */
  #awaitedMs(owner: PlainOwner): number {
    let awaitedMs = Number.NEGATIVE_INFINITY;
    const isLast = this.#slots > 1 && this.#inFlight === this.#slots - 1 && owner.inFlight > 0;
    if (!isLast) return awaitedMs;
    for (const other of this.#owners.values()) {
      if (other.inFlight === 0) awaitedMs = Math.max(awaitedMs, other.lastSeenMs + LATELY_MS);
    }
    return awaitedMs;
  }
}

function goesBefore(one: PlainOwner, other: PlainOwner, share: number): boolean {
  const oneIsOver = one.inFlight >= share;
  const otherIsOver = other.inFlight >= share;
  return oneIsOver === otherIsOver ? one.turn < other.turn : otherIsOver;
}
