/** Passwords wait here to be checked: a check takes time and memory, and anyone can request one. */
import pLimit from 'p-limit';

/** Checks side by side. */
const AT_ONCE = 2;
/** Limit of waiting checks, so that waits stay short. */
const WAITING_MAX = 24;
/** Checks of one network that wait or run, so that others have capacity. */
const OF_NETWORK_MAX = 12;

/** Too many passwords wait to be checked. */
export class TooManyChecks extends Error {
  override readonly name = 'TooManyChecks';
}

/** Does the work when it is its turn. Throws `TooManyChecks`, and what the work throws. */
export type CheckQueue = <Result>(network: string, work: () => Promise<Result>) => Promise<Result>;

export function createCheckQueue(): CheckQueue {
  const limit = pLimit(AT_ONCE);
  const ofNetworks = new Map<string, number>();
  return async (network, work) => {
    const ofNetwork = ofNetworks.get(network) ?? 0;
    if (limit.pendingCount >= WAITING_MAX || ofNetwork >= OF_NETWORK_MAX) throw new TooManyChecks();
    ofNetworks.set(network, ofNetwork + 1);
    try {
      return await limit(work);
    } finally {
      const left = ofNetworks.get(network)! - 1;
      if (left === 0) ofNetworks.delete(network);
      else ofNetworks.set(network, left);
    }
  };
}
