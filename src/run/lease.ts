/** Holds the run's lease while work goes on: renews it in time, and stops the work when it is lost. */
import type { Kysely } from 'kysely';
import { acquireLease, LeaseLost, releaseLease, renewLease, type Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';

/** Long enough to sit out a database fail-over, short enough that a dead host does not cost a night. */
export const LEASE_TTL_MS = 60_000;
const RENEW_EVERY_MS = 15_000;
/** `plan` sits in one transaction and renews nothing. */
export const REHEARSAL_TTL_MS = 15 * 60_000;

export const LEASE_NAME = 'ledger';

/**
 * Runs `work` as the only holder of the ledger's lease. Throws `LeaseHeld` when another run has it; the signal given
 * to `work` aborts with `LeaseLost` when a renewal finds it gone, or none succeeds for as long as the lease lasts.
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
 * One renewal at a time, however often it is called. Where none got through for `ttlMs` by our own monotonic clock,
 * counted from when it was sent, the lease may be another's by now: `onLost` is told, whether the database answers or not.
 */
export function createRenewal(options: {
  readonly lease: Lease;
  readonly ttlMs: number;
  /** When the lease was asked for. */
  readonly heldSinceMs: number;
  /** Ms from anywhere, never going back. */
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
      // A database that cannot be reached for a moment is for the write transactions to judge.
      else checkAge();
    } finally {
      isAsking = false;
    }
  };
}
