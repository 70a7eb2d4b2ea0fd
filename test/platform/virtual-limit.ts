/** The limit that processes share, by a virtual clock, as the database keeps it. */
import type { Hold, SharedLimit, TimeSource } from '../../src/platform/rate-limiter.ts';

export interface VirtualLimit extends SharedLimit {
  /** How many questions were asked. */
  readonly trips: () => number;
}

/** Makes the ends of as many processes as are wanted. Each question takes `latencyMs`. */
export function virtualLimit({ clock, sleep }: TimeSource, latencyMs: number): () => VirtualLimit {
  let freeMs = Number.NEGATIVE_INFINITY;
  const untilMs = new Map<string, number>();
  return () => {
    let trips = 0;
    const ask = async <T>(answer: () => T): Promise<T> => {
      trips += 1;
      await sleep(latencyMs / 2);
      const answered = answer();
      await sleep(latencyMs / 2);
      return answered;
    };
    const held = (): Hold[] => [...untilMs].map(([owner, ms]) => ({ owner, forMs: ms - clock() }));
    return {
      trips: () => trips,
      take: (calls, spacingMs) =>
        ask(() => {
          const beginMs = Math.max(freeMs, clock());
          freeMs = beginMs + calls * spacingMs;
          return { afterMs: beginMs - clock(), holds: held() };
        }),
      holds: () => ask(held),
      sendHolds: (holds) =>
        ask(() => {
          for (const { owner, forMs } of holds) untilMs.set(owner, clock() + forMs);
        }),
    };
  };
}
