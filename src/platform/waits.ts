/** Reports merchants whose calls are all waiting, at each change. */
import type { TimeSource } from './rate-limiter.ts';

/** A shorter wait ends before another merchant could use the time. */
const WAIT_MIN_MS = 1_000;

/**
 * What a call of a merchant does: queued for a slot, which says nothing about its merchant; moving; or waiting
 * for something that only its own merchant causes.
 */
type CallState = 'queued' | 'moving' | 'waiting';

/** One call, from its first try to the end of its last one. */
export interface WatchedCall {
  readonly queued: () => void;
  /** Queued, and the platform asked its merchant to wait. */
  readonly held: () => void;
  /** It is on the wire until the function that is returned is called. */
  readonly onWire: () => () => void;
  /** It will be sent again so many ms from now. */
  readonly sleeps: (ms: number) => void;
  readonly end: () => void;
}

/** Abort reason of a wait. Without it each abort would construct an error. */
const ARRIVED = new Error('the reply arrived');

const nothing = (): void => undefined;
export const UNWATCHED: WatchedCall = {
  queued: nothing,
  held: nothing,
  onWire: () => nothing,
  sleeps: nothing,
  end: nothing,
};

/** See `onWaiting` of `TransportDeps`. */
export type OnWaiting = (merchantNo: string, isWaiting: boolean) => void;

/** Watches the calls of all merchants. The function it returns is called when a call of a merchant begins. */
export function createWaits(
  onWaiting: OnWaiting,
  { sleep }: Pick<TimeSource, 'sleep'>,
): (merchantNo: string) => WatchedCall {
  const merchants = new Map<string, Merchant>();
  return (merchantNo) => {
    const merchant =
      merchants.get(merchantNo) ?? new Merchant((isWaiting) => onWaiting(merchantNo, isWaiting));
    merchants.set(merchantNo, merchant);
    const call = {};
    const become = (state: CallState) => () => merchant.set(call, state);
    return {
      queued: become('queued'),
      held: become('waiting'),
      onWire: () => {
        merchant.set(call, 'moving');
        const stop = new AbortController();
        const stalled = (): void => {
          if (!stop.signal.aborted) merchant.set(call, 'waiting');
        };
        sleep(WAIT_MIN_MS, stop.signal).then(stalled, nothing);
        return () => {
          stop.abort(ARRIVED);
          merchant.set(call, 'moving');
        };
      },
      sleeps: (ms) => merchant.set(call, ms < WAIT_MIN_MS ? 'moving' : 'waiting'),
      end: () => {
        merchant.set(call, null);
        if (merchant.isIdle) merchants.delete(merchantNo);
      },
    };
  };
}

class Merchant {
  readonly #states = new Map<object, CallState>();
  readonly #onChange: (isWaiting: boolean) => void;
  #isWaiting = false;

  constructor(onChange: (isWaiting: boolean) => void) {
    this.#onChange = onChange;
  }

  get isIdle(): boolean {
    return this.#states.size === 0;
  }

  /** Null: the call is over. */
  set(call: object, state: CallState | null): void {
    if (state === null) this.#states.delete(call);
    else this.#states.set(call, state);
    const states = [...this.#states.values()];
    const isWaiting = states.includes('waiting') && !states.includes('moving');
    if (isWaiting === this.#isWaiting) return;
    this.#isWaiting = isWaiting;
    this.#onChange(isWaiting);
  }
}
