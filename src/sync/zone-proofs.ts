/** Proofs of the time zone, one for each offset that it has; merchants share them. */
import type { LedgerEntry } from '../ledger/entry.ts';
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

/** `proveBy` proves the zone by one of these entries, asked about in this order, or rejects. */
export function createZoneProofs(
  zone: string,
  proveBy: (probe: Probe, entries: readonly LedgerEntry[]) => Promise<void>,
): ZoneProofs {
  const proofs = new Map<number, Proof>();
  let hasAny = false;

  /** Waits for a proof that was begun before; false if it failed for a reason that says nothing about the zone. */
  const serves = async (offset: number, proof: Proof): Promise<boolean> => {
    try {
      await proof.done;
      return true;
    } catch (error) {
      // Another merchant's proof may fail because its token is refused, or because the answers make no sense.
      if (error instanceof TimeZoneWrong) throw error;
      if (proofs.get(offset) === proof) proofs.delete(offset);
      return false;
    }
  };

  return {
    ensure: async (probe, entries, throughMs = Number.NEGATIVE_INFINITY) => {
      const { bookedMs } = entries[0]!;
      const offset = offsetMinutesOf(zone, bookedMs);
      for (;;) {
        const begun = proofs.get(offset);
        if (begun === undefined || begun.throughMs < throughMs) break;
        if (await serves(offset, begun)) return;
      }
      const done = proveBy(probe, entries);
      proofs.set(offset, { throughMs: bookedMs, done });
      await done;
      hasAny = true;
    },
    hasAny: () => hasAny,
  };
}
