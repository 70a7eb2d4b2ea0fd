/** Limits the rate of calls: with a limit of this process's own, or with a shared one. And the alarm that calls wait for. */

/** Without a limit of calls a second, the holds of other processes are asked for so often, while there are calls. */
const HOLDS_EVERY_MS = 5_000;

export interface RateLimiter {
  /** When the next call may begin; infinite if that is being asked for. */
  readonly dueMs: (nowMs: number) => number;
  /** A call begins. */
  readonly use: (nowMs: number) => void;
  /** As many calls could begin now. */
  readonly expect: (canGo: number, nowMs: number) => void;
}

/** What becomes of the answers that a shared limit gives. */
export interface RateLimiterEvents {
  readonly onHold: (hold: Hold) => void;
  /** Calls may begin that could not before. */
  readonly onMore: () => void;
  /** No more calls can be had for now. */
  readonly onFailure: (error: Error) => void;
}

/** `ratePerS` calls a second, evenly spaced; null: any number. */
export function createLocalRateLimiter(ratePerS: number | null): RateLimiter {
  const spacingMs = ratePerS === null ? 0 : 1_000 / ratePerS;
  let nextMs = Number.NEGATIVE_INFINITY;
  return {
    dueMs: () => nextMs,
    use: (nowMs) => {
      if (spacingMs > 0) nextMs = nowMs + spacingMs;
    },
    expect: () => undefined,
  };
}

/** A rate shared with other processes. Calls are reserved before they are needed, several at once. */
export function createSharedRateLimiter(
  limit: SharedLimit,
  { ratePerS, concurrency }: { readonly ratePerS: number; readonly concurrency: number },
  { clock }: Pick<TimeSource, 'clock'>,
  { onHold, onMore, onFailure }: RateLimiterEvents,
): RateLimiter {
  const slices = new Slices(ratePerS, concurrency);
  let isAsking = false;
  return {
    dueMs: (nowMs) => slices.dueMs(nowMs),
    use: (nowMs) => slices.use(nowMs),
    expect: (canGo, nowMs) => {
      const calls = isAsking ? 0 : slices.wanted(canGo, nowMs);
      if (calls === 0) return;
      isAsking = true;
      limit
        .take(calls, slices.spacingMs)
        .finally(() => (isAsking = false))
        .then(({ afterMs, holds }) => {
          slices.add(calls, clock() + afterMs);
          holds.forEach(onHold);
          onMore();
        }, onFailure);
    },
  };
}

/** No rate limit: shares only the holds with other processes. */
export function createHoldListener(limit: SharedLimit, { onHold, onMore }: RateLimiterEvents): RateLimiter {
  let isKnown = false;
  let isAsking = false;
  let askedMs = Number.NEGATIVE_INFINITY;
  const ask = async (): Promise<void> => {
    // Without an answer, the platform still asks each process to wait.
    const holds = await limit.holds().catch(() => []);
    isAsking = false;
    isKnown = true;
    holds.forEach(onHold);
    onMore();
  };
  return {
    // The first calls wait until it is known who is held.
    dueMs: () => (isKnown ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY),
    use: () => undefined,
    expect: (canGo, nowMs) => {
      if (isAsking || canGo === 0 || nowMs - askedMs < HOLDS_EVERY_MS) return;
      isAsking = true;
      askedMs = nowMs;
      void ask();
    },
  };
}

/** Calls of this owner may not begin for so long, from now on. */
export interface Hold {
  readonly owner: string;
  readonly forMs: number;
}

/** A part of the rate that no other process has. */
interface Slice {
  /** From now on. The first call may begin then, and each further one after another spacing. */
  readonly afterMs: number;
  /** Holds added since the last reply, by any process. */
  readonly holds: readonly Hold[];
}

export interface SharedLimit {
  /** Reserves as many calls, spaced by so many ms, behind those of all processes. Rejects if there is no answer. */
  readonly take: (calls: number, spacingMs: number) => Promise<Slice>;
  /** Resolves to the holds added since the last call, at first to all. Rejects if there is no answer. */
  readonly holds: () => Promise<readonly Hold[]>;
  /** Rejects if there is no answer. */
  readonly sendHolds: (holds: readonly Hold[]) => Promise<void>;
}

