/** Sends this process's holds to the other processes: one message at a time, with all pending holds. */
import type { Hold, SharedLimit } from './shared-limit.ts';

export interface HoldSender {
  readonly send: (hold: Hold) => void;
  /** Resolves once all holds are sent, or sending failed. */
  readonly flush: () => Promise<void>;
}

export function createHoldSender(limit: Pick<SharedLimit, 'sendHolds'>): HoldSender {
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
    send: ({ owner, forMs }) => {
      unsent.set(owner, Math.max(forMs, unsent.get(owner) ?? 0));
      sending ??= sendAll();
    },
    flush: () => sending ?? Promise.resolve(),
  };
}
