/**
 * Decides which owner may call next, and when. Pure; request-queue.ts gives the reason of each rule. No step iterates
 * over all owners, as there may be tens of thousands: only over those with calls on the wire.
 */

/** An owner is expected back within this time of its last call. */
const LATELY_MS = 10_000;
/** An owner without calls for this time is forgotten, and new if it calls again. */
const REMEMBERED_MS = 600_000;

/** The next owner; null if none may call before `atMs`. */
interface Next {
  readonly owner: Owner | null;
  /** Infinite if a slot has to come back first. */
  readonly atMs: number;
}

/** The slots of a request queue and their owners. Every instant is a parameter. */
export class FairScheduler {
  readonly #slots: number;
  readonly #unansweredMax: number;
  readonly #owners = new Map<string, Owner>();
  /** Owners with calls on the wire. The others are in `#seen`, and with waiting calls in a wait queue too. */
  readonly #calling = new Set<Owner>();
  readonly #seen = new SortedList<Owner>(bySeen);
  readonly #free = new WaitQueue();
  /** Owners that have called before, and whose last call was not answered. */
  readonly #barred = new WaitQueue();
  #inFlight = 0;
  /** Slots held by owners that are not answered. */
  #unanswered = 0;
  #scheduler = 0;
  #ownerCount = 0;
  #forgetAtMs = Number.NEGATIVE_INFINITY;

  constructor(slots: number) {
    this.#slots = slots;
    this.#unansweredMax = Math.max(1, Math.floor(slots / 2));
  }

  get hasFreeSlot(): boolean {
    return this.#inFlight < this.#slots;
  }

