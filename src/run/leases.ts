/** Holds the leases of a run's merchants while it works on them: renews them in time, and stops work on a lost one. */
import type { Kysely } from 'kysely';
import {
  LeaseHeld,
  LeaseLost,
  merchantLease,
  type Lease,
  acquireLeases,
  releaseLeases,
  renewLeases,
} from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';

/** Long enough for a database fail-over, short enough that a dead host does not cost a night. */
export const LEASE_TTL_MS = 60_000;
const RENEW_EVERY_MS = 15_000;
/** `plan` works in one transaction and does not renew its leases. */
export const REHEARSAL_TTL_MS = 15 * 60_000;

/** The leases that this process holds. */
export type HeldLeases = Pick<
  LeaseSet,
  'merchants' | 'busy' | 'leaseOf' | 'signal' | 'lossOf' | 'takeBusy' | 'giveBack'
>;

export interface LeaseOptions {
  readonly db: Kysely<DB>;
  readonly holder: string;
  readonly signal: AbortSignal;
  readonly ttlMs?: number;
}

/**
 * Runs `work` under the leases of these merchants, as far as they are free. Throws `LeaseHeld` if none is. The leases
 * that `work` did not give back are released at the end.
 */
export async function underLeases<Result>(
  merchants: readonly string[],
  options: LeaseOptions,
  work: (held: HeldLeases) => Promise<Result>,
): Promise<Result> {
  const askedAtMs = performance.now();
  const leases = new LeaseSet(options);
  await leases.take(merchants);
  if (leases.merchants.length === 0) throw noneFree(leases.busy);
  return keeping(leases, askedAtMs, options, () => work(leases));
}

/**
 * Runs `work`, which takes the lease of a merchant when it comes to it. `leaseOf` throws `LeaseHeld` if that is not free.
 * All are held until the end.
 */
export function underLeasesAsNeeded<Result>(
  options: LeaseOptions,
  work: (leaseOf: (merchantNo: string) => Promise<Lease>, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const leases = new LeaseSet(options);
  const leaseOf = async (merchantNo: string): Promise<Lease> => {
    if (!leases.merchants.includes(merchantNo)) await leases.take([merchantNo]);
    const busy = leases.busy.get(merchantNo);
    if (busy !== undefined) throw busy;
    return leases.leaseOf(merchantNo);
  };
  return keeping(leases, performance.now(), options, () => work(leaseOf, leases.signal));
}

/** Renews the leases while `work` is under way, and releases them in the end. */
async function keeping<Result>(
  leases: LeaseSet,
  heldSinceMs: number,
  { db, ttlMs = LEASE_TTL_MS }: LeaseOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const renewal = createRenewal({
    ttlMs,
    heldSinceMs,
    monotonicMs: () => performance.now(),
    renew: () => leases.renew(),
    onSilence: (ageS) => leases.loseAll(ageS),
  });
  const heartbeat = ttlMs === LEASE_TTL_MS ? setInterval(() => void renewal(), RENEW_EVERY_MS) : undefined;
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    await releaseLeases(db, leases.all()).catch(() => undefined);
  }
}

/** The error if no lease is free: the first one's, which names its holder. */
function noneFree(busy: ReadonlyMap<string, LeaseHeld>): LeaseHeld {
  const [first, ...others] = [...busy.values()];
  if (others.length === 0) return first!;
  return new LeaseHeld(
    first!.holder,
    `all ${busy.size} merchants are busy with other runs; of the first: ${first!.message}`,
  );
}

interface Own {
  readonly lease: Lease;
  /** Made when somebody asks for it, as thousands of merchants may be held. */
  lost?: AbortController;
}

const lossOf = (own: Own): AbortController => (own.lost ??= new AbortController());

class LeaseSet {
  readonly #options: LeaseOptions;
  readonly #own = new Map<string, Own>();
  readonly #busy = new Map<string, LeaseHeld>();
  readonly busy: ReadonlyMap<string, LeaseHeld> = this.#busy;
  /** Aborts with the reason of the given signal, and with `LeaseLost` once all leases have to be taken for lost. */
  readonly signal: AbortSignal;
  readonly #lost = new AbortController();

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.signal = AbortSignal.any([options.signal, this.#lost.signal]);
  }

  get merchants(): readonly string[] {
    return [...this.#own.keys()];
  }

  async take(merchants: readonly string[]): Promise<string[]> {
    const { db, holder, ttlMs = LEASE_TTL_MS } = this.#options;
    const named = new Map(merchants.map((merchantNo) => [merchantLease(merchantNo), merchantNo]));
    const { taken, held } = await acquireLeases(db, { names: [...named.keys()], holder, ttlMs });
    for (const [name, error] of held) this.#busy.set(named.get(name)!, error);
    const mine = new Map(taken.map((lease) => [lease.name, lease]));
    const got = [...named].filter(([name]) => mine.has(name));
    for (const [name, merchantNo] of got) {
      this.#busy.delete(merchantNo);
      this.#own.set(merchantNo, { lease: mine.get(name)! });
    }
    return got.map(([, merchantNo]) => merchantNo);
  }

  /** Tries once more to take the leases of busy merchants. Returns the merchants that are taken now. */
  readonly takeBusy = (): Promise<readonly string[]> =>
    this.busy.size === 0 ? Promise.resolve([]) : this.take([...this.busy.keys()]);

  readonly leaseOf = (merchantNo: string): Lease => this.#own.get(merchantNo)!.lease;

  readonly lossOf = (merchantNo: string): AbortSignal => lossOf(this.#own.get(merchantNo)!).signal;

  /** Gives a lease back, as the work on this merchant has ended. */
  readonly giveBack = async (merchantNo: string): Promise<void> => {
    const own = this.#own.get(merchantNo);
    // The last one is kept until the run has ended: others see by it that this process is at work.
    if (own === undefined || this.#own.size === 1) return;
    this.#own.delete(merchantNo);
    // If this fails, it runs out by itself.
    await releaseLeases(this.#options.db, [own.lease]).catch(() => undefined);
  };

  all(): Lease[] {
    return [...this.#own.values()].map(({ lease }) => lease);
  }

  async renew(): Promise<void> {
    const { db, ttlMs = LEASE_TTL_MS } = this.#options;
    const lost = new Set(await renewLeases(db, this.all(), { ttlMs }));
    // What was given back meanwhile is no loss.
    for (const one of this.#own.values())
      if (lost.has(one.lease)) lossOf(one).abort(new LeaseLost(one.lease));
  }

  loseAll(ageS: number): void {
    const why = `the database did not answer for ${ageS} s, so another one may have taken over.`;
    const [first] = this.#own.values();
    if (first !== undefined) this.#lost.abort(new LeaseLost(first.lease, why));
  }
}

/**
 * Returns a function that renews the leases; only one renewal is sent at a time, however often it is called. If none
 * succeeds for `ttlMs`, another run may have the leases by now, so `onSilence` is called with that time in seconds, even
 * if the database does not answer. The time counts from when the last successful renewal was sent, by this process's
 * monotonic clock.
 */
export function createRenewal(options: {
  readonly ttlMs: number;
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
