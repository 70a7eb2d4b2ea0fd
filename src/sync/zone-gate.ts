/** Lets entries through to the store only once the zone is proven for their offset; one proof serves a whole run. */
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import { isInside } from './certificate.ts';
import { findZone, offsetMinutesOf, TimeZoneUnproven, TimeZoneWrong, type Probe } from './time-zone-proof.ts';

/** Entries asked about before an unclear answer is final. */
const ENTRIES_TRIED_MAX = 3;
/** Entries outside their window that are looked into in one run. */
const SUSPICIONS_MAX = 3;

export interface ZoneGate {
  /**
   * Resolves once the zone is proven at the offset these entries have in it: an offset of winter proves nothing about
   * summer. An entry outside its window is looked into as well, as it may be in another zone than those proven.
   * Rejects with `TimeZoneWrong`, `TimeZoneUnproven`, or what the probe fails with.
   */
  readonly check: (probe: Probe, entries: readonly LedgerEntry[], window: Window) => Promise<void>;
}

export function createZoneGate(zone: string): ZoneGate {
  const proofs = new Map<number, Promise<void>>();
  let suspicions = 0;

  const prove = async (probe: Probe, entries: readonly LedgerEntry[]): Promise<void> => {
    let why = '';
    for (const entry of entries.slice(0, ENTRIES_TRIED_MAX)) {
      const finding = await findZone(probe, entry);
      if (finding.kind === 'proven') return;
      if (finding.kind === 'wrong')
        throw new TimeZoneWrong(zone, entry, finding.trueMs, finding.offsetMinutes);
      why = finding.why;
    }
    throw new TimeZoneUnproven(zone, why);
  };

  const lookInto = async (probe: Probe, outsider: LedgerEntry): Promise<void> => {
    const finding = await findZone(probe, outsider);
    if (finding.kind === 'wrong')
      throw new TimeZoneWrong(zone, outsider, finding.trueMs, finding.offsetMinutes);
  };

  const provenAt = async (probe: Probe, entries: readonly LedgerEntry[]): Promise<void> => {
    const offset = offsetMinutesOf(zone, entries[0]!.bookedMs);
    for (;;) {
      const begun = proofs.get(offset);
      if (begun !== undefined) {
        try {
          await begun;
          return;
        } catch (error) {
          // Another merchant's proof may fail for reasons of its own: a refused token says nothing about the zone, nor do
          // answers that make no sense.
          if (error instanceof TimeZoneWrong) throw error;
          if (proofs.get(offset) === begun) proofs.delete(offset);
          continue;
        }
      }
      const own = prove(probe, entries);
      proofs.set(offset, own);
      await own;
      return;
    }
  };

  return {
    check: async (probe, entries, window) => {
      if (entries.length === 0) return;
      const outsider = entries.find((entry) => !isInside(entry, window));
      const looks = outsider !== undefined && suspicions < SUSPICIONS_MAX;
      if (looks) suspicions += 1;
      await Promise.all([provenAt(probe, entries), looks ? lookInto(probe, outsider) : undefined]);
    },
  };
}
