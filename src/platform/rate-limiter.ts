/** Limits the rate of calls: with a limit of this process's own, or with a shared one. */
import type { TimeSource } from './alarm.ts';
import type { Hold, SharedLimit } from './shared-limit.ts';
import { Slices } from './slices.ts';

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
