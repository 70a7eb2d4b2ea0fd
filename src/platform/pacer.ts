/** Spaces calls out: never more than so many a second, none while the platform asked for quiet. */

/** Time as the caller has it: real, or a test's own. */
export interface TimeSource {
  /** Ms since 1970. */
  readonly clock: () => number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export interface Pacer {
  /** Resolves when the next call may be sent. */
  readonly turn: (signal?: AbortSignal) => Promise<void>;
  /** No call begins before this instant: one call was told Retry-After, and it holds for all. */
  readonly holdUntil: (ms: number) => void;
}

export function createPacer(ratePerS: number | null, { clock, sleep }: TimeSource): Pacer {
  const spacingMs = ratePerS === null ? 0 : 1_000 / ratePerS;
  let nextMs = Number.NEGATIVE_INFINITY;
  let heldUntilMs = Number.NEGATIVE_INFINITY;
  return {
    turn: async (signal) => {
      for (;;) {
        signal?.throwIfAborted();
        const nowMs = clock();
        const readyMs = Math.max(nextMs, heldUntilMs);
        if (readyMs <= nowMs) {
          nextMs = nowMs + spacingMs;
          return;
        }
        await sleep(Math.ceil(readyMs - nowMs), signal);
      }
    },
    holdUntil: (ms) => {
      heldUntilMs = Math.max(heldUntilMs, ms);
    },
  };
}
