/**
 * Who may call next: so many calls at once and so many a second, shared fairly between the merchants that want to call,
 * so that one that is slow, told to wait, or never answered takes nothing from the others but its own share.
 *
 * Own code, as the well-kept queues know priorities but no shares. What each rule is for:
 * - Among those that hold less than their share, whoever was let through longest ago is next: turns go round.
 * - What nobody else wants may go beyond a share, so that no slot stays idle.
 * - Merchants whose last call the platform left unanswered, and those never answered yet, hold half of the slots at most,
 *   all together: calls that hang come back after a time-out only. Everybody's very first call is let through.
 * - The last slot is kept for a merchant that has none now but was about lately, and may be back at once.
 */

/** Time as the caller has it: real, or a test's own. */
export interface TimeSource {
  /** Ms since 1970. */
  readonly clock: () => number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export interface Caller {
  /** Whose call it is: slots, holds and turns are shared between owners. */
  readonly owner: string;
  /** Among the calls of one owner the lowest goes first; of equals, the one that came first. */
  readonly rank: number;
}

/** Leaves the slot. `answered`: whether a reply came, whatever it said; null where the call was given up before. */
export type Leave = (answered: boolean | null) => void;

export interface Line {
  /** Resolves when the call may be sent. Rejects with the reason of `signal`. */
  readonly enter: (caller: Caller, signal?: AbortSignal) => Promise<Leave>;
  /** No call of this owner begins before that instant: one of them was told Retry-After. */
  readonly holdUntil: (owner: string, ms: number) => void;
}

/** So long after its last call an owner is expected back. */
const LATELY_MS = 10_000;

interface Waiting {
  readonly rank: number;
  readonly go: () => void;
}

interface Owner {
  /** By rank. */
  readonly waiting: Waiting[];
  inFlight: number;
  heldUntilMs: number;
  /** Number of the last turn it got. */
  turn: number;
  lastSeenMs: number;
  isAnswered: boolean;
  /** No call of it has ended yet. */
  isNew: boolean;
}

/** `concurrency` calls at once; `ratePerS` null: as many a second as there are. */
export function createLine(concurrency: number, ratePerS: number | null, { clock, sleep }: TimeSource): Line {
  const spacingMs = ratePerS === null ? 0 : 1_000 / ratePerS;
  const unansweredMax = Math.max(1, Math.floor(concurrency / 2));
  const owners = new Map<string, Owner>();
  let inFlight = 0;
  /** Slots held by owners that are not answered. */
  let unanswered = 0;
  let turns = 0;
  let nextMs = Number.NEGATIVE_INFINITY;
  let alarm: { readonly atMs: number; readonly stop: AbortController } | null = null;

  const ownerOf = (name: string): Owner => {
    let owner = owners.get(name);
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
      owners.set(name, owner);
    }
    return owner;
  };

  /** When the owner may take a slot, as far as time alone decides; infinite where a slot has to come back first. */
  const readyMs = (owner: Owner, nowMs: number): number => {
    const isFirst = owner.isNew && owner.inFlight === 0;
    if (!owner.isAnswered && !isFirst && unanswered >= unansweredMax) return Number.POSITIVE_INFINITY;
    const isLast = concurrency > 1 && inFlight === concurrency - 1 && owner.inFlight > 0;
    let awaitedMs = Number.NEGATIVE_INFINITY;
    if (isLast) {
      for (const other of owners.values()) {
        if (other.inFlight === 0) awaitedMs = Math.max(awaitedMs, other.lastSeenMs + LATELY_MS);
      }
    }
    return Math.max(owner.heldUntilMs, awaitedMs, nowMs);
  };

  /** Who is next now, or else when somebody will be. */
  const next = (nowMs: number): { owner: Owner | null; atMs: number } => {
    let contending = 0;
    for (const owner of owners.values()) {
      if (owner.inFlight > 0 || (owner.waiting.length > 0 && owner.heldUntilMs <= nowMs)) contending += 1;
    }
    const share = Math.max(1, Math.floor(concurrency / Math.max(1, contending)));
    let best: Owner | null = null;
    let atMs = Number.POSITIVE_INFINITY;
    for (const owner of owners.values()) {
      if (owner.waiting.length === 0) continue;
      const ownMs = readyMs(owner, nowMs);
      atMs = Math.min(atMs, ownMs);
      if (ownMs > nowMs) continue;
      const isOver = owner.inFlight >= share;
      const bestIsOver = best !== null && best.inFlight >= share;
      if (best === null || (isOver === bestIsOver ? owner.turn < best.turn : bestIsOver)) best = owner;
    }
    return best === null ? { owner: null, atMs } : { owner: best, atMs: nowMs };
  };

  const letThrough = (owner: Owner, nowMs: number): void => {
    if (spacingMs > 0) nextMs = nowMs + spacingMs;
    inFlight += 1;
    owner.inFlight += 1;
    if (!owner.isAnswered) unanswered += 1;
    owner.turn = turns += 1;
    owner.waiting.shift()!.go();
  };

  const serve = (): void => {
    while (inFlight < concurrency) {
      const nowMs = clock();
      const { owner, atMs } = next(nowMs);
      const dueMs = Math.max(atMs, nextMs);
      if (owner === null || dueMs > nowMs) {
        wakeAt(dueMs);
        return;
      }
      letThrough(owner, nowMs);
    }
    wakeAt(Number.POSITIVE_INFINITY);
  };

  /** One alarm at a time, for the next instant at which time alone lets somebody through. */
  const wakeAt = (atMs: number): void => {
    if (alarm?.atMs === atMs) return;
    alarm?.stop.abort();
    alarm = null;
    if (!Number.isFinite(atMs)) return;
    const stop = new AbortController();
    alarm = { atMs, stop };
    sleep(Math.ceil(atMs - clock()), stop.signal).then(
      () => {
        if (stop.signal.aborted) return;
        alarm = null;
        serve();
      },
      () => undefined,
    );
  };

  const leaveOf = (owner: Owner): Leave => {
    return (answered) => {
      inFlight -= 1;
      owner.inFlight -= 1;
      owner.lastSeenMs = clock();
      if (!owner.isAnswered) unanswered -= 1;
      if (answered !== null) owner.isNew = false;
      if (answered !== null && answered !== owner.isAnswered) {
        owner.isAnswered = answered;
        unanswered += answered ? -owner.inFlight : owner.inFlight;
      }
      serve();
    };
  };

  return {
    enter: (caller, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted === true) { reject(signal.reason as Error); return; }
        const owner = ownerOf(caller.owner);
        owner.lastSeenMs = clock();
        const giveUp = (): void => {
          owner.waiting.splice(owner.waiting.indexOf(waiting), 1);
          reject(signal!.reason as Error);
          serve();
        };
        const waiting: Waiting = {
          rank: caller.rank,
          go: () => {
            signal?.removeEventListener('abort', giveUp);
            resolve(leaveOf(owner));
          },
        };
        signal?.addEventListener('abort', giveUp, { once: true });
        const after = owner.waiting.findLastIndex(({ rank }) => rank <= caller.rank);
        owner.waiting.splice(after + 1, 0, waiting);
        serve();
      }),
    holdUntil: (name, ms) => {
      const owner = ownerOf(name);
      owner.heldUntilMs = Math.max(owner.heldUntilMs, ms);
    },
  };
}
