/** Proofs of the time zone, one for each offset that it has and each day of a clock change; merchants share them. */
import type { LedgerEntry } from '../ledger/entry.ts';
import { isAfterChange } from '../ledger/business-day.ts';
import { offsetMinutesOf, TimeZoneWrong, type Probe } from './time-zone-proof.ts';

export interface ZoneProofs {
  /**
   * Resolves once the zone is proven at the offset it has when the first of these entries is booked. A proof that
   * somebody else began serves too, if its entry is booked at `throughMs` or later; else these entries prove it.
   * Rejects with what `proveBy` rejects with.
   */
  readonly ensure: (probe: Probe, entries: readonly LedgerEntry[], throughMs?: number) => Promise<void>;
  /** Whether the zone is proven at any offset. */
  readonly hasAny: () => boolean;
}

interface Proof {
  /** When the first entry of the proof is booked. */
  readonly throughMs: number;
  readonly done: Promise<void>;
}

/** What one proof serves for: an offset. On the day of a clock change a platform may still write the offset before it. */
function keyOf(zone: string, { bookedMs, bookedAt }: LedgerEntry): string {
  const offset = String(offsetMinutesOf(zone, bookedMs));
  return isAfterChange(bookedMs, zone) ? `${offset} ${bookedAt.slice(0, 10)}` : offset;
}

/** `proveBy` proves the zone by one of these entries, asked about in this order, or rejects. */
export function createZoneProofs(
  zone: string,
  proveBy: (probe: Probe, entries: readonly LedgerEntry[]) => Promise<void>,
): ZoneProofs {
  const proofs = new Map<string, Proof>();
  let hasAny = false;

  /** Waits for a proof that was begun before; false if it failed for a reason that says nothing about the zone. */
  const serves = async (key: string, proof: Proof): Promise<boolean> => {
    try {
      await proof.done;
      return true;
    } catch (error) {
      // Another merchant's proof may fail because its token is refused, or because the answers make no sense.
      if (error instanceof TimeZoneWrong) throw error;
      if (proofs.get(key) === proof) proofs.delete(key);
      return false;
    }
  };

  return {
    ensure: async (probe, entries, throughMs = Number.NEGATIVE_INFINITY) => {
      const { bookedMs } = entries[0]!;
      const key = keyOf(zone, entries[0]!);
      for (;;) {
        const begun = proofs.get(key);
        if (begun === undefined || begun.throughMs < throughMs) break;
        if (await serves(key, begun)) return;
      }
      const done = proveBy(probe, entries);
      proofs.set(key, { throughMs: bookedMs, done });
      await done;
      hasAny = true;
    },
    hasAny: () => hasAny,
  };
}