  add(name: string, waiting: Waiting, nowMs: number): Owner {
    if (nowMs >= this.#forgetAtMs) this.#forget(nowMs);
    const owner = this.#ownerOf(name);
    const isIdle = owner.inFlight === 0;
    if (isIdle) this.#seen.remove(owner);
    owner.lastSeenMs = nowMs;
    if (isIdle) this.#seen.add(owner);
    const after = owner.waiting.findLastIndex(({ rank }) => rank <= waiting.rank);
    owner.waiting.splice(after + 1, 0, waiting);
    if (isIdle && owner.waiting.length === 1) this.#queueOf(owner).add(owner);
    return owner;
  }

  remove(owner: Owner, waiting: Waiting): void {
    owner.waiting.splice(owner.waiting.indexOf(waiting), 1);
    if (owner.inFlight === 0 && owner.waiting.length === 0) this.#queueOf(owner).remove(owner);
  }

  /** No call of the owner of that name begins before that instant. */
  hold(name: string, untilMs: number): Owner {
    const owner = this.#ownerOf(name);
    const queue = owner.inFlight === 0 && owner.waiting.length > 0 ? this.#queueOf(owner) : null;
    queue?.remove(owner);
    owner.heldUntilMs = Math.max(owner.heldUntilMs, untilMs);
    queue?.add(owner);
    return owner;
  }

  /** Of the owners that may have a slot now: one within its share before one beyond it, then the longest unserved. */
  next(nowMs: number): Next {
    this.#free.release(nowMs);
    this.#barred.release(nowMs);
    const isOpen = this.#unanswered < this.#unansweredMax;
    const share = this.#shareNow();
    let best = this.#free.first;
    let atMs = this.#free.heldUntilMs;
    if (isOpen) {
      best = firstOf(best, this.#barred.first, share);
      atMs = Math.min(atMs, this.#barred.heldUntilMs);
    }
    for (const owner of this.#calling) {
      if (owner.waiting.length === 0 || (!owner.isAnswered && !isOpen)) continue;
      const ownMs = Math.max(owner.heldUntilMs, this.#awaitedMs());
      if (ownMs > nowMs) atMs = Math.min(atMs, ownMs);
      else best = firstOf(best, owner, share);
    }
    return best === null ? { owner: null, atMs } : { owner: best, atMs: nowMs };
  }

  /** How many calls could start, if only slots and turns decided. At least 1 if `next` found an owner. */
  canGo(nowMs: number): number {
    let calls = this.#free.readyCount;
    if (this.#unanswered < this.#unansweredMax) calls += this.#barred.readyCount;
    for (const owner of this.#calling) if (owner.heldUntilMs <= nowMs) calls += owner.waiting.length;
    return Math.min(calls, this.#slots - this.#inFlight);
  }

  removeAll(): Waiting[] {
    const removed: Waiting[] = [];
    for (const owner of this.#owners.values()) {
      if (owner.waiting.length > 0 && owner.inFlight === 0) this.#queueOf(owner).remove(owner);
      removed.push(...owner.waiting.splice(0));
    }
    return removed;
  }

  /** Gives a slot to the owner's first call. */
  start(owner: Owner): void {
    if (owner.inFlight === 0) {
      this.#queueOf(owner).remove(owner);
      this.#seen.remove(owner);
      this.#calling.add(owner);
    }
    this.#inFlight += 1;
    owner.inFlight += 1;
    if (!owner.isAnswered) this.#unanswered += 1;
    owner.turn = this.#scheduler += 1;
    owner.waiting.shift()!.go();
  }

  /** `answered`: see `Leave`. */
  release(owner: Owner, answered: boolean | null, nowMs: number): void {
    this.#inFlight -= 1;
    owner.inFlight -= 1;
    owner.lastSeenMs = nowMs;
    if (!owner.isAnswered) this.#unanswered -= 1;
    if (answered !== null) this.#note(owner, answered);
    if (owner.inFlight > 0) return;
    this.#calling.delete(owner);
    this.#seen.add(owner);
    if (owner.waiting.length > 0) this.#queueOf(owner).add(owner);
  }

  #note(owner: Owner, answered: boolean): void {
    owner.isNew = false;
    if (answered === owner.isAnswered) return;
    owner.isAnswered = answered;
    this.#unanswered += answered ? -owner.inFlight : owner.inFlight;
  }

  /** The owner of that name; a new one if it has not called before. */
  #ownerOf(name: string): Owner {
    const known = this.#owners.get(name);
    if (known !== undefined) return known;
    const owner: Owner = {
      name,
      number: (this.#ownerCount += 1),
      waiting: [],
      inFlight: 0,
      heldUntilMs: Number.NEGATIVE_INFINITY,
      turn: 0,
      lastSeenMs: Number.NEGATIVE_INFINITY,
      isAnswered: false,
      isNew: true,
    };
    this.#owners.set(name, owner);
    this.#seen.add(owner);
    return owner;
  }

  /** Forgets idle owners without a hold whose last call was answered. */
  #forget(nowMs: number): void {
    this.#forgetAtMs = nowMs + REMEMBERED_MS;
    for (const owner of this.#owners.values()) {
      const isIdle = owner.inFlight === 0 && owner.waiting.length === 0;
      const isRemembered = owner.heldUntilMs > nowMs || !(owner.isAnswered || owner.isNew);
      if (!isIdle || isRemembered || owner.lastSeenMs + REMEMBERED_MS > nowMs) continue;
      this.#owners.delete(owner.name);
      this.#seen.remove(owner);
    }
  }

  #queueOf = (owner: Owner): WaitQueue => (owner.isAnswered || owner.isNew ? this.#free : this.#barred);

  /** Slots for each owner that wants to call or is calling; at least one. */
  #shareNow(): number {
    const contending = this.#calling.size + this.#free.readyCount + this.#barred.readyCount;
    return Math.max(1, Math.floor(this.#slots / Math.max(1, contending)));
  }

  /** Until when the last slot is kept for owners that have none and may be back. */
  #awaitedMs(): number {
    const isLast = this.#slots > 1 && this.#inFlight === this.#slots - 1;
    const last = this.#seen.last;
    return isLast && last !== undefined ? last.lastSeenMs + LATELY_MS : Number.NEGATIVE_INFINITY;
  }
}

function firstOf(one: Owner | null, other: Owner | null, share: number): Owner | null {
  if (one === null || other === null) return one ?? other;
  const oneIsOver = one.inFlight >= share;
  if (oneIsOver !== other.inFlight >= share) return oneIsOver ? other : one;
  return byTurn(one, other) < 0 ? one : other;
}

export interface Waiting {
  readonly rank: number;
  readonly go: () => void;
  readonly fail: (error: Error) => void;
  /** The platform asked its owner to wait. */
  readonly held: () => void;
}

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
const byTurn = (one: Owner, other: Owner): number => one.turn - other.turn || one.number - other.number;

/** Orders numbers that may be infinite. */
const inOrder = (one: number, other: number): number => (one === other ? 0 : one < other ? -1 : 1);

/** Least recent call first. */
const bySeen = (one: Owner, other: Owner): number =>
  inOrder(one.lastSeenMs, other.lastSeenMs) || one.number - other.number;

/** Earliest end of hold first. */
const byHold = (one: Owner, other: Owner): number =>
  inOrder(one.heldUntilMs, other.heldUntilMs) || one.number - other.number;

class WaitQueue {
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

  get first(): Owner | null {
    return this.#ready.first ?? null;
  }

  /** When the next hold ends; infinite without a hold. */
  get heldUntilMs(): number {
    return this.#held.first?.heldUntilMs ?? Number.POSITIVE_INFINITY;
  }
}

/** An always ordered list. Places are found by binary search, so that long lists stay quick. */
class SortedList<Item> {
  readonly #items: Item[] = [];
  readonly #compare: (one: Item, other: Item) => number;

  /** `compare` is negative if `one` goes first, and 0 only for an item and itself. */
  constructor(compare: (one: Item, other: Item) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  get last(): Item | undefined {
    return this.#items.at(-1);
  }

  add(item: Item): void {
    this.#items.splice(this.#placeOf(item), 0, item);
  }

  /** Does nothing if the item is not in the list. What it is ordered by must be as it was when it was added. */
  remove(item: Item): void {
    const place = this.#placeOf(item);
    if (this.#items[place] === item) this.#items.splice(place, 1);
  }

  #placeOf(item: Item): number {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(this.#items[middle]!, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
