/** Holds the run's lease while work goes on: renews it in time, and stops the work when it is lost. */
import type { Kysely } from 'kysely';
import { acquireLease, LeaseLost, releaseLease, renewLease, type Lease } from '../store/lease.ts';
import type { DB } from '../store/schema.ts';

/** Long enough to sit out a database fail-over, short enough that a dead host does not cost a night. */
export const LEASE_TTL_MS = 60_000;
const RENEW_EVERY_MS = 15_000;
/** `plan` sits in one transaction and renews nothing. */
export const REHEARSAL_TTL_MS = 15 * 60_000;

export const LEASE_NAME = 'ledger';

/**
 * Runs `work` as the only holder of the ledger's lease. Throws `LeaseHeld` when another run has it; the signal given
 * to `work` aborts with `LeaseLost` when a renewal finds it gone.
 */
export async function underLease<Result>(
  options: {
    readonly db: Kysely<DB>;
    readonly holder: string;
    readonly clock: () => Date;
    readonly signal: AbortSignal;
    readonly ttlMs?: number;
  },
  work: (lease: Lease, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { db, holder, clock, ttlMs = LEASE_TTL_MS } = options;
  const lease = await acquireLease(db, { name: LEASE_NAME, holder, ttlMs, now: clock() });
  const lost = new AbortController();
  const heartbeat =
    ttlMs === LEASE_TTL_MS
      ? setInterval(() => {
          renewLease(db, lease, { ttlMs, now: clock() }).catch((error: unknown) => {
            // A database that cannot be reached for a moment is for the write transactions to judge.
            if (error instanceof LeaseLost) lost.abort(error);
          });
        }, RENEW_EVERY_MS)
      : undefined;
  try {
    return await work(lease, AbortSignal.any([options.signal, lost.signal]));
  } finally {
    clearInterval(heartbeat);
    await releaseLease(db, lease).catch(() => undefined);
  }
}
