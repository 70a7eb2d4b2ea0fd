/** Holds the lease while a run works: renews it in time, and stops the work if the lease is lost. */
import type { Kysely } from 'kysely';
import { acquireLease, LeaseLost, releaseLease, renewLease, type Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';

/** Long enough for a database fail-over, short enough that a dead host does not cost a night. */
export const LEASE_TTL_MS = 60_000;
const RENEW_EVERY_MS = 15_000;
/** `plan` works in one transaction and does not renew its lease. */
export const REHEARSAL_TTL_MS = 15 * 60_000;

export const LEASE_NAME = 'ledger';

/**
 * Runs `work` as the only holder of the ledger's lease. Throws `LeaseHeld` if another run has it. The signal given to
 * `work` aborts with `LeaseLost` if the lease is gone, or if no renewal succeeds for as long as the lease lasts.
 */
export async function underLease<Result>(
  options: {
    readonly db: Kysely<DB>;
    readonly holder: string;
    readonly signal: AbortSignal;
    readonly ttlMs?: number;
  },
  work: (lease: Lease, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { db, holder, ttlMs = LEASE_TTL_MS } = options;
  const monotonicMs = () => performance.now();
  const heldSinceMs = monotonicMs();
  const lease = await acquireLease(db, { name: LEASE_NAME, holder, ttlMs });
  const lost = new AbortController();
  const renewal = createRenewal({
    lease,
    ttlMs,
    heldSinceMs,
    monotonicMs,
    renew: () => renewLease(db, lease, { ttlMs }),
    onLost: (error) => lost.abort(error),
  });
  const heartbeat = ttlMs === LEASE_TTL_MS ? setInterval(() => void renewal(), RENEW_EVERY_MS) : undefined;
  try {
    return await work(lease, AbortSignal.any([options.signal, lost.signal]));
  } finally {
    clearInterval(heartbeat);
    await releaseLease(db, lease).catch(() => undefined);
  }
}

/**
 * Returns a function that renews the lease; only one renewal is sent at a time, however often it is called. If none
 * succeeds for `ttlMs`, another run may have the lease by now, so `onLost` is called even if the database does not
 * answer. The time counts from when the last successful renewal was sent, by this process's monotonic clock.
 */
export function createRenewal(options: {
  readonly lease: Lease;
  readonly ttlMs: number;
  /** When the lease was asked for. */
  readonly heldSinceMs: number;
  /** A clock in ms that never goes back; its zero does not matter. */
  readonly monotonicMs: () => number;
  readonly renew: () => Promise<void>;
  readonly onLost: (error: LeaseLost) => void;
}): () => Promise<void> {
  const { lease, ttlMs, monotonicMs, renew, onLost } = options;
  let heldSinceMs = options.heldSinceMs;
  let isAsking = false;
  const checkAge = (): void => {
    const ageMs = monotonicMs() - heldSinceMs;
    if (ageMs < ttlMs) return;
    const ageS = Math.round(ageMs / 1_000);
    onLost(
      new LeaseLost(lease, `the database did not answer for ${ageS} s, so another one may have taken over.`),
    );
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
    } catch (error) {
      if (error instanceof LeaseLost) onLost(error);
      // If the database cannot be reached for a moment, that is no loss yet: every write checks the lease itself.
      else checkAge();
    } finally {
      isAsking = false;
    }
  };
}
