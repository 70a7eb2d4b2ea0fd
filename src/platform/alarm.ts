/** An alarm that rings once, at the instant it was last set to. */

/** Time as the caller has it: real, or a test's own. */
export interface TimeSource {
  /** Ms since 1970. */
  readonly clock: () => number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export interface Alarm {
  /** Rings at that instant instead of the one set before; infinite: does not ring. */
  readonly setTo: (atMs: number) => void;
}

/** Abort reason of a sleep. Without it each abort would construct an error. */
const SET_ANEW = new Error('the alarm was set anew');

/** `ring` is called when the time has come; the alarm is off then. */
export function createAlarm({ clock, sleep }: TimeSource, ring: () => void): Alarm {
  let set: { readonly atMs: number; readonly stop: AbortController } | null = null;
  return {
    setTo: (atMs) => {
      if (set?.atMs === atMs) return;
      set?.stop.abort(SET_ANEW);
      set = null;
      if (!Number.isFinite(atMs)) return;
      const stop = new AbortController();
      set = { atMs, stop };
      sleep(Math.max(0, Math.ceil(atMs - clock())), stop.signal).then(
        () => {
          if (stop.signal.aborted) return;
          set = null;
          ring();
        },
        () => undefined,
      );
    },
  };
}