export function createHoldSender(limit: Pick<SharedLimit, 'sendHolds'>) {
  /** By owner; of two holds the longer one. */
  let unsent = new Map<string, number>();
  let sending: Promise<void> | null = null;
  const sendAll = async (): Promise<void> => {
    while (unsent.size > 0) {
      const holds = [...unsent].map(([owner, forMs]) => ({ owner, forMs }));
      unsent = new Map();
      // If it fails, the platform still asks each process to wait.
      await limit.sendHolds(holds).catch(() => undefined);
    }
    sending = null;
  };
  return {
    send: ({ owner, forMs }: Hold): void => {
      unsent.set(owner, Math.max(forMs, unsent.get(owner) ?? 0));
      sending ??= sendAll();
    },
    /** Resolves once all holds are sent, or sending failed. */
    flush: (): Promise<void> => sending ?? Promise.resolve(),
  };
}

/** Shorter: calls are lost while all slots are taken. Longer: more calls may come together. */
const LIFE_MS = 500;
/** The longest part of the rate that is asked for at once. */
const SLICE_MAX_MS = 500;
const SECOND_MS = 1_000;

export class Slices {
  readonly spacingMs: number;
  readonly #callsMax: number;
  /** The instants of the calls at hand, in order. */
  readonly #instants: number[] = [];
  /** When calls began, the last few. */
  readonly #begun: number[] = [];

  /** For `ratePerS` calls a second by all processes, of which this one makes `concurrency` at once at most. */
  constructor(ratePerS: number, concurrency: number) {
    this.spacingMs = SECOND_MS / ratePerS;
    // As many as can go at once: more would be lost if the platform took a second to answer.
    this.#callsMax = Math.max(1, Math.min(concurrency, Math.floor(SLICE_MAX_MS / this.spacingMs)));
  }

  /** When the next call may begin; infinite if none is at hand. */
  dueMs(nowMs: number): number {
    this.#dropLost(nowMs);
    return this.#instants[0] ?? Number.POSITIVE_INFINITY;
  }

  /** A call begins. */
  use(nowMs: number): void {
    this.#instants.shift();
    this.#begun.push(nowMs);
    if (this.#begun.length > 2 * this.#callsMax) this.#begun.shift();
  }

  /**
   * How many calls to ask for, so that they last about half a second; 0 while enough are at hand. `canGo`: as many
   * could begin now.
   */
  wanted(canGo: number, nowMs: number): number {
    this.#dropLost(nowMs);
    const lately = this.#begun.filter((begunMs) => begunMs > nowMs - SECOND_MS).length;
    const target = Math.min(this.#callsMax, Math.max(canGo, Math.ceil(lately / 2)));
    const atHand = this.#instants.length;
    return canGo === 0 || atHand > target / 2 ? 0 : target - atHand;
  }

  /** Adds what was asked for: as many calls, from that instant on. */
  add(calls: number, beginMs: number): void {
    for (let call = 0; call < calls; call += 1) this.#instants.push(beginMs + call * this.spacingMs);
  }

  #dropLost(nowMs: number): void {
    while (this.#instants[0] !== undefined && this.#instants[0] + LIFE_MS < nowMs) this.#instants.shift();
  }
}

/** Time as the caller has it: real, or a test's own. */
export interface TimeSource {
  /** Ms since 1970. */
  readonly clock: () => number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Abort reason of a sleep. Without it each abort would construct an error. */
const SET_ANEW = new Error('the alarm was set anew');

/** An alarm rings once, at the instant it was last set to: `ring` is called then, and it is off. */
export function createAlarm({ clock, sleep }: TimeSource, ring: () => void) {
  let set: { readonly atMs: number; readonly stop: AbortController } | null = null;
  return {
    /** Rings at that instant instead of the one set before; infinite: does not ring. */
    setTo: (atMs: number): void => {
      if (set?.atMs === atMs) return;
      set?.stop.abort(SET_ANEW);
      set = null;
      if (!Number.isFinite(atMs)) return;
      const stop = new AbortController();
      set = { atMs, stop };
      sleep(Math.max(0, Math.ceil(atMs - clock())), stop.signal).then(
        () => {
          if (stop.signal.aborted) return;
          set = null;
          ring();
        },
        () => undefined,
      );
    },
  };
}
