/** Tells other processes which merchants this one was told to wait for: one message at a time, for all there are. */
import type { Hold, SharedLimit } from './shared-limit.ts';

export interface HoldTeller {
  readonly tell: (hold: Hold) => void;
  /** Resolves once all that was told is out, or could not be. */
  readonly told: () => Promise<void>;
}

export function createHoldTeller(limit: Pick<SharedLimit, 'tell'>): HoldTeller {
  /** By owner; of two holds the longer one. */
  let untold = new Map<string, number>();
  let telling: Promise<void> | null = null;
  const tellAll = async (): Promise<void> => {
    while (untold.size > 0) {
      const holds = [...untold].map(([owner, forMs]) => ({ owner, forMs }));
      untold = new Map();
      // If it fails, the platform tells it to each process by itself.
      await limit.tell(holds).catch(() => undefined);
    }
    telling = null;
  };
  return {
    tell: ({ owner, forMs }) => {
      untold.set(owner, Math.max(forMs, untold.get(owner) ?? 0));
      telling ??= tellAll();
    },
    told: () => telling ?? Promise.resolve(),
  };
}
