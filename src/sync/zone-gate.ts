/** Lets entries through to the store only once the zone is proven for their offset; one proof serves a whole run. */
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import { placeOf, SLACK_S_MAX } from './clock-slack.ts';
import { findZone, offsetMinutesOf, TimeZoneUnproven, TimeZoneWrong, type Probe } from './time-zone-proof.ts';

/** Entries asked about before an unclear answer is final. */
const ENTRIES_TRIED_MAX = 3;
/** Entries outside their window that are looked into in one run. */
const SUSPICIONS_MAX = 3;

export interface ZoneGateOptions {
  /** How far timestamps may be off from the times the platform filters by. */
  readonly clockToleranceS?: number;
  /** A person answers for the zone: nothing is asked, and windows are read as if the clock were off. */
  readonly isTrusted?: boolean;
}

export interface ZoneGate {
  /**
   * Resolves once the zone is proven at the offset these entries have in it: an offset of winter proves nothing about
   * summer. An entry outside its window is looked into as well, as it may be in another zone than those proven.
   * Rejects with `TimeZoneWrong`, `TimeZoneUnproven`, or what the probe fails with.
   */
  readonly check: (probe: Probe, entries: readonly LedgerEntry[], window: Window) => Promise<void>;
  /**
   * Resolves once the zone is proven at the offset of the first of these entries by an entry as new as that one; the
   * others are asked about where it does not answer clearly. Rejects like `check`, and with `TimeZoneUnproven` where
   * there is none.
   */
  readonly prove: (probe: Probe, entries: readonly LedgerEntry[]) => Promise<void>;
  /** Whether anything is proven so far, at any offset, or a person answers for it. */
  readonly isProven: () => boolean;
  /** How much wider windows have to be asked for: 0 while every timestamp seen was the time filtered by. */
  readonly slackMs: () => number;
  /** What showed that the clock is off, a sentence; null while nothing did. */
  readonly clockOff: () => string | null;
  /** Told what is known from earlier runs, or seen in a window. */
  readonly noteClockOff: (seen: string) => void;
}

interface Proof {
  /** How new the entry is that it was begun with. */
  readonly throughMs: number;
  readonly done: Promise<void>;
}

export function createZoneGate(zone: string, options: ZoneGateOptions = {}): ZoneGate {
  const toleranceMs = Math.min(options.clockToleranceS ?? 0, SLACK_S_MAX) * 1_000;
  const isTrusted = options.isTrusted ?? false;
  const proofs = new Map<number, Proof>();
  let isProven = isTrusted;
  let suspicions = 0;
  let clockOff: string | null = null;
  const noteClockOff = (seen: string): void => {
    if (toleranceMs > 0) clockOff ??= seen;
  };

  const proveBy = async (probe: Probe, entries: readonly LedgerEntry[]): Promise<void> => {
    let why = '';
    const tried = entries.slice(0, ENTRIES_TRIED_MAX);
    for (const entry of tried) {
      const finding = await findZone(probe, entry, toleranceMs);
      if (finding.kind === 'proven') {
        if (finding.clock === 'off') noteClockOff(offText(entry, 'is not found at that second, but near it'));
        return;
      }
      if (finding.kind === 'wrong')
        throw new TimeZoneWrong(zone, entry, finding.trueMs, finding.offsetMinutes);
      why = finding.why;
    }
    throw new TimeZoneUnproven(zone, why, tried);
  };

  const lookInto = async (probe: Probe, outsider: LedgerEntry): Promise<void> => {
    const finding = await findZone(probe, outsider, toleranceMs);
    if (finding.kind === 'wrong')
      throw new TimeZoneWrong(zone, outsider, finding.trueMs, finding.offsetMinutes);
    if (finding.kind === 'proven' && finding.clock === 'off') {
      noteClockOff(offText(outsider, 'is not found at that second, but near it'));
    }
  };

  /** By an entry not older than `throughMs`, whoever asked about it, or by these. */
  const provenAt = async (
    probe: Probe,
    entries: readonly LedgerEntry[],
    throughMs = Number.NEGATIVE_INFINITY,
  ): Promise<void> => {
    const offset = offsetMinutesOf(zone, entries[0]!.bookedMs);
    for (;;) {
      const begun = proofs.get(offset);
      if (begun !== undefined && begun.throughMs >= throughMs) {
        try {
          await begun.done;
          return;
        } catch (error) {
          // Another merchant's proof may fail for reasons of its own: a refused token says nothing about the zone, nor do
          // answers that make no sense.
          if (error instanceof TimeZoneWrong) throw error;
          if (proofs.get(offset) === begun) proofs.delete(offset);
          continue;
        }
      }
      const own = proveBy(probe, entries);
      proofs.set(offset, { throughMs: entries[0]!.bookedMs, done: own });
      await own;
      isProven = true;
      return;
    }
  };

  return {
    check: async (probe, entries, window) => {
      if (entries.length === 0) return;
      const slackMs = isTrusted || clockOff !== null ? toleranceMs : 0;
      const outsider = entries.find((entry) => placeOf(entry, window, slackMs) === 'stranger');
      if (outsider !== undefined && isNear(outsider, window, toleranceMs)) {
        noteClockOff(offText(outsider, 'came with a window it lies beside'));
      }
      if (isTrusted) return;
      const looks = outsider !== undefined && suspicions < SUSPICIONS_MAX;
      if (looks) suspicions += 1;
      await provenAt(probe, entries);
      if (looks) await lookInto(probe, outsider);
    },
    prove: async (probe, entries) => {
      if (isTrusted) return;
      const [first] = entries;
      if (first === undefined) throw new TimeZoneUnproven(zone, 'there is no entry to prove it by');
      await provenAt(probe, entries, first.bookedMs);
    },
    isProven: () => isProven,
    slackMs: () => (isTrusted || clockOff !== null ? toleranceMs : 0),
    clockOff: () => clockOff,
    noteClockOff,
  };
}

const isNear = ({ bookedMs }: LedgerEntry, { beginMs, endMs }: Window, toleranceMs: number): boolean =>
  bookedMs >= Math.floor(beginMs / 1_000) * 1_000 - toleranceMs && bookedMs <= endMs + toleranceMs;

const offText = ({ batchNo, bookedAt }: LedgerEntry, seen: string): string =>
  `entry ${batchNo}, booked ${bookedAt}, ${seen}`;
