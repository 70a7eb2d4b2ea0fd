/** Decisions that are made after a delay. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReviewSettings } from './review-rules.ts';

export interface Decisions {
  /**
   * Calls `decide` after the delay. Resolves at once, or when all is done if the outcome is pushed before the reply.
   */
  readonly plan: (decide: () => Promise<void>) => Promise<void>;
  /** Resolves when no decision is pending. */
  readonly settled: () => Promise<void>;
  /** Drops the decisions whose delay is not over. */
  readonly close: () => void;
}

export function createDecisions({ delayMs, pushBeforeReply }: ReviewSettings): Decisions {
  const closing = new AbortController();
  const pending = new Set<Promise<void>>();

  const decideLater = async (decide: () => Promise<void>): Promise<void> => {
    if (!pushBeforeReply) {
      const isOpen = await sleep(delayMs, true, { signal: closing.signal }).catch(() => false);
      if (!isOpen) return;
    }
    await decide();
  };

  return {
    plan: async (decide) => {
      const work = decideLater(decide);
      pending.add(work);
      void work.finally(() => pending.delete(work));
      if (pushBeforeReply) await work;
    },
    settled: async () => {
      while (pending.size > 0) await Promise.all(pending);
    },
    close: () => closing.abort(),
  };
}
