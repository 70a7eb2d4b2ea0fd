/** Works on many things side by side, so many at once. One that has nothing but waits lends its place to the next. */
import type { ObjectStore } from '../objects/object-store.ts';
import type { OnWaiting } from '../platform/waits.ts';

/** With places lent, so many times `atOnce` may be begun at most, as each needs memory. */
const BEGUN_TIMES_MAX = 4;

/** Tells which of the things at work have nothing but waits, as that changes. Returns how to stop listening. */
export type Waits = (listener: (name: string, isWaiting: boolean) => void) => () => void;

export interface SideBySideOptions<Item> {
  readonly atOnce: number;
  readonly signal: AbortSignal;
  /** The name under which `waits` tells of an item. */
  readonly nameOf: (item: Item) => string;
  /** If left out, no place is lent. */
  readonly waits?: Waits | undefined;
}

/**
 * Calls `work` for each item, in order, with at most `atOnce` at work that do not just wait. If one throws, or the signal
 * aborts, no further one is begun; those at work are stopped by the signal they get, and waited for. Then the first error is
 * thrown.
 */
export async function sideBySide<Item>(
  items: Iterable<Item>,
  { atOnce, signal, nameOf, waits }: SideBySideOptions<Item>,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const stopped = AbortSignal.any([signal, stop.signal]);
  const left = items[Symbol.iterator]();
  const begun = new Set<string>();
  const waiting = new Set<string>();
  const failures: unknown[] = [];
  let isAllBegun = false;
  let onIdle: () => void = () => undefined;

  const begin = async (item: Item): Promise<void> => {
    const name = nameOf(item);
    begun.add(name);
    try {
      await work(item, stopped);
    } catch (error) {
      failures.push(error);
      stop.abort(error);
    }
    begun.delete(name);
    waiting.delete(name);
    beginMore();
  };
  const beginMore = (): void => {
    while (
      !isAllBegun &&
      !stopped.aborted &&
      begun.size - waiting.size < atOnce &&
      begun.size < BEGUN_TIMES_MAX * atOnce
    ) {
      const next = left.next();
      if (next.done === true) isAllBegun = true;
      else void begin(next.value);
    }
    if (begun.size === 0) onIdle();
  };
  const stopListening = waits?.((name, isWaiting) => {
    if (!isWaiting) waiting.delete(name);
    else if (begun.has(name)) {
      waiting.add(name);
      beginMore();
    }
  });
  await new Promise<void>((resolve) => {
    onIdle = resolve;
    beginMore();
  });
  stopListening?.();
  if (failures.length > 0) throw failures[0];
  signal.throwIfAborted();
}

/**
 * Hears from several sources that a merchant waits, and that it goes on. It waits as long as one of them says so: what it does
 * at the same time elsewhere is little.
 */
export function createMerchantWaits(): Readonly<{ tell: OnWaiting; listen: Waits }> {
  const listeners = new Set<OnWaiting>();
  const waiting = new Map<string, number>();
  return {
    tell: (merchantNo, isWaiting) => {
      const before = waiting.get(merchantNo) ?? 0;
      const now = before + (isWaiting ? 1 : -1);
      if (now === 0) waiting.delete(merchantNo);
      else waiting.set(merchantNo, now);
      if (before > 0 === now > 0) return;
      for (const listener of listeners) listener(merchantNo, isWaiting);
    },
    listen: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** The store, for one merchant, which waits while it answers; not while it takes in a stream, which has to be made. */
export function tellingStore(store: ObjectStore, merchantNo: string, tell: OnWaiting): ObjectStore {
  const waitingFor = async <Result>(answer: Promise<Result>): Promise<Result> => {
    tell(merchantNo, true);
    try {
      return await answer;
    } finally {
      tell(merchantNo, false);
    }
  };
  return {
    ...store,
    put: (key, content, options) => {
      const answer = store.put(key, content, options);
      return typeof content === 'function' ? answer : waitingFor(answer);
    },
    head: (key) => waitingFor(store.head(key)),
    discardUnfinished: (prefix, fence) => waitingFor(store.discardUnfinished(prefix, fence)),
    survey: async function* (prefix, range) {
      const listed = store.survey(prefix, range)[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next = await waitingFor(listed.next());
          if (next.done === true) return;
          yield next.value;
        }
      } finally {
        await listed.return?.();
      }
    },
  };
}
