/** Decides when leases have to be taken for lost, because no renewal succeeded for as long as they last. */

/**
 * Returns a function that renews the leases; only one renewal is sent at a time, however often it is called. If none
 * succeeds for `ttlMs`, another run may have the leases by now, so `onSilence` is called with that time in seconds, even
 * if the database does not answer. The time counts from when the last successful renewal was sent, by this process's
 * monotonic clock.
 */
export function createRenewal(options: {
  readonly ttlMs: number;
  /** When the leases were asked for. */
  readonly heldSinceMs: number;
  /** A clock in ms that never goes back; its zero does not matter. */
  readonly monotonicMs: () => number;
  readonly renew: () => Promise<void>;
  readonly onSilence: (ageS: number) => void;
}): () => Promise<void> {
  const { ttlMs, monotonicMs, renew, onSilence } = options;
  let heldSinceMs = options.heldSinceMs;
  let isAsking = false;
  const checkAge = (): void => {
    const ageMs = monotonicMs() - heldSinceMs;
    if (ageMs >= ttlMs) onSilence(Math.round(ageMs / 1_000));
  };
  return async () => {
    if (isAsking) {
      checkAge();
      return;
    }
    isAsking = true;
    const askedAtMs = monotonicMs();
    try {
      await renew();
      heldSinceMs = askedAtMs;
    } catch {
      // If the database cannot be reached for a moment, that is no loss yet: every write checks the lease itself.
      checkAge();
    } finally {
      isAsking = false;
    }
  };
}
