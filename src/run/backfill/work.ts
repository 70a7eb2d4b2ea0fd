/** Works on one backfill in this process until nothing is left that can be done now. */
import { sideBySide } from '../side-by-side.ts';
import type { BackfillSlices, SliceEnd } from './slice-work.ts';

/**
 * Does slices of the backfill, `atOnce` side by side, each of another merchant. Ends once the slices that are left wait
 * for a busy merchant or for another try. Throws the signal's reason, and what a database in trouble throws.
 */
export function workOnBackfill(
  slices: BackfillSlices,
  {
    backfillId,
    atOnce,
    signal,
    onSlice,
  }: {
    readonly backfillId: number;
    readonly atOnce: number;
    readonly signal: AbortSignal;
    readonly onSlice: (end: SliceEnd) => Promise<void>;
  },
): Promise<void> {
  const loops = Array.from({ length: atOnce }, (_, at) => String(at));
  return sideBySide(loops, { atOnce, signal, nameOf: (loop) => loop }, async (_, stopped) => {
    for (;;) {
      stopped.throwIfAborted();
      const end = await slices.doNext(stopped, backfillId);
      if (end === null) return;
      await onSlice(end);
    }
  });
}
