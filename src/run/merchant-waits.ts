/** Passes on which merchants have nothing but waits, from the platform's client to the runs of this process. */
import type { OnWaiting } from '../platform/waits.ts';
import type { Waits } from './side-by-side.ts';

export interface MerchantWaits {
  readonly tell: OnWaiting;
  readonly listen: Waits;
}

export function createMerchantWaits(): MerchantWaits {
  const listeners = new Set<OnWaiting>();
  return {
    tell: (merchantNo, isWaiting) => {
      for (const listener of listeners) listener(merchantNo, isWaiting);
    },
    listen: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
