/** Works on many things side by side, so many at once. */

export interface SideBySideOptions {
  readonly atOnce: number;
  readonly signal: AbortSignal;
}

/**
 * Calls `work` for each item, in order, with at most `atOnce` at work. If one throws, or the signal aborts, no further
 * one is begun; those at work are told by the signal they get, and waited for. Then the first error is thrown.
 */
export async function sideBySide<Item>(
  items: Iterable<Item>,
  { atOnce, signal }: SideBySideOptions,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const stopped = AbortSignal.any([signal, stop.signal]);
  const waiting = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (;;) {
      if (stopped.aborted) return;
      const next = waiting.next();
      if (next.done === true) return;
      try {
        await work(next.value, stopped);
      } catch (error) {
        failures.push(error);
        stop.abort(error);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (failures.length > 0) throw failures[0];
  signal.throwIfAborted();
}
