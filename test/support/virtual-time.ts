/** Times for tests in which no one has to wait, and every wait is as long as it should be. */
import type { TimeSource } from '../../src/platform/rate-limiter.ts';
import type { TransportDeps } from '../../src/platform/transport.ts';

/** The machine's clock, which each wait moves ahead instead of taking time; chance is always in the middle. */
export function skippingTime(): TransportDeps {
  let skippedMs = 0;
  return {
    clock: () => Date.now() + skippedMs,
    machineClock: () => Date.now(),
    random: () => 0.5,
    sleep: (ms, signal) => {
      signal?.throwIfAborted();
      skippedMs += ms;
      return Promise.resolve();
    },
  };
}

/**
 * Time that moves on to the next sleeper whenever nothing else is left to do: hours pass in no time, in order. `later`
 * waits for what else there is to do. Where no real socket or database takes part, `setImmediate` is enough, and quicker.
 */
export function virtualTime(
  beginMs = Date.UTC(2026, 3, 1),
  later: (tick: () => void) => unknown = setTimeout,
): TimeSource {
  const sleepers: { readonly atMs: number; readonly wake: () => void }[] = [];
  let nowMs = beginMs;
  let isTicking = false;
  const tick = (): void => {
    const next = sleepers.shift();
    if (next === undefined) {
      isTicking = false;
      return;
    }
    nowMs = Math.max(nowMs, next.atMs);
    next.wake();
    later(tick);
  };
  return {
    clock: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted === true) {
          reject(signal.reason as Error);
          return;
        }
        const giveUp = (): void => {
          sleepers.splice(sleepers.indexOf(sleeper), 1);
          reject(signal!.reason as Error);
        };
        const wake = (): void => {
          signal?.removeEventListener('abort', giveUp);
          resolve();
        };
        const sleeper = { atMs: nowMs + ms, wake };
        signal?.addEventListener('abort', giveUp, { once: true });
        sleepers.splice(sleepers.findLastIndex(({ atMs }) => atMs <= sleeper.atMs) + 1, 0, sleeper);
        if (isTicking) return;
        isTicking = true;
        later(tick);
      }),
  };
}
